package dev.lite.fabric.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.conformance.TestFabrics.Pair;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Polling, waiting and waking. */
interface WaitingCases extends ConformanceCases {
    /** Longer than any case may take, so that a missing wake-up makes the case fail. */
    long FOREVER_NS = Duration.ofHours(1).toNanos();

    @Test
    default void awaitReturnsAtItsTimeout() {
        TestNode node = fabrics().open("alpha");
        fabrics().settle();

        long startNs = System.nanoTime();
        node.fabric.await(0);
        node.fabric.await(1);
        node.fabric.await(Duration.ofMillis(30).toNanos());

        assertThat(System.nanoTime() - startNs).isLessThan(Deadline.scaledNs(Duration.ofSeconds(5)));
    }

    @Test
    default void awaitOnAnIdleFabricBlocks() {
        Pair pair = fabrics().pair();
        fabrics().settle();

        long startNs = System.nanoTime();
        for (int i = 0; i < 20; i++) {
            pair.from().fabric.await(Duration.ofMillis(20).toNanos());
            assertThat(pair.from().poll(10)).isZero();
        }

        // It may return early now and then, but not all the time: an idle node must not use a core.
        assertThat(System.nanoTime() - startNs)
                .isGreaterThan(Duration.ofMillis(200).toNanos());
    }

    @Test
    default void aWakeupBeforeAwaitEndsTheNextAwait() {
        TestNode node = fabrics().open("alpha");
        fabrics().settle();
        for (int i = 0; i < 100; i++) {
            node.fabric.wakeup();
            awaitReturns(node);
        }
    }

    @Test
    default void severalWakeupsEndOnlyOneAwait() {
        TestNode node = fabrics().open("alpha");
        fabrics().settle();
        for (int i = 0; i < 1_000; i++) {
            node.fabric.wakeup();
        }
        awaitReturns(node);

        long startNs = System.nanoTime();
        for (int i = 0; i < 20; i++) {
            node.fabric.await(Duration.ofMillis(20).toNanos());
        }

        assertThat(System.nanoTime() - startNs)
                .isGreaterThan(Duration.ofMillis(200).toNanos());
    }

    @Test
    default void aWakeupEndsARunningAwait() {
        TestNode node = fabrics().open("alpha");
        fabrics().settle();
        for (int i = 0; i < 20; i++) {
            AtomicBoolean returned = new AtomicBoolean();
            Workers waiter = Workers.start(1, thread -> {
                node.fabric.await(FOREVER_NS);
                returned.set(true);
            });
            giveItTimeToBlock();
            node.fabric.wakeup();
            Deadline.generous().waitFor(returned::get, "await to return");
            waiter.join();
        }
    }

    @Test
    default void noWakeupIsLostInARace() {
        TestNode node = fabrics().open("alpha");
        fabrics().settle();
        int rounds = 2_000;
        AtomicBoolean[] returned = new AtomicBoolean[rounds];
        for (int i = 0; i < rounds; i++) {
            returned[i] = new AtomicBoolean();
        }
        Workers waiter = Workers.start(1, thread -> {
            for (int i = 0; i < rounds; i++) {
                node.fabric.await(FOREVER_NS);
                returned[i].set(true);
            }
        });
        Deadline deadline = Deadline.generous();
        for (int i = 0; i < rounds; i++) {
            int round = i;
            node.fabric.wakeup();
            while (!returned[round].get()) {
                deadline.check("await " + round + " to return");
                Thread.onSpinWait();
            }
        }
        waiter.join();
    }

    @Test
    default void awaitReturnsWhenAnImmediateArrives() {
        Pair pair = fabrics().pair();
        fabrics().settle();
        pair.to().startForeverPolling();
        for (int i = 1; i <= 50; i++) {
            int round = i;
            if (round % 10 == 0) {
                giveItTimeToBlock();
            }
            fabrics().run(pair.from(), pair.out(), (to, context) -> to.writeImm(0, 0, 0, round, context));
            fabrics().until(() -> pair.to().log(pair.in()).immediates.size() == round, "immediate " + round);
        }
        pair.to().stopPolling();
    }

