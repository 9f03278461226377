package dev.lite.fabric.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.conformance.TestFabrics.Pair;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** The standby thread's wait: when {@link dev.lite.fabric.Fabric#awaitArmed} returns, and that no event is missed. */
interface StandbyCases extends ConformanceCases {

    @Test
    default void awaitArmedReturnsAtItsTimeout() {
        TestNode node = fabrics().open("alpha");
        fabrics().settle();

        long startNs = System.nanoTime();
        node.fabric.awaitArmed(0);
        node.fabric.awaitArmed(1);
        node.fabric.arm();
        node.fabric.awaitArmed(Duration.ofMillis(30).toNanos());

        assertThat(System.nanoTime() - startNs).isLessThan(Deadline.scaledNs(Duration.ofSeconds(5)));
    }

    @Test
    default void aWakeupEndsBothWaits() {
        TestNode node = fabrics().open("alpha");
        fabrics().settle();
        for (int i = 0; i < 20; i++) {
            AtomicBoolean[] returned = {new AtomicBoolean(), new AtomicBoolean()};
            Workers waiters = Workers.start(2, thread -> {
                if (thread == 0) {
                    node.fabric.await(WaitingCases.FOREVER_NS);
                } else {
                    node.fabric.awaitArmed(WaitingCases.FOREVER_NS);
                }
                returned[thread].set(true);
            });
            if (i % 2 == 0) {
                pause(2);
            }
            node.fabric.wakeup();
            Deadline.generous().waitFor(() -> returned[0].get() && returned[1].get(), "both waits to return");
            waiters.join();
        }
    }

    @Test
    default void anEventBeforeArmingEndsAwaitArmedOrIsReportedByArm() {
        Pair pair = fabrics().pair();
        fabrics().settle();
        assertThat(pair.to().fabric.arm()).isTrue();
        pair.to().fabric.disarm();

        fabrics().post(pair.from(), pair.out(), (to, context) -> to.writeImm(0, 0, 0, 7, context));
        Deadline deadline = Deadline.generous();
        long waitNs = Duration.ofMillis(100).toNanos();
        while (pair.to().fabric.arm()) {
            long startNs = System.nanoTime();
            pair.to().fabric.awaitArmed(waitNs);
            if (System.nanoTime() - startNs < waitNs) {
                break;
            }
            deadline.check("arm() or awaitArmed() to report the immediate");
            // A simulated network advances when other nodes poll or wait.
            pair.from().fabric.await(Duration.ofMillis(1).toNanos());
        }
        pair.to().fabric.disarm();
        fabrics().until(() -> pair.to().log(pair.in()).immediates.size() == 1, "the immediate");
    }

    @Test
    default void anEventInABreakOfAThreadThatDoesNotComeBackEndsAwaitArmed() {
        long seed = Long.getLong("lite.test.seed", System.nanoTime());
        Random random = new Random(seed);
        Pair pair = fabrics().pair();
        TestNode to = pair.to();
        fabrics().settle();
        AtomicInteger ended = new AtomicInteger();
        AtomicBoolean stopping = new AtomicBoolean();
        Workers standbyThread = Workers.start(1, thread -> {
            while (!stopping.get()) {
                to.fabric.awaitArmed(WaitingCases.FOREVER_NS);
                ended.incrementAndGet();
            }
        });
        Deadline deadline = Deadline.generous();
        for (int i = 1; i <= 200; i++) {
            int count = i;
            for (int breaks = random.nextInt(40); breaks >= 0; breaks--) {
                to.fabric.disarm();
                to.poll(4);
                assertThat(to.lastCalls()).isZero();
                to.fabric.armBriefly();
            }
            int before = ended.get();
            fabrics().post(pair.from(), pair.out(), (peer, context) -> peer.writeImm(0, 0, 0, count, context));
            while (ended.get() == before) {
                deadline.check("awaitArmed() to end for immediate %d, seed %d".formatted(count, seed));
                pair.from().fabric.await(Duration.ofMillis(1).toNanos()); // a simulated network advances by this
            }
            to.fabric.disarm();
            fabrics().until(() -> to.log(pair.in()).immediates.size() == count, "immediate " + count);
        }
        stopping.set(true);
        to.fabric.wakeup();
        standbyThread.join();
    }

    @Test
    default void aDisarmedFabricDoesNotWakeTheStandbyThread() {
        Pair pair = fabrics().pair();
        fabrics().settle();
        pair.to().fabric.arm();
        pair.to().fabric.disarm();
        pair.to().fabric.awaitArmed(0); // consumes earlier events
        AtomicBoolean returned = new AtomicBoolean();
        Workers standbyThread = Workers.start(1, thread -> {
            pair.to().fabric.awaitArmed(WaitingCases.FOREVER_NS);
            returned.set(true);
        });
        pause(5);
        for (int i = 0; i < 20; i++) {
            int count = i + 1;
            fabrics().post(pair.from(), pair.out(), (to, context) -> to.writeImm(0, 0, 0, 1, context));
            fabrics().until(() -> pair.to().log(pair.in()).immediates.size() == count, "immediate " + count);
        }
        pause(20);
        assertThat(returned).isFalse();

        pair.to().fabric.wakeup();
        standbyThread.join();
    }

    @Test
    default void anArrivalWhileArmedIsNeverMissed() {
        long seed = Long.getLong("lite.test.seed", System.nanoTime());
        Pair pair = fabrics().pair();
        fabrics().settle();
        int rounds = 2_000;
        Random random = new Random(seed);
        pair.to().startStandbyThread();
        try {
            for (int i = 1; i <= rounds; i++) {
                int count = i;
                fabrics().run(pair.from(), pair.out(), (to, context) -> to.writeImm(0, 0, 0, count, context));
                fabrics()
                        .until(
                                () -> pair.to().log(pair.in()).immediates.size() == count,
                                "immediate %d, seed %d".formatted(count, seed));
                for (int spins = random.nextInt(400); spins > 0; spins--) {
                    Thread.onSpinWait();
                }
            }
        } finally {
            pair.to().stopPolling();
        }
    }

    /** Posts by a thread that does not poll itself: only their completions wake the standby thread. */
    @Test
    default void aPostWhileArmedCompletesWithoutAnotherPollingThread() {
        long seed = Long.getLong("lite.test.seed", System.nanoTime());
        Pair pair = fabrics().pair();
        MemorySegment local = pair.from().local(64);
        fabrics().settle();
        Random random = new Random(seed);
        // One deadline for all posts: a driver that polls by itself now and then would hide a single missed event.
        Deadline deadline = Deadline.generous();
        pair.from().startStandbyThread();
        try {
            for (int i = 0; i < 300; i++) {
                int count = i;
                fabrics().run(pair.from(), pair.out(), (to, context) -> switch (count % 3) {
                    case 0 -> to.write(0, local.address(), 64, context);
                    case 1 -> to.read(0, local.address(), 64, context);
                    default -> to.fetchAdd(64, 1, local.address(), context);
                });
                deadline.check("post %d of 300 to complete, seed %d".formatted(count, seed));
                for (int spins = random.nextInt(400); spins > 0; spins--) {
                    Thread.onSpinWait();
                }
            }
        } finally {
            pair.from().stopPolling();
        }
    }

    private static void pause(int ms) {
        LockSupport.parkNanos(Duration.ofMillis(ms).toNanos());
    }
}
