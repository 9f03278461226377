package dev.lite.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.Order.Kind;
import dev.lite.cluster.Order.State;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The contract of orders, for any directory. */
abstract class OrdersContract {
    private static final Duration DEADLINE = Waits.seconds(20);
    private static final int RACERS = 6;

    private final List<ClusterDirectory> opened = new ArrayList<>();
    private ClusterDirectory directory;
    private Orders orders;

    /** Opens another session with the cluster of this test. */
    abstract ClusterDirectory openSession();

    /** Makes the directory unreachable for every session. */
    abstract void stopDirectory();

    /** Ends {@link #stopDirectory}. */
    abstract void startDirectory();

    private ClusterDirectory open() {
        ClusterDirectory session = openSession();
        opened.add(session);
        return session;
    }

    @BeforeEach
    void registerTwoNodes() {
        directory = open();
        orders = new Orders(directory);
        directory.register(ClusterDirectoryContract.advert("a"), DEADLINE);
        open().register(ClusterDirectoryContract.advert("b"), DEADLINE);
    }

    @AfterEach
    void closeSessions() {
        opened.forEach(ClusterDirectory::close);
    }

    @Test
    void everySessionSeesAnOrderFromItsSubmissionToItsEnd() {
        assertThat(orders.list(DEADLINE)).isEmpty();

        Order wanted = orders.move("data", "b", DEADLINE);

        Orders other = new Orders(open());
        assertThat(other.find(wanted.id(), DEADLINE)).contains(wanted);
        assertThat(wanted.kind()).isEqualTo(Kind.MOVE);
        assertThat(wanted.subject()).isEqualTo("data");
        assertThat(wanted.target()).isEqualTo("b");
        assertThat(wanted.state()).isEqualTo(State.WANTED);
        Order running = other.claim(wanted, "a", 3, DEADLINE).orElseThrow();
        assertThat(running.state()).isEqualTo(State.RUNNING);
        assertThat(running.executor()).isEqualTo("a");
        assertThat(running.incarnation()).isEqualTo(3);
        Order half = other.progress(running, 5, 10, "bytes moved", DEADLINE).orElseThrow();
        Order done = other.finish(half, null, DEADLINE).orElseThrow();
        assertThat(orders.list(DEADLINE)).containsExactly(done);
        assertThat(done.state()).isEqualTo(State.DONE);
        assertThat(done.done()).isEqualTo(5);
        assertThat(done.note()).isEqualTo("bytes moved");
    }

    @Test
    void oneOfManyNodesThatClaimAnOrderGetsIt() throws InterruptedException, ExecutionException {
        Order wanted = orders.rebalance(DEADLINE);
        List<Optional<Order>> claims = new ArrayList<>();
        try (ExecutorService racers = Executors.newFixedThreadPool(RACERS)) {
            List<Future<Optional<Order>>> racing = new ArrayList<>();
            for (int racer = 0; racer < RACERS; racer++) {
                String name = "node-" + racer;
                Orders mine = new Orders(open());
                racing.add(racers.submit(() -> mine.claim(wanted, name, 1, DEADLINE)));
            }
            for (Future<Optional<Order>> claim : racing) {
                claims.add(claim.get());
            }
        }

        assertThat(claims.stream().filter(Optional::isPresent)).hasSize(1);
        Order got = claims.stream().flatMap(Optional::stream).findFirst().orElseThrow();
        assertThat(orders.find(wanted.id(), DEADLINE)).contains(got);
    }

    @Test
    void anOrderOfALostExecutorIsClaimedAgainAndTheOldExecutorIsNotified() {
        Order wanted = orders.move("data", "b", DEADLINE);
        Order first = orders.claim(wanted, "a", 1, DEADLINE).orElseThrow();

        Order second = orders.claim(first, "b", 1, DEADLINE).orElseThrow();

        assertThat(second.executor()).isEqualTo("b");
        assertThat(orders.progress(first, 1, 2, "", DEADLINE)).isEmpty();
        assertThat(orders.finish(first, null, DEADLINE)).isEmpty();
        assertThat(orders.find(wanted.id(), DEADLINE)).contains(second);
    }

    @Test
    void submittingAnOrderAgainReturnsTheOpenOrder() {
        Order first = orders.drain("a", true, DEADLINE);
        assertThat(orders.drain("a", true, DEADLINE)).isEqualTo(first);
        assertThat(orders.drain("b", true, DEADLINE).id()).isEqualTo(first.id() + 1);

        Order running = orders.claim(first, "a", 1, DEADLINE).orElseThrow();
        assertThat(orders.drain("a", true, DEADLINE)).isEqualTo(running);
        orders.finish(running, null, DEADLINE);

        assertThat(orders.drain("a", true, DEADLINE).id()).isEqualTo(first.id() + 2);
    }