    @Test
    default void awaitReturnsWhenAPostCompletes() {
        Pair pair = fabrics().pair();
        MemorySegment local = pair.from().local(8);
        fabrics().settle();
        pair.from().startForeverPolling();
        for (int i = 1; i <= 50; i++) {
            if (i % 10 == 0) {
                giveItTimeToBlock();
            }
            fabrics().run(pair.from(), pair.out(), (to, context) -> to.read(0, local.address(), 8, context));
        }
        pair.from().stopPolling();
    }

    @Test
    default void awaitReturnsWhenAConnectionOpensOrEnds() {
        TestNode alpha = fabrics().open("alpha");
        TestNode beta = fabrics().open("beta");
        alpha.startForeverPolling();
        beta.startForeverPolling();
        for (int i = 0; i < 5; i++) {
            giveItTimeToBlock();
            Pair pair = fabrics().connect(alpha, beta);
            giveItTimeToBlock();
            (i % 2 == 0 ? pair.out() : pair.in()).close();
            fabrics()
                    .until(
                            () -> alpha.isDisconnected(pair.out()) && beta.isDisconnected(pair.in()),
                            "both to be disconnected");
        }
        Pair last = fabrics().connect(alpha, beta);
        giveItTimeToBlock();
        beta.close();
        fabrics().until(() -> alpha.isDisconnected(last.out()), "disconnected");
        alpha.stopPolling();
    }

    @Test
    default void pollDeliversAtMostItsLimit() {
        Pair pair = fabrics().pair();
        List<Posted> posts = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            int immediate = i;
            Posted posted =
                    pair.from().recorder.post(pair.out(), (to, context) -> to.writeImm(0, 0, 0, immediate, context));
            if (posted.wasTaken()) {
                posts.add(posted);
            }
        }
        Deadline deadline = Deadline.generous();
        for (int seen = 0; seen < posts.size(); ) {
            deadline.check("the immediates");
            // The recorder checks for each poll that it makes as many calls as it answers, and at most its limit.
            pair.from().poll(1);
            int handedOver = pair.to().poll(3);
            assertThat(handedOver).isBetween(0, 3);
            seen += handedOver;
        }
        assertThat(pair.to().log(pair.in()).immediates).hasSize(posts.size());
        fabrics().until(() -> posts.stream().allMatch(Posted::isOver), "all completions");
    }

    @Test
    default void pollOnAnIdleFabricAnswersZero() {
        Pair pair = fabrics().pair();
        fabrics().settle();

        assertThat(pair.from().poll(10)).isZero();
        assertThat(pair.to().poll(10)).isZero();
    }

    @Test
    default void thePollRoleCanMoveBetweenThreads() {
        Pair pair = fabrics().pair();
        int count = 0;
        for (int i = 0; i < 20; i++) {
            pair.from().startPolling();
            pair.to().startPolling();
            count = exchange(pair, count);
            pair.to().stopPolling();
            count = exchange(pair, count);
            pair.from().stopPolling();
            count = exchange(pair, count);
        }
    }

    private int exchange(Pair pair, int countBefore) {
        int count = countBefore + 10;
        for (int i = 0; i < 10; i++) {
            fabrics().post(pair.from(), pair.out(), (to, context) -> to.writeImm(0, 0, 0, 1, context));
        }
        fabrics().until(() -> pair.to().log(pair.in()).immediates.size() == count, count + " immediates");
        return count;
    }

    private static void awaitReturns(TestNode node) {
        long startNs = System.nanoTime();
        node.fabric.await(Duration.ofSeconds(10).toNanos());
        assertThat(System.nanoTime() - startNs)
                .as("time until await returned")
                .isLessThan(Duration.ofSeconds(9).toNanos());
    }

    private static void giveItTimeToBlock() {
        LockSupport.parkNanos(Duration.ofMillis(5).toNanos());
    }
}
