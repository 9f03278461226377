package dev.lite.client.fake;

import dev.lite.api.HeldLock;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.api.SessionLostException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** Locks of a session that may be lost. One of them is always free, the others never are. */
public final class FakeSync implements LtSync {
    /** The name of the free lock. */
    public static final String FREE = "free";

    private final BooleanSupplier open;

    public FakeSync(BooleanSupplier open) {
        this.open = open;
    }

    private void requireOpen() {
        if (!open.getAsBoolean()) {
            throw new SessionLostException("the session was lost");
        }
    }

    @Override
    public LtLock lock(String name) {
        requireOpen();
        return new LtLock() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public HeldLock acquire(Duration deadline) {
                requireOpen();
                return new Held(name);
            }

            @Override
            public Optional<HeldLock> tryAcquire() {
                requireOpen();
                return name.equals(FREE) ? Optional.of(new Held(name)) : Optional.empty();
            }
        };
    }

    @Override
    public LtBarrier barrier(String name, int parties) {
        throw new UnsupportedOperationException();
    }

    private record Held(String name) implements HeldLock {
        @Override
        public long fencingToken() {
            return 1;
        }

        @Override
        public boolean isHeld() {
            return true;
        }

        @Override
        public void close() {}
    }
}
