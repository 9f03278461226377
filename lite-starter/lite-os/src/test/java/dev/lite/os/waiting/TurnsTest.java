package dev.lite.os.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Threads that repeat short operations take turns, and others are not held up. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class TurnsTest {
    private static final int THREADS = 8;
    private static final int LATE = 100;

    private final Turns turns = new Turns(1);

    private static long deadlineNs() {
        return System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
    }

    private static void run(Runnable task) throws InterruptedException {
        Thread thread = Thread.ofPlatform().daemon().start(task);
        thread.join();
    }

    /** As threads do that sleep in turn. */
    private void makeLate() throws InterruptedException {
        for (int i = 0; i < LATE && !turns.areOn(); i++) {
            run(turns::late);
        }
        assertThat(turns.areOn()).isTrue();
    }

    @Test
    void aThreadThatIsLateAloneTakesNoTurns() {
        for (int i = 0; i < LATE; i++) {
            turns.late();
            turns.begin(deadlineNs());
        }
        assertThat(turns.areOn()).isFalse();
    }

    @Test
    void virtualThreadsTakeNoTurns() throws InterruptedException {
        for (int i = 0; i < LATE; i++) {
            Thread.ofVirtual().start(turns::late).join();
        }
        assertThat(turns.areOn()).isFalse();
    }

    @Test
    void everyThreadGetsTurns() throws InterruptedException {
        makeLate();
        AtomicBoolean stop = new AtomicBoolean();
        List<AtomicLong> counts = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        CountDownLatch everyoneOften = new CountDownLatch(THREADS);
        for (int i = 0; i < THREADS; i++) {
            AtomicLong count = new AtomicLong();
            counts.add(count);
            threads.add(Thread.ofPlatform().daemon().start(() -> {
                while (!stop.get()) {
                    turns.begin(deadlineNs());
                    if (count.incrementAndGet() == 100_000) {
                        everyoneOften.countDown();
                    }
                }
            }));
        }
        everyoneOften.await();
        stop.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(counts).allSatisfy(count -> assertThat(count.get()).isGreaterThanOrEqualTo(100_000));
    }

    @Test
    void theTurnOfAThreadThatHasEndedPassesOn() throws InterruptedException {
        makeLate();
        run(this::repeat); // takes the turn, and ends
        repeat();
        assertThat(turns.hasTurn(Thread.currentThread())).isTrue();
    }

    private void repeat() {
        while (!turns.hasTurn(Thread.currentThread()) && turns.areOn()) {
            turns.begin(deadlineNs());
        }
    }

    @Test
    void turnsEndWhenTheirThreadsMakeFewOperations() throws InterruptedException {
        makeLate();
        while (turns.areOn()) {
            run(this::repeat); // each takes the turn of one that has ended
        }
        assertThat(turns.areOn()).isFalse();
    }

    @Test
    void turnsEndWhenOperationsAreLong() throws InterruptedException {
        makeLate();
        run(() -> {
            while (turns.areOn()) {
                turns.begin(deadlineNs());
                LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(100)); // an operation that another host answers
            }
        });
        assertThat(turns.areOn()).isFalse();
    }

    @Test
    void anInterruptIsKept() throws InterruptedException {
        makeLate();
        run(this::repeat);
        AtomicBoolean kept = new AtomicBoolean();
        run(() -> {
            Thread.currentThread().interrupt();
            for (int i = 0; i < LATE; i++) {
                turns.begin(deadlineNs());
            }
            kept.set(Thread.currentThread().isInterrupted());
        });
        assertThat(kept).isTrue();
    }
}
