package dev.lite.mr;

import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A worker, as the master sees it. The worker increments a word of its own, and the master reads it: it is freed when the worker's session
 * ends, and stops when the worker hangs. The master's lock guards the slots.
 */
final class RemoteWorker {
    private static final long INTERVAL_MS = 100;

    final long id;
    final String name;
    final String node;
    final int threads;
    private final LmrHandle life;
    private final CountDownLatch closed = new CountDownLatch(1);
    /** One for each thread, of the current job. */
    List<Plan.Slot> slots = new ArrayList<>();

    RemoteWorker(long id, String name, String node, int threads, LmrHandle life) {
        this.id = id;
        this.name = name;
        this.node = node;
        this.threads = threads;
        this.life = life;
        newJob();
    }

    void newJob() {
        slots = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            slots.add(new Plan.Slot(name));
        }
    }

    /** A thread has freed everything of the job; it may begin anew if the job did without it, and continues. */
    void released(int thread, boolean mayBeginAnew) {
        slots.get(thread).released = true;
        if (mayBeginAnew) {
            slots.set(thread, new Plan.Slot(name));
        }
    }

    /** Takes the reason for which the worker is lost. */
    interface Lost {
        void lost(RemoteWorker worker, String reason);
    }

    /** Watches the worker on a thread of its own, until it is lost or {@link #close}d. */
    void watch(Duration timeout, Lost lost) {
        Thread.ofPlatform().daemon().name("mr watch of " + name).start(() -> watchUntilLost(timeout, lost));
    }

    private void watchUntilLost(Duration timeout, Lost lost) {
        long seen = -1;
        long seenNs = System.nanoTime();
        try {
            while (!closed.await(INTERVAL_MS, TimeUnit.MILLISECONDS)) {
                long now = life.getLong(0);
                if (now != seen) {
                    seen = now;
                    seenNs = System.nanoTime();
                } else if (System.nanoTime() - seenNs > Times.nanos(timeout)) {
                    lost.lost(this, "worker %s at %s did not run for %s".formatted(name, node, timeout));
                    return;
                }
            }
        } catch (LiteException e) {
            String reason = e.code() == LiteException.Code.LMR_FREED ? "its session has ended" : e.getMessage();
            lost.lost(this, "worker %s at %s was lost: %s".formatted(name, node, reason));
        } catch (RuntimeException | Error e) { // also without memory: nobody else would notice its loss
            lost.lost(this, "worker %s at %s cannot be watched: %s".formatted(name, node, e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            try {
                life.unmap();
            } catch (LiteException e) {
                // The session has ended.
            }
        }
    }

    void close() {
        closed.countDown();
    }

    @Override
    public String toString() {
        return "%s at %s, %s".formatted(name, node, threads == 1 ? "1 thread" : threads + " threads");
    }
}
