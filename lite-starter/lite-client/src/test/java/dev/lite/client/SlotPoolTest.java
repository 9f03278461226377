package dev.lite.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LiteTimeoutException;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;

class SlotPoolTest {
    private static final double SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));

    private static long in(Duration time) {
        return System.nanoTime() + (long) (time.toNanos() * SCALE);
    }

    private static long soon() {
        return in(Duration.ofMillis(20));
    }

    @Test
    void aSlotHasOneOwnerEvenIfManyThreadsCompete() throws InterruptedException {
        SlotPool pool = new SlotPool(3, slot -> false);
        AtomicIntegerArray owners = new AtomicIntegerArray(3);
        AtomicInteger wrong = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            threads.add(Thread.ofPlatform().start(() -> {
                for (int n = 0; n < 5_000; n++) {
                    int slot = pool.acquire(in(Duration.ofSeconds(20)));
                    if (slot < 0 || owners.incrementAndGet(slot) != 1) {
                        wrong.incrementAndGet();
                        return;
                    }
                    Thread.onSpinWait();
                    owners.decrementAndGet(slot);
                    pool.release(slot);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(wrong).hasValue(0);
    }

    @Test
    void withoutAFreeSlotAcquireFailsAtTheDeadline() {
        SlotPool pool = new SlotPool(1, slot -> false);
        assertThat(pool.acquire(soon())).isZero();
        long before = System.nanoTime();
        assertThat(pool.acquire(soon())).isEqualTo(-1);
        assertThat(System.nanoTime() - before)
                .isGreaterThan(Duration.ofMillis(10).toNanos());
        pool.release(0);
        assertThat(pool.acquire(soon())).isZero();
    }

    @Test
    void aThreadThatHasWaitedForASlotGetsItBeforeOnesThatCome() {
        for (SlotPool.Use use : List.of(SlotPool.Use.CALL, SlotPool.Use.OTHER)) {
            SlotPool pool = new SlotPool(1, slot -> false);
            assertThat(pool.tryAcquire(use)).isZero();
            AtomicInteger got = new AtomicInteger(-1);
            Thread waiting = Thread.ofPlatform().start(() -> got.set(pool.acquire(use, in(Duration.ofSeconds(20)))));
            Waits.pass(Duration.ofMillis(100));
            pool.release(0);
            assertThat(pool.tryAcquire(use)).as("%s", use).isEqualTo(-1);
            Waits.join(waiting);
            assertThat(got).hasValue(0);
            pool.release(0);
            assertThat(pool.tryAcquire(use)).isZero();
        }
    }

    @Test
    void noOperationWaitsForAReceiveThatWaitsForASlot() {
        SlotPool pool = new SlotPool(8, slot -> false);
        while (pool.tryAcquire(SlotPool.Use.RECEIVE) >= 0) {
            Thread.onSpinWait();
        }
        Thread waiting = Thread.ofPlatform()
                .start(() -> assertThat(pool.acquire(SlotPool.Use.RECEIVE, in(Duration.ofSeconds(20))))
                        .isEqualTo(-1));
        Waits.pass(Duration.ofMillis(100));
        assertThat(pool.tryAcquire(SlotPool.Use.OTHER)).isEqualTo(7);
        pool.close();
        Waits.join(waiting);
    }

    @Test
    void aQuarantinedSlotIsReusedOnlyAfterItsLateCompletion() {
        AtomicBoolean completed = new AtomicBoolean();
        SlotPool pool = new SlotPool(1, slot -> completed.get());
        assertThat(pool.tryAcquire()).isZero();
        pool.quarantine(0);
        assertThat(pool.acquire(soon())).isEqualTo(-1);
        completed.set(true);
        assertThat(pool.acquire(in(Duration.ofSeconds(10)))).isZero();
    }

    @Test
    void longTransfersTogetherGetHalfOfTheSlotsBeyondTheirFirstOnes() {
        SlotPool pool = new SlotPool(20, slot -> false);
        assertThat(pool.takeFurther(7)).isEqualTo(7);
        assertThat(pool.takeFurther(7)).isEqualTo(3);
        assertThat(pool.takeFurther(7)).isZero();
        pool.giveFurther(3);
        pool.giveFurther(7);
        assertThat(pool.takeFurther(7)).isEqualTo(7);
    }

    @Test
    void theMemoryStaysUntilTheLastSlotIsReturned() {
        SlotPool pool = new SlotPool(4, slot -> false);
        int owned = pool.tryAcquire();
        int late = pool.tryAcquire();
        pool.quarantine(late);
        pool.close();
        assertThat(pool.awaitAllReturned(soon())).isFalse();
        pool.release(owned);
        assertThat(pool.awaitAllReturned(in(Duration.ofSeconds(10)))).isTrue();
        assertThat(pool.tryAcquire()).isEqualTo(-1);
        assertThat(pool.acquire(in(Duration.ofSeconds(10)))).isEqualTo(-1);
    }

    private static int takeAll(SlotPool pool, SlotPool.Use use) {
        int count = 0;
        while (pool.tryAcquire(use) >= 0) {
            count++;
        }
        return count;
    }

    /** Else an application that calls and serves could wait for its own answers. */
    @Test
    void callsLeaveSlotsForReceivesAndBothForAnswers() {
        SlotPool pool = new SlotPool(64, slot -> false);
        assertThat(takeAll(pool, SlotPool.Use.CALL)).isEqualTo(48);
        assertThat(pool.acquire(SlotPool.Use.CALL, soon())).isEqualTo(-1);
        assertThat(takeAll(pool, SlotPool.Use.RECEIVE)).isEqualTo(8);
        assertThat(takeAll(pool, SlotPool.Use.OTHER)).isEqualTo(8);
    }

    @Test
    void callsLeaveAsManySlotsAsThereEverWereReceives() {
        SlotPool pool = new SlotPool(64, slot -> false);
        pool.noteReceives(20);
        pool.noteReceives(3);
        assertThat(takeAll(pool, SlotPool.Use.CALL)).isEqualTo(36);
        assertThat(takeAll(pool, SlotPool.Use.RECEIVE)).isEqualTo(20);
        pool.noteReceives(48);
        assertThat(takeAll(pool, SlotPool.Use.OTHER)).isEqualTo(8);
    }

    /** With as many receives as there may be. */
    @Test
    void eachKindHasSlotsThatTheOthersDoNotTake() {
        for (int slots = 8; slots <= 64; slots++) {
            SlotPool pool = new SlotPool(slots, slot -> false);
            int places = takeAllPlaces(new ReceiveSlots(slots, pool::noteReceives));
            assertThat(takeAll(pool, SlotPool.Use.CALL))
                    .as("calls of %d slots", slots)
                    .isPositive();
            assertThat(takeAll(pool, SlotPool.Use.RECEIVE))
                    .as("receives of %d slots", slots)
                    .isGreaterThanOrEqualTo(places);
            assertThat(takeAll(pool, SlotPool.Use.OTHER))
                    .as("others of %d slots", slots)
                    .isPositive();
        }
    }

    private static int takeAllPlaces(ReceiveSlots receives) {
        int places = 0;
        while (receives.tryTake() != null) {
            places++;
        }
        for (int turn = 0; turn < 8; turn++) {
            try {
                ReceiveSlots.Place unused = receives.take("a receive", System.nanoTime());
                places++;
            } catch (LiteTimeoutException e) {
                break;
            }
        }
        return places;
    }

    @Test
    void allKindsShareTheSlotsOfASmallSession() {
        for (int slots = 1; slots < 8; slots++) {
            for (SlotPool.Use use : SlotPool.Use.values()) {
                SlotPool pool = new SlotPool(slots, slot -> false);
                pool.noteReceives(slots);
                assertThat(takeAll(pool, use)).as("%s of %d slots", use, slots).isEqualTo(slots);
            }
        }
    }

    @Test
    void aReleasedSlotWakesWhoCanUseIt() throws InterruptedException {
        SlotPool pool = new SlotPool(8, slot -> false); // the last two are not for calls
        for (int i = 0; i < 8; i++) {
            assertThat(pool.tryAcquire()).isNotNegative();
        }
        AtomicInteger call = new AtomicInteger(-2);
        AtomicInteger other = new AtomicInteger(-2);
        Thread calling =
                Thread.ofPlatform().start(() -> call.set(pool.acquire(SlotPool.Use.CALL, in(Duration.ofSeconds(60)))));
        Thread answering = Thread.ofPlatform().start(() -> other.set(pool.acquire(in(Duration.ofSeconds(60)))));
        pool.release(7);
        assertThat(answering.join(Duration.ofSeconds(10))).isTrue();
        assertThat(other).hasValue(7);
        pool.release(0);
        assertThat(calling.join(Duration.ofSeconds(10))).isTrue();
        assertThat(call).hasValue(0);
    }

    @Test
    void closingWakesThreadsThatWaitForASlot() throws InterruptedException {
        SlotPool pool = new SlotPool(1, slot -> false);
        assertThat(pool.tryAcquire()).isZero();
        AtomicInteger got = new AtomicInteger();
        Thread waiting = Thread.ofPlatform().start(() -> got.set(pool.acquire(in(Duration.ofSeconds(60)))));
        while (waiting.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        pool.close();
        assertThat(waiting.join(Duration.ofSeconds(10))).isTrue();
        assertThat(got).hasValue(-1);
    }

    @Test
    void awaitNoneForWaitsForTheOutstandingOperation() {
        SlotPool pool = new SlotPool(2, slot -> false);
        int slot = pool.tryAcquire();
        pool.workFor(slot, 77);
        assertThat(pool.awaitNoneFor(77, soon())).isFalse();
        assertThat(pool.awaitNoneFor(78, soon())).isTrue();
        pool.release(slot);
        assertThat(pool.awaitNoneFor(77, soon())).isTrue();
    }

    /** Its owner may keep it for very long, as a receive does. */
    @Test
    void awaitNoneForSeesThatTheOwnerOfASlotWorksForAnotherHandle() throws InterruptedException {
        SlotPool pool = new SlotPool(1, slot -> false);
        pool.workFor(pool.tryAcquire(), 77);
        pool.release(0);
        assertThat(pool.tryAcquire()).as("its owner has noted nothing yet").isZero();
        AtomicBoolean none = new AtomicBoolean();
        Thread unmapping = Thread.ofPlatform().start(() -> none.set(pool.awaitNoneFor(77, in(Duration.ofSeconds(60)))));
        while (unmapping.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        pool.workFor(0, 78);
        assertThat(unmapping.join(Duration.ofSeconds((long) (10 * SCALE)))).isTrue();
        assertThat(none).isTrue();
    }
}
