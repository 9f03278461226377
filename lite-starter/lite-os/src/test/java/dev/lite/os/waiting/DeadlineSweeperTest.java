package dev.lite.os.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import dev.lite.testing.Waits;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Operations that end after their deadlines. */
class DeadlineSweeperTest {
    private static final long MS = TimeUnit.MILLISECONDS.toNanos(1);

    private final AtomicInteger sweeps = new AtomicInteger();
    private final Set<Long> underWay = ConcurrentHashMap.newKeySet();
    private final DeadlineSweeper sweeper = new DeadlineSweeper(this::sweep);

    private void begin(long endNs) {
        underWay.add(endNs);
        sweeper.sweepAfter(endNs);
    }

    private void sweep() {
        int unused = sweeps.incrementAndGet();
        long now = System.nanoTime();
        underWay.removeIf(endNs -> endNs - now <= 0);
        underWay.forEach(sweeper::sweepAfter);
    }

    @Test
    void eachOperationEndsSoonAfterItsDeadlineInWhateverOrderTheyBegin() {
        long now = System.nanoTime();
        for (long ms : new long[] {300, 20, 100, 1, 200, 50}) {
            begin(now + ms * MS);
        }
        Waits.until("all have ended", underWay::isEmpty);
        assertThat(System.nanoTime() - now)
                .isBetween(300 * MS, 300 * MS + Waits.seconds(2).toNanos());
        begin(System.nanoTime() + MS);
        Waits.until("a later one has ended", underWay::isEmpty);
    }

    /** Of operations with about the same deadline, a sweep finds the earliest one last, if their order is unlucky. */
    @Test
    void sweepsDoNotMultiplyWhileSeveralOperationsAreUnderWayAllTheTime() {
        DeadlineSweeper[] own = new DeadlineSweeper[1];
        own[0] = new DeadlineSweeper(() -> {
            if (sweeps.incrementAndGet() < 1_000) { // else this would end with the process
                long now = System.nanoTime();
                for (int operation = 8; operation > 0; operation--) {
                    own[0].sweepAfter(now + (10 + operation) * MS);
                }
            }
        });
        own[0].sweepAfter(System.nanoTime());
        Waits.pass(Duration.ofMillis(500));
        assertThat(sweeps.get()).as("eight for each 18 ms at most").isBetween(2, 8 * 500 / 18 + 50);
    }

    /** As a thread does that keeps operations under way and replaces each one that has ended, long before its deadline. */
    @Test
    void sweepsAreAsRareAsDeadlinesWhileOperationsFollowEachOther() {
        long beginNs = System.nanoTime();
        Deque<Long> oldestFirst = new ArrayDeque<>();
        for (long now = beginNs; now - beginNs < 1_000 * MS && sweeps.get() < 10_000; now = System.nanoTime()) {
            oldestFirst.add(now + 50 * MS);
            begin(now + 50 * MS);
            if (oldestFirst.size() > 32) {
                underWay.remove(oldestFirst.remove());
            }
            LockSupport.parkNanos(20_000);
        }
        assertThat(sweeps.get()).isBetween(2, 100);
    }

    /** Else the timers of an operation that lasts would grow in number with every short one. */
    @Test
    void anOperationWithALateDeadlineHasOneTimerHoweverManyShortOnesEnd() {
        long lateNs = System.nanoTime() + Duration.ofDays(1).toNanos();
        begin(lateNs);
        for (int i = 0; i < 20; i++) {
            begin(System.nanoTime() + MS);
            Waits.until("the short one has ended", () -> underWay.size() == 1 && sweeper.scheduled() == 1);
        }
        assertThat(sweeper.scheduled()).isEqualTo(1);
        assertThat(sweeps.get()).isBetween(20, 40);
    }

    /** Else the operations that it did not reach would never end. */
    @Test
    void aSweepThatFailsIsRepeated() {
        DeadlineSweeper failing = new DeadlineSweeper(() -> {
            if (sweeps.incrementAndGet() == 1) {
                throw new IllegalStateException("a defect of one operation, which the test expects");
            }
        });
        failing.sweepAfter(System.nanoTime());
        Waits.until("it was repeated", () -> sweeps.get() == 2);
        assertThat(failing.scheduled()).isZero();
    }

    /** Else no operation would end at its deadline any more. */
    @Test
    void aSweepForWhichThereIsNoThreadIsRepeated() {
        AtomicInteger threads = new AtomicInteger();
        DeadlineSweeper late = new DeadlineSweeper(sweeps::incrementAndGet, task -> {
            if (threads.incrementAndGet() == 1) {
                throw new OutOfMemoryError("no memory for a thread, which the test expects");
            }
            task.run();
        });
        late.sweepAfter(System.nanoTime());
        Waits.until("it was repeated", () -> sweeps.get() == 1);
        assertThat(threads.get()).isEqualTo(2);
        assertThat(late.scheduled()).isZero();
    }

    /** Else that operation would not end at its deadline. */
    @Test
    void anOperationThatBeginsWhileThereIsNoMemoryForTheTimerOfAnotherHasOneOfItsOwn() {
        long firstNs = System.nanoTime();
        Deque<Thread> others = new ArrayDeque<>();
        DeadlineSweeper[] own = new DeadlineSweeper[1];
        own[0] = new DeadlineSweeper(sweeps::incrementAndGet, Runnable::run, inNs -> {
            if (others.isEmpty()) {
                Thread other = Thread.ofPlatform().start(() -> own[0].sweepAfter(firstNs + MS));
                others.add(other);
                Waits.until(
                        "it relies on this one, or waits for its end",
                        () -> !other.isAlive() || other.getState() == Thread.State.BLOCKED);
                throw new OutOfMemoryError("on purpose");
            }
            return CompletableFuture.delayedExecutor(inNs, TimeUnit.NANOSECONDS, Runnable::run);
        });
        assertThatThrownBy(() -> own[0].sweepAfter(firstNs)).isInstanceOf(OutOfMemoryError.class);
        Waits.join(others.element());
        Waits.until("its deadline has passed", () -> sweeps.get() == 1);
        assertThat(own[0].scheduled()).isZero();
    }

    /** Without memory for that, no operation would end at its deadline any more. */
    @Test
    void aSweepThatBeginsAllocatesNothing() {
        Deque<Runnable> tasks = new ArrayDeque<>();
        DeadlineSweeper manual = new DeadlineSweeper(() -> {}, tasks::add, inNs -> Runnable::run);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long least = Long.MAX_VALUE;
        for (int round = 0; round < 10; round++) { // the first ones load classes
            manual.sweepAfter(System.nanoTime() + MS);
            Runnable task = tasks.remove();
            long before = threads.getCurrentThreadAllocatedBytes();
            task.run();
            least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
        }
        assertThat(manual.scheduled()).isZero();
        assertThat(least).as("bytes").isZero();
    }
}