    @Test
    void aDrainOrderMarksItsNodeUntilItFailsOrIsUndrained() {
        Order drain = orders.drain("a", false, DEADLINE);
        assertThat(orders.read(DEADLINE).draining()).containsExactly("a");
        Order running = orders.claim(drain, "a", 1, DEADLINE).orElseThrow();
        orders.finish(running, "no room", DEADLINE);
        assertThat(orders.read(DEADLINE).draining()).isEmpty();

        Order second = orders.drain("a", false, DEADLINE);
        Order secondRuns = orders.claim(second, "a", 1, DEADLINE).orElseThrow();
        Order undrained = orders.undrain("a", DEADLINE);

        assertThat(undrained.state()).isEqualTo(State.DONE);
        assertThat(orders.read(DEADLINE).draining()).isEmpty();
        assertThat(orders.find(second.id(), DEADLINE).orElseThrow().state()).isEqualTo(State.FAILED);
        assertThat(orders.finish(secondRuns, null, DEADLINE)).isEmpty();

        Order third = orders.drain("a", false, DEADLINE);
        orders.finish(orders.claim(third, "a", 1, DEADLINE).orElseThrow(), null, DEADLINE);
        assertThat(orders.read(DEADLINE).draining()).containsExactly("a");
        orders.unmark("a", DEADLINE);
        assertThat(orders.read(DEADLINE).draining()).isEmpty();
    }

    @Test
    void aFailedDrainLeavesTheMarkForAnotherOneThatIsOpen() {
        Order stay = orders.claim(orders.drain("a", false, DEADLINE), "a", 1, DEADLINE)
                .orElseThrow();
        Order leave = orders.claim(orders.drain("a", true, DEADLINE), "a", 1, DEADLINE)
                .orElseThrow();

        assertThat(orders.finish(stay, "no room", DEADLINE)).isPresent();
        assertThat(orders.read(DEADLINE).draining()).containsExactly("a");

        assertThat(orders.finish(leave, "no room", DEADLINE)).isPresent();
        assertThat(orders.read(DEADLINE).draining()).isEmpty();
    }

    @Test
    void aRepeatedEndOfAFailedDrainDoesNotUnmarkTheNodeForTheNextOne() {
        Order failed = orders.claim(orders.drain("a", false, DEADLINE), "a", 1, DEADLINE)
                .orElseThrow();
        assertThat(orders.finish(failed, "no room", DEADLINE)).isPresent();
        orders.drain("a", false, DEADLINE);

        assertThat(orders.finish(failed, "no room", DEADLINE)).isPresent();
        assertThat(orders.read(DEADLINE).draining()).containsExactly("a");
    }

    @Test
    void aCancelledOrderEndsAndItsExecutorIsNotified() {
        Order wanted = orders.move("data", "b", DEADLINE);
        Order running =
                orders.claim(orders.rebalance(DEADLINE), "a", 1, DEADLINE).orElseThrow();
        Order half = orders.progress(running, 3, 0, "LMRs moved", DEADLINE).orElseThrow();

        Order cancelled = orders.cancel(wanted.id(), DEADLINE).orElseThrow();
        Order stopped = orders.cancel(half.id(), DEADLINE).orElseThrow();

        assertThat(cancelled.state()).isEqualTo(State.FAILED);
        assertThat(cancelled.note()).isEqualTo(Orders.CANCELLED);
        assertThat(orders.claim(wanted, "a", 1, DEADLINE)).isEmpty();
        assertThat(stopped.done()).isEqualTo(3);
        assertThat(orders.progress(half, 4, 0, "LMRs moved", DEADLINE)).isEmpty();
        assertThat(orders.finish(half, null, DEADLINE)).isEmpty();
        assertThat(orders.list(DEADLINE)).containsExactly(cancelled, stopped);
        assertThat(orders.cancel(half.id(), DEADLINE)).contains(stopped);
        assertThat(orders.cancel(4711, DEADLINE)).isEmpty();
        Order done = orders.undrain("a", DEADLINE);
        assertThat(orders.cancel(done.id(), DEADLINE)).contains(done);
    }

    @Test
    void aNodeIsUsedAgainWhenItsLastDrainIsCancelled() {
        Order stays = orders.drain("a", false, DEADLINE);
        Order leaves = orders.drain("a", true, DEADLINE);

        orders.cancel(stays.id(), DEADLINE);
        assertThat(orders.read(DEADLINE).draining()).containsExactly("a");

        orders.cancel(leaves.id(), DEADLINE);
        assertThat(orders.read(DEADLINE).draining()).isEmpty();
    }

