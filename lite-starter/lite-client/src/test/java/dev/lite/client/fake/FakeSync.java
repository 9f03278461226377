package dev.lite.client.fake;

import dev.lite.api.HeldLock;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.api.SessionLostException;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Locks of a session that may be lost. One of them is always free, the others never are. */
public final class FakeSync implements LtSync {
    /** The name of the free lock. */
    public static final String FREE = "free";

    /** The names of the locks that are held, in their order. */
    public final List<String> held = new CopyOnWriteArrayList<>();

    /** The names of the locks that were opened, in their order. */
    public final List<String> opened = new CopyOnWriteArrayList<>();

    /** What the next releases throw, one each. */
    public final Queue<RuntimeException> releaseFailures = new ConcurrentLinkedQueue<>();

    private final BooleanSupplier open;
    private final Runnable lose;
    private volatile @Nullable Duration losesAfter;
    private volatile @Nullable Duration lastDeadline;

    public FakeSync(BooleanSupplier open, Runnable lose) {
        this.open = open;
        this.lose = lose;
    }

    /** The next acquire loses the session after this time. */
    public void losesSessionInNextAcquireAfter(Duration time) {
        losesAfter = time;
    }

    /** The next lock that is opened loses the session. */
    public volatile boolean losesSessionInNextLock;

    /** The time that the last acquire was given. */
    public Duration lastDeadline() {
        return Objects.requireNonNull(lastDeadline);
    }

    private void requireOpen() {
        if (!open.getAsBoolean()) {
            throw new SessionLostException("the session was lost");
        }
    }

    @Override
    public LtLock lock(String name) {
        if (losesSessionInNextLock) {
            losesSessionInNextLock = false;
            lose.run();
        }
        requireOpen();
        opened.add(name);
        return new LtLock() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public HeldLock acquire(Duration deadline) {
                lastDeadline = deadline;
                Duration wait = losesAfter;
                if (wait != null) {
                    losesAfter = null;
                    Waits.pass(wait);
                    lose.run();
                }
                requireOpen();
                return take(name);
            }

            @Override
            public Optional<HeldLock> tryAcquire() {
                requireOpen();
                return name.equals(FREE) ? Optional.of(take(name)) : Optional.empty();
            }
        };
    }

    @Override
    public LtBarrier barrier(String name, int parties) {
        throw new UnsupportedOperationException();
    }

    private Held take(String name) {
        Held taken = new Held(name, held, releaseFailures);
        held.add(name);
        return taken;
    }

    private record Held(String name, List<String> held, Queue<RuntimeException> failures) implements HeldLock {
        @Override
        public long fencingToken() {
            return 1;
        }

        @Override
        public boolean isHeld() {
            return held.contains(name);
        }

        @Override
        public void close() {
            held.remove(name);
            RuntimeException failure = failures.poll();
            if (failure != null) {
                throw failure;
            }
        }
    }
}
