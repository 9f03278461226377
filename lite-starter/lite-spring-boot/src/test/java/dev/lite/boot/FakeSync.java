package dev.lite.boot;

import dev.lite.api.HeldLock;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.api.SessionLostException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** Locks that are never free, of a session that may be lost. */
final class FakeSync implements LtSync {
    private final BooleanSupplier open;

    FakeSync(BooleanSupplier open) {
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
                throw new UnsupportedOperationException();
            }

            @Override
            public Optional<HeldLock> tryAcquire() {
                requireOpen();
                return Optional.empty();
            }
        };
    }

    @Override
    public LtBarrier barrier(String name, int parties) {
        throw new UnsupportedOperationException();
    }
}
