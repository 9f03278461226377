package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

class InFlightTest {

    @Test
    void waitingEndsWhenTheOutstandingOperationEnds() {
        long mapping = InFlight.newNumber();
        AtomicBoolean entered = new AtomicBoolean();
        AtomicBoolean mayEnd = new AtomicBoolean();
        Thread operation = Thread.ofPlatform().start(() -> {
            long slot = InFlight.enter(mapping);
            entered.set(true);
            while (!mayEnd.get()) {
                Thread.onSpinWait();
            }
            InFlight.exit(slot);
        });
        Waits.until("the operation is under way", entered::get);
        Thread waiter = Thread.ofPlatform().start(() -> InFlight.awaitEnd(number -> number == mapping));
        Waits.pass(Duration.ofMillis(20));
        assertThat(waiter.isAlive()).isTrue();
        mayEnd.set(true);
        Waits.join(waiter);
        Waits.join(operation);
    }

    @Test
    void waitingIgnoresFinishedOperationsAndOtherMappings() {
        long mapping = InFlight.newNumber();
        InFlight.exit(InFlight.enter(mapping));
        InFlight.awaitEnd(number -> number == mapping);
        long other = InFlight.enter(InFlight.newNumber());
        InFlight.awaitEnd(number -> number == mapping);
        InFlight.exit(other);
    }

    @Test
    void aNestedOperationIsSeenAndTheOuterOneContinues() {
        long outer = InFlight.newNumber();
        long inner = InFlight.newNumber();
        AtomicInteger step = new AtomicInteger();
        Thread operation = Thread.ofPlatform().start(() -> {
            long outerSlot = InFlight.enter(outer);
            long innerSlot = InFlight.enterWithin(inner);
            step.set(1);
            while (step.get() == 1) {
                Thread.onSpinWait();
            }
            InFlight.exit(innerSlot);
            step.set(3);
            while (step.get() == 3) {
                Thread.onSpinWait();
            }
            InFlight.exit(outerSlot);
        });
        Waits.until("it is in both", () -> step.get() == 1);
        Thread ofInner = Thread.ofPlatform().start(() -> InFlight.awaitEnd(number -> number == inner));
        Thread ofOuter = Thread.ofPlatform().start(() -> InFlight.awaitEnd(number -> number == outer));
        Waits.pass(Duration.ofMillis(20));
        assertThat(ofInner.isAlive()).isTrue();
        step.set(2);
        Waits.join(ofInner);
        Waits.until("it left the inner one", () -> step.get() == 3);
        Waits.pass(Duration.ofMillis(20));
        assertThat(ofOuter.isAlive()).isTrue();
        step.set(4);
        Waits.join(ofOuter);
        Waits.join(operation);
    }

    @Test
    void onlyOperationsOnCountedObjectsAreCounted() {
        int counted = InFlight.newCountedNumber();
        int before = InFlight.countedUnderWay();
        long slot = InFlight.enter(counted);
        assertThat(InFlight.countedUnderWay()).isEqualTo(before + 1);
        InFlight.exit(slot);
        assertThat(InFlight.countedUnderWay()).isEqualTo(before);
        for (int number : List.of(InFlight.newNumber(), InFlight.uncounted(counted))) {
            long other = InFlight.enter(number);
            assertThat(InFlight.countedUnderWay()).isEqualTo(before);
            InFlight.exit(other);
        }
    }

    @Test
    void anObjectIsTheSameWhetherAnOperationCountsOrNot() {
        int counted = InFlight.newCountedNumber();
        assertThat(InFlight.isOf(counted, counted)).isTrue();
        assertThat(InFlight.isOf(counted, InFlight.uncounted(counted))).isTrue();
        assertThat(InFlight.isOf(InFlight.uncounted(counted), counted)).isTrue();
        assertThat(InFlight.isOf(counted, InFlight.newNumber())).isFalse();
        assertThat(InFlight.isOf(counted, InFlight.newCountedNumber())).isFalse();
    }

    @Test
    void numbersAreNeverAssignedTwice() {
        Set<Long> given = ConcurrentHashMap.newKeySet();
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < 4; index++) {
            threads.add(Thread.ofPlatform().start(() -> {
                for (int count = 0; count < 10_000; count++) {
                    given.add((long) InFlight.newNumber());
                }
            }));
        }
        threads.forEach(Waits::join);
        assertThat(given).hasSize(40_000).doesNotContain(0L);
    }

    /** Uses more threads than there are slots for one thread each. The other threads share slots; every operation is seen. */
    @Test
    void theOperationsOfTwoThousandVirtualThreadsAreAllSeenAndNoSlotIsLeaked() {
        long mapping = InFlight.newNumber();
        CountDownLatch started = new CountDownLatch(2000);
        AtomicBoolean stopped = new AtomicBoolean();
        AtomicInteger inside = new AtomicInteger();
        ConcurrentLinkedQueue<String> wrong = new ConcurrentLinkedQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < 2000; index++) {
            threads.add(Thread.ofVirtual().start(() -> {
                started.countDown();
                for (int count = 0; count < 20; count++) {
                    long slot = InFlight.enter(mapping);
                    if (!stopped.get()) {
                        inside.incrementAndGet();
                        Thread.onSpinWait();
                        inside.decrementAndGet();
                    }
                    InFlight.exit(slot);
                    LockSupport.parkNanos(100_000); // so that all of them run at once
                }
            }));
        }
        Waits.until("all have started", () -> started.getCount() == 0);
        stopped.set(true);
        InFlight.awaitEnd(number -> number == mapping);
        if (inside.get() != 0) {
            wrong.add(inside.get() + " inside after the wait");
        }
        threads.forEach(Waits::join);
        assertThat(wrong).isEmpty();
        InFlight.awaitEnd(number -> true);
    }

    @Test
    void theSlotOfADeadThreadIsReused() {
        long mapping = InFlight.newNumber();
        for (int count = 0; count < 3000; count++) {
            Thread thread = Thread.ofPlatform().start(() -> InFlight.exit(InFlight.enter(mapping)));
            Waits.join(thread);
        }
        InFlight.awaitEnd(number -> number == mapping);
    }

    /**
     * The guarantee itself: a thread that revokes a right and then waits for operations in flight sees no operation use the right
     * afterwards. A violation would need the short delay of a store buffer, so the test repeats it very often.
     */
    @Test
    void noOperationUsesARightAfterItsRevocationWasAwaited() {
        class Shared {
            volatile long mapping = InFlight.newNumber();
            volatile boolean right = true;
            volatile boolean over;
            final AtomicInteger acting = new AtomicInteger();
        }
        Shared shared = new Shared();
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < 2; index++) {
            threads.add(Thread.ofPlatform().start(() -> {
                while (!shared.over) {
                    long slot = InFlight.enter(shared.mapping);
                    if (shared.right) {
                        shared.acting.incrementAndGet();
                        for (int spins = 0; spins < 50; spins++) {
                            Thread.onSpinWait(); // longer than scanning all slots takes
                        }
                        shared.acting.decrementAndGet();
                    }
                    InFlight.exit(slot);
                }
            }));
        }
        int seen = 0;
        long endNs = System.nanoTime() + 500_000_000;
        while (System.nanoTime() < endNs) {
            shared.right = false;
            InFlight.awaitEnd(number -> number == shared.mapping);
            seen += shared.acting.get();
            shared.right = true;
        }
        shared.over = true;
        threads.forEach(Waits::join);
        assertThat(seen).isZero();
    }
}
