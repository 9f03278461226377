package dev.lite.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.os.Futex;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.waiting.PolledWaits;
import dev.lite.session.waiting.PolledWaits.SlotWait;
import dev.lite.session.waiting.VirtualWaits;
import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The waits of virtual threads for commands: by a platform thread alone, and by a virtual thread that polls first. The tests are the node. */
@ParameterizedClass
@EnumSource(VirtualWaitsTest.Way.class)
class VirtualWaitsTest {
    private static final int SPINS = 50;

    /** How virtual threads wait. */
    enum Way {
        SLEEPING {
            @Override
            Waiting over(SlotStates states, int spins) {
                VirtualWaits waits = new VirtualWaits(states, spins);
                return new Waiting(waits::await, waits::lose);
            }
        },
        POLLING {
            @Override
            Waiting over(SlotStates states, int spins) {
                PolledWaits waits = new PolledWaits("polls", spins);
                return new Waiting(
                        (slot, deadlineNs) -> waits.await(new SlotWait(states, slot), deadlineNs), waits::close);
            }
        };

        abstract Waiting over(SlotStates states, int spins);
    }

    private record Waiting(Await how, Runnable end) {
        interface Await {
            void await(int slot, long deadlineNs);
        }

        void await(int slot, long deadlineNs) {
            how.await(slot, deadlineNs);
        }

        void lose() {
            end.run();
        }
    }

    private final Way way;

    private static final long LONG_NS = Waits.seconds(60).toNanos();

    private final SharedMemory memory =
            SharedMemory.createMemfd("virtual-waits", SessionArea.slotOffset(SessionArea.SLOTS_MAX));
    private final Waiting waits;
    private final AtomicInteger over = new AtomicInteger();

    VirtualWaitsTest(Way way) {
        this.way = way;
        waits = way.over(new SlotStates(memory.address()), SPINS);
    }

    @AfterEach
    void end() {
        waits.lose();
        memory.close();
    }

    private long state(int slot) {
        return memory.address() + SessionArea.slotOffset(slot) + SessionArea.STATE;
    }

    private void submit(int slot) {
        RawMemory.putIntRelease(state(slot), SessionArea.STATE_PENDING);
    }

    private void complete(int slot) {
        if (RawMemory.getAndSetInt(state(slot), SessionArea.STATE_DONE) == SessionArea.STATE_SLEEPING) {
            int unused = Futex.wake(state(slot), 1);
        }
    }

    private Thread await(int slot, long timeoutNs) {
        submit(slot);
        return Thread.ofVirtual().start(() -> {
            waits.await(slot, System.nanoTime() + timeoutNs);
            over.incrementAndGet();
        });
    }

    private void awaitSleep(int slot) {
        Waits.until("the watcher sleeps", () -> RawMemory.getIntAcquire(state(slot)) == SessionArea.STATE_SLEEPING);
    }

    @Test
    void everyWaitEndsWhenItsOwnCommandIsDone() {
        List<Thread> threads = new ArrayList<>();
        for (int slot = 0; slot < SessionArea.SLOTS_MAX; slot++) {
            threads.add(await(slot, LONG_NS));
        }
        for (int slot = SessionArea.SLOTS_MAX - 1; slot >= 0; slot--) {
            awaitSleep(slot);
            complete(slot);
            Waits.join(threads.get(slot));
            assertThat(over).hasValue(SessionArea.SLOTS_MAX - slot);
        }
    }

    @Test
    void aWaitEndsWithoutPausesAsOnASingleProcessor() {
        Waiting sleepy = way.over(new SlotStates(memory.address()), 0);
        submit(0);
        Thread waiter = Thread.ofVirtual().start(() -> sleepy.await(0, System.nanoTime() + LONG_NS));
        awaitSleep(0);
        complete(0);
        Waits.join(waiter);
        sleepy.lose();
    }

    @Test
    void aWaitThatBeginsWhileTheWatcherSleepsIsWatched() {
        Thread first = await(0, LONG_NS);
        awaitSleep(0);
        Thread second = await(1, LONG_NS);
        awaitSleep(1);
        complete(1);
        Waits.join(second);
        complete(0);
        Waits.join(first);
    }

    @Test
    void aWaitEndsAtItsDeadlineAndLeavesTheOthers() {
        Thread later = await(0, LONG_NS);
        awaitSleep(0);
        Thread sooner = await(1, 1_000_000);
        Waits.join(sooner);
        assertThat(over).hasValue(1);
        complete(0);
        Waits.join(later);
    }

    @Test
    void theEndOfTheSessionEndsWaitsNowAndLater() {
        Thread now = await(0, LONG_NS);
        awaitSleep(0);
        waits.lose();
        Waits.join(now);
        Waits.join(await(1, LONG_NS));
    }

    @Test
    void anInterruptDoesNotEndAWaitAndIsKept() {
        submit(0);
        Thread waiter = Thread.ofVirtual().start(() -> {
            waits.await(0, System.nanoTime() + LONG_NS);
            if (Thread.currentThread().isInterrupted()) {
                over.incrementAndGet();
            }
        });
        awaitSleep(0);
        waiter.interrupt();
        Waits.until("the interrupt is taken", () -> waiter.getState() == Thread.State.WAITING);
        complete(0);
        Waits.join(waiter);
        assertThat(over).hasValue(1);
    }

    @Test
    void noCommandIsMissedWhileManyThreadsWaitInTurns() {
        int rounds = 2_000;
        List<Thread> threads = new ArrayList<>();
        AtomicInteger done = new AtomicInteger();
        for (int i = 0; i < 8; i++) {
            int slot = i;
            threads.add(Thread.ofVirtual().start(() -> {
                for (int round = 0; round < rounds; round++) {
                    submit(slot);
                    waits.await(slot, System.nanoTime() + LONG_NS);
                    done.incrementAndGet();
                }
            }));
        }
        Thread node = Thread.ofPlatform().daemon().start(() -> {
            while (done.get() < 8 * rounds) {
                for (int slot = 0; slot < 8; slot++) {
                    int seen = RawMemory.getIntAcquire(state(slot));
                    if (seen == SessionArea.STATE_PENDING || seen == SessionArea.STATE_SLEEPING) {
                        complete(slot);
                    }
                }
                Thread.onSpinWait();
            }
        });
        threads.forEach(Waits::join);
        Waits.join(node);
        assertThat(done).hasValue(8 * rounds);
    }
}
