package dev.lite.tier.testing;

import dev.lite.api.LiteException;
import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/** Threads that repeat operations until {@link #end}. An operation may fail with a {@link LiteException}, and with nothing else. */
public final class Load {
    private final AtomicBoolean over = new AtomicBoolean();
    private final AtomicLong done = new AtomicLong();
    private final ConcurrentLinkedQueue<Throwable> wrong = new ConcurrentLinkedQueue<>();
    private final List<Thread> threads = new ArrayList<>();

    /** Repeats an operation on a thread of its own. */
    public void repeat(Runnable operation) {
        threads.add(Thread.ofPlatform().start(() -> {
            while (!over.get()) {
                try {
                    operation.run();
                    done.incrementAndGet();
                } catch (LiteException e) {
                    Thread.onSpinWait();
                } catch (RuntimeException | Error e) {
                    wrong.add(e);
                    return;
                }
            }
        }));
    }

    /** How many operations succeeded so far. */
    public long done() {
        return done.get();
    }

    /** Ends the threads; returns what an operation failed with that it must not. */
    public List<Throwable> end() {
        over.set(true);
        threads.forEach(Waits::join);
        return List.copyOf(wrong);
    }
}
