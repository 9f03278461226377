package dev.lite.session.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.os.FutexWords;
import dev.lite.session.waiting.PolledWaits.Polled;
import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Virtual threads that are interrupted while there are more waits than the polling thread knows of. */
class InterruptedWaitTest {
    private static final int WAITS = Long.SIZE;
    private static final long LONG_NS = Waits.seconds(60).toNanos();

    private final AtomicBoolean over = new AtomicBoolean();
    private final PolledWaits waits = new PolledWaits("test-waits", 10);

    private final class One implements PolledWaits.Wait {
        @Override
        public Polled poll() {
            return isReady() ? Polled.OVER : Polled.NOTHING;
        }

        @Override
        public boolean isReady() {
            return over.get();
        }

        @Override
        public boolean announce(FutexWords words) {
            return !isReady();
        }
    }

    /** Else each would keep a carrier until its deadline, and all other virtual threads from it. */
    @Test
    void eachStillSleepsAndKeepsItsInterrupt() {
        List<Thread> known = new ArrayList<>();
        for (int i = 0; i < WAITS; i++) {
            Thread thread = Thread.ofVirtual().start(() -> waits.await(new One(), System.nanoTime() + LONG_NS));
            Waits.until("it waits", () -> thread.getState() == Thread.State.WAITING);
            known.add(thread);
        }
        AtomicInteger looks = new AtomicInteger();
        AtomicBoolean kept = new AtomicBoolean(true);
        Thread beyond = Thread.ofVirtual().start(() -> {
            Thread.currentThread().interrupt();
            while (!over.get()) {
                waits.await(new One(), System.nanoTime() + LONG_NS);
                kept.compareAndSet(true, Thread.currentThread().isInterrupted());
                looks.incrementAndGet();
            }
        });

        Waits.until("it looks", () -> looks.get() > 0);
        Waits.until("it sleeps, too", () -> beyond.getState() == Thread.State.TIMED_WAITING);
        over.set(true);
        waits.close(); // ends the others' waits

        Waits.join(beyond);
        known.forEach(Waits::join);
        assertThat(kept).isTrue();
    }
}