    @Test
    void onlyLiveNodesCanBeDrainedOrMovedTo() {
        assertThatThrownBy(() -> orders.drain("nobody", true, DEADLINE))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessageContaining("nobody")
                .hasMessageContaining("[a, b]");
        assertThatThrownBy(() -> orders.move("data", "nobody", DEADLINE)).isInstanceOf(NodeUnreachableException.class);
        assertThat(orders.read(DEADLINE)).isEqualTo(OrderBook.EMPTY);
    }

    @Test
    void openAndEndedOrdersAreBounded() {
        for (int number = 0; number < Orders.OPEN_MAX; number++) {
            orders.move("\"data\" ".repeat(40) + number, "b", DEADLINE);
        }
        assertThatThrownBy(() -> orders.move("one more", "b", DEADLINE))
                .isInstanceOf(LimitExceededException.class)
                .hasMessageContaining("64 orders are open");

        for (Order open : orders.list(DEADLINE)) {
            Order running = orders.claim(open, "a", 1, DEADLINE).orElseThrow();
            orders.finish(running, "\u2029".repeat(4000), DEADLINE);
        }
        for (int number = 0; number < 3; number++) {
            Order open = orders.move("later " + number, "b", DEADLINE);
            orders.finish(orders.claim(open, "a", 1, DEADLINE).orElseThrow(), null, DEADLINE);
        }

        List<Order> kept = orders.list(DEADLINE);
        assertThat(kept).hasSize(Orders.ENDED_KEPT);
        assertThat(kept.getLast().subject()).isEqualTo("later 2");
        assertThat(kept.getFirst().id()).isEqualTo(4);
        assertThat(kept.getFirst().note()).hasSize(Order.NOTE_CHARS_MAX);
    }

    @Test
    void anOrderThatEndsAfterManyYoungerOnesIsKept() {
        Order wanted = orders.drain("a", false, DEADLINE);
        Order drain = orders.claim(wanted, "a", 1, DEADLINE).orElseThrow();
        Order cancelled = orders.move("data", "b", DEADLINE);
        for (int number = 0; number < Orders.ENDED_KEPT; number++) {
            endAMove(number);
        }

        orders.finish(drain, null, DEADLINE);
        orders.cancel(cancelled.id(), DEADLINE);
        endAMove(Orders.ENDED_KEPT);

        assertThat(orders.find(drain.id(), DEADLINE).orElseThrow().state()).isEqualTo(State.DONE);
        assertThat(orders.find(cancelled.id(), DEADLINE).orElseThrow().note()).isEqualTo(Orders.CANCELLED);
        assertThat(orders.list(DEADLINE))
                .hasSize(Orders.ENDED_KEPT)
                .extracting(Order::id)
                .startsWith(drain.id(), cancelled.id())
                .isSorted();
    }

    @Test
    void aDrainThatIsUndrainedAfterManyYoungerOrdersIsKept() {
        Order drain = orders.drain("a", false, DEADLINE);
        for (int number = 0; number < Orders.ENDED_KEPT; number++) {
            endAMove(number);
        }

        Order undrained = orders.undrain("a", DEADLINE);

        assertThat(undrained.kind()).isEqualTo(Kind.UNDRAIN);
        assertThat(orders.find(drain.id(), DEADLINE).orElseThrow().state()).isEqualTo(State.FAILED);
    }

    private void endAMove(int number) {
        Order open = orders.move("moved " + number, "b", DEADLINE);
        orders.finish(orders.claim(open, "a", 1, DEADLINE).orElseThrow(), null, DEADLINE);
    }

    @Test
    void aWatcherIsNotifiedOfOtherSessionsOrdersEvenAfterAnOutage() {
        AtomicInteger notifications = new AtomicInteger();
        orders.watch(notifications::incrementAndGet);
        Waits.until("the watcher is notified once", () -> notifications.get() > 0);
        Orders other = new Orders(open());

        Set<Integer> counts = new HashSet<>();
        for (int number = 0; number < 3; number++) {
            int before = notifications.get();
            counts.add(before);
            other.move("data " + number, "b", DEADLINE);
            Waits.until("the watcher is notified of the order", () -> notifications.get() > before);
        }
        assertThat(counts).hasSize(3);

        stopDirectory();
        assertThatThrownBy(() -> orders.rebalance(Waits.seconds(2))).isInstanceOf(ClusterUnavailableException.class);
        startDirectory();
        Waits.until("the directory is available again", directory::isAvailable);
        Waits.until("the other session works again", () -> isSubmitted(other));
        int before = notifications.get();
        other.move("after", "b", DEADLINE);
        Waits.until("the watcher is notified of the order", () -> notifications.get() > before);
    }

    private static boolean isSubmitted(Orders orders) {
        try {
            return orders.rebalance(DEADLINE).id() > 0;
        } catch (ClusterUnavailableException e) {
            return false;
        }
    }
}
