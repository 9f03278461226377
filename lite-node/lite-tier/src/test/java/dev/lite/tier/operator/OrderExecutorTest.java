package dev.lite.tier.operator;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.DirectoryListener;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.cluster.NodeRecord;
import dev.lite.cluster.Order;
import dev.lite.cluster.Order.State;
import dev.lite.cluster.Orders;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import dev.lite.tier.lmr.DrainMarks;
import dev.lite.tier.testing.HeldNews;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Executors of several nodes that have nothing but a directory. */
class OrderExecutorTest {
    private static final Duration SOON = Waits.seconds(20);

    private final InMemoryDirectory.Store store = new InMemoryDirectory.Store();
    private final List<Node> nodes = new ArrayList<>();
    private final AtomicInteger begun = new AtomicInteger();
    private final InMemoryDirectory reader = store.open();
    private final Orders orders = new Orders(reader);

    /** What the nodes do for an order to move. */
    private Runnable action = () -> {};

    /** What they do for an order to move while it is wanted. */
    private Consumer<BooleanSupplier> moving = wanted -> {};

    /** What they do for an order to drain; returns the reason of a failure. */
    private Function<Drain.Progress, @Nullable String> draining = progress -> "not in this test";

    /** What they do for an order to rebalance; returns whether all of it was done. */
    private Predicate<Drain.Progress> reporting = progress -> true;

    /** A node that acknowledges every epoch. */
    private final class Node implements AutoCloseable {
        final InMemoryDirectory directory = store.open();
        final HeldNews news = new HeldNews(directory);
        final AtomicReference<NodeRecord> registration;
        final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        final DrainMarks marks = new DrainMarks();
        final OrderExecutor executor;

        Node(String name) {
            registration = new AtomicReference<>(
                    directory.register(new NodeAdvert(name, NodeAdvert.NO_ID, "host", 1 << 20, Map.of()), SOON));
            directory.addListener(new DirectoryListener() {
                @Override
                public void registeredAgain(NodeRecord again) {
                    registration.set(again);
                }
            });
            executor = new OrderExecutor(registration::get, news, marks, new Counting(), threads);
            executor.start();
        }

        void acknowledge() {
            boolean unused = directory.acknowledge(
                    registration.get(), directory.epochNow(SOON).number(), SOON);
        }

        void rejoin() {
            long before = registration.get().incarnation();
            directory.expireSession();
            Waits.until("it is registered again", () -> registration.get().incarnation() > before);
            nodes.forEach(Node::acknowledge);
        }

        @Override
        public void close() {
            directory.close(); // first, so that nothing is recorded any more
            executor.close();
            threads.shutdownNow();
        }
    }

    private final class Counting implements OrderExecutor.Actions {
        @Override
        public @Nullable String drain(boolean leaving, Drain.Progress progress, Deadline deadline) {
            begun.incrementAndGet();
            return draining.apply(progress);
        }

        @Override
        public @Nullable String move(@Nullable String name, long id, String node, BooleanSupplier wanted) {
            begun.incrementAndGet();
            action.run();
            moving.accept(wanted);
            return null;
        }

        @Override
        public @Nullable String freeOrphans(Drain.Progress progress) {
            return "not in this test";
        }

        @Override
        public @Nullable String rebalance(Drain.Progress progress) {
            begun.incrementAndGet();
            return reporting.test(progress) ? null : "it was taken back";
        }
    }

    private void start(int count) {
        for (int index = 0; index < count; index++) {
            nodes.add(new Node("n" + index));
        }
    }

    @AfterEach
    void close() {
        nodes.forEach(Node::close);
        reader.close();
    }

    private Order find(Order order) {
        return orders.find(order.id(), SOON).orElseThrow();
    }

    private Node executing(Order order) {
        return nodes.stream()
                .filter(node ->
                        node.registration.get().name().equals(find(order).executor()))
                .findFirst()
                .orElseThrow();
    }

    private void awaitEnd(List<Order> of) {
        Waits.until(
                "the orders end",
                () -> of.stream().allMatch(order -> find(order).state().isFinal()));
        assertThat(of).allSatisfy(order -> assertThat(find(order).state()).isEqualTo(State.DONE));
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(SOON.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** All nodes of a cluster may end at the same time. A move to one that has left would wait for its return. */
    @Test
    void aNodeThatLeavesGivesUpItsDrainWhenAllOthersHaveLeft() {
        start(2);
        Node leaving = nodes.getFirst();
        CountDownLatch end = new CountDownLatch(1);
        draining = progress -> {
            await(end);
            return "ended";
        };
        CompletableFuture<@Nullable String> drain = CompletableFuture.supplyAsync(
                () -> leaving.executor.drainToLeave(Duration.ofHours(1)), leaving.threads);
        Waits.until("it drains", () -> begun.get() == 1);
        assertThat(drain).isNotDone();

        nodes.getLast().directory.close();

        assertThat(drain).succeedsWithin(SOON).isEqualTo("no other live node takes memory");
        end.countDown();
        Order order = orders.list(SOON).getFirst();
        Waits.until("the order to drain has ended", () -> find(order).state().isFinal());
        assertThat(find(order).note()).isEqualTo("cancelled");
    }

    @Test
    void nodesThatLostAndRegainedTheirSessionsExecuteEachOrderOnce() {
        start(3);
        nodes.forEach(Node::rejoin);
        CountDownLatch end = new CountDownLatch(1);
        action = () -> await(end);
        List<Order> moves = new ArrayList<>();
        for (int index = 0; index < 7; index++) {
            moves.add(orders.move("lmr-" + index, "n0", SOON));
        }
        Waits.until(
                "all are claimed",
                () -> moves.stream().allMatch(move -> find(move).state() == State.RUNNING));
        orders.undrain("n0", SOON); // notifies every node of a change, after which it checks all orders
        Waits.until("all are begun", () -> begun.get() >= moves.size());
        nodes.getFirst().rejoin();
        orders.undrain("n1", SOON);
        end.countDown();

        awaitEnd(moves);
        assertThat(begun.get()).isEqualTo(moves.size());
    }

    @Test
    void anOrderIsNotTakenFromANodeWhoseLastRegistrationIsNotFencedYet() {
        start(2);
        CountDownLatch end = new CountDownLatch(1);
        action = () -> await(end);
        Order move = orders.move("lmr", "n0", SOON);
        Waits.until("it is begun", () -> begun.get() == 1);
        Node executing = executing(move);
        executing.rejoin(); // its claim names the registration before
        action = () -> {};

        nodes.remove(executing);
        executing.close();
        orders.undrain("n0", SOON); // notifies every node of a change, after which it checks all orders
        Waits.pass(Duration.ofMillis(200)); // the other node checks
        assertThat(begun).hasValue(1);
        nodes.forEach(Node::acknowledge);

        awaitEnd(List.of(move));
        assertThat(begun).hasValue(2);
    }

    @Test
    void anOrderOfANodeThatIsGoneIsClaimedByAnother() {
        start(2);
        CountDownLatch end = new CountDownLatch(1);
        action = () -> await(end);
        Order move = orders.move("lmr", "n0", SOON);
        Waits.until("it is begun", () -> begun.get() == 1);
        Node executing = executing(move);
        action = () -> {};

        nodes.remove(executing);
        executing.close();
        nodes.forEach(Node::acknowledge);

        awaitEnd(List.of(move));
        assertThat(begun.get()).isEqualTo(2);
    }

    @Test
    void anExecutorWhoseProgressWasRecordedButNotAnsweredContinues() {
        start(1);
        Node node = nodes.getFirst();
        AtomicInteger refused = new AtomicInteger();
        reporting = progress -> {
            node.news.loseNextAnswer();
            for (int done = 1; done <= 3; done++) {
                if (!progress.report(done, 3, "steps")) {
                    refused.incrementAndGet();
                    return false;
                }
            }
            return true;
        };

        Order order = orders.rebalance(SOON);

        awaitEnd(List.of(order));
        assertThat(refused).hasValue(0);
        assertThat(begun).hasValue(1);
        assertThat(find(order).done()).isEqualTo(3);
    }

    @Test
    void anOrderIsNotRepeatedWhenItsEndCannotBeRecordedForAWhile() {
        start(1);
        Node node = nodes.getFirst();
        CountDownLatch away = new CountDownLatch(1);
        action = () -> {
            node.directory.setAvailable(false);
            away.countDown();
        };
        Order move = orders.move("lmr", "n0", SOON);
        await(away);
        Waits.pass(Duration.ofMillis(200)); // the executor meets the absence

        node.directory.setAvailable(true);

        awaitEnd(List.of(move));
        assertThat(begun).hasValue(1);
    }

    @Test
    void anOrderWhoseEndWasRecordedButNotAnsweredIsDone() {
        start(1);
        Node node = nodes.getFirst();
        action = node.news::loseNextAnswer;

        Order move = orders.move("lmr", "n0", SOON);

        awaitEnd(List.of(move));
        assertThat(begun).hasValue(1);
    }

    @Test
    void aMoveLearnsThatItsOrderWasCancelledAndTheNextOneIsDone() {
        start(2);
        moving = wanted -> Waits.until("it is no longer wanted", () -> !wanted.getAsBoolean());
        Order move = orders.move("lmr", "n0", SOON);
        Waits.until("it is begun", () -> begun.get() == 1);

        assertThat(orders.cancel(move.id(), SOON).orElseThrow().state()).isEqualTo(State.FAILED);

        moving = wanted -> {};
        awaitEnd(List.of(orders.move("lmr", "n0", SOON)));
        assertThat(find(move).note()).isEqualTo(Orders.CANCELLED);
    }

    @Test
    void aNodeThatWasKilledBeforeItBeganToDrainForItsEndIsUsedAgain() {
        start(1);
        InMemoryDirectory former = store.open();
        NodeRecord killed = former.register(new NodeAdvert("n1", NodeAdvert.NO_ID, "host", 1 << 20, Map.of()), SOON);
        OrderExecutor stuck = new OrderExecutor(() -> killed, former, new DrainMarks(), new Counting(), Runnable::run);
        // Its thread never begins the order.
        Thread leaving = Thread.startVirtualThread(() -> stuck.drainToLeave(SOON));
        Waits.until("it is recorded", () -> !orders.list(SOON).isEmpty());
        Order drain = orders.list(SOON).getFirst();
        former.close();
        leaving.interrupt();

        nodes.add(new Node("n1"));

        Waits.until("it ends", () -> find(drain).state().isFinal());
        assertThat(find(drain).note()).isEqualTo("the node was started again before it was empty");
        assertThat(orders.read(SOON).draining()).isEmpty();
        assertThat(begun).hasValue(0);
    }

    @Test
    void aNodeWhoseDrainWasCancelledAtItsEndDoesNotLeave() {
        start(1);
        Node node = nodes.getFirst();
        AtomicInteger left = new AtomicInteger();
        node.executor.onLeave(left::incrementAndGet);
        draining = progress -> {
            orders.cancel(orders.list(SOON).getFirst().id(), SOON);
            return null; // it was empty before it noticed
        };

        Order drain = orders.drain("n0", true, SOON);

        Waits.until("it ends", () -> find(drain).state().isFinal());
        awaitEnd(List.of(orders.move("lmr", "n0", SOON))); // the executor continues
        assertThat(find(drain).note()).isEqualTo(Orders.CANCELLED);
        assertThat(orders.read(SOON).draining()).isEmpty();
        Waits.pass(Duration.ofMillis(100)); // leaving would begin now
        assertThat(left).hasValue(0);
    }

    @Test
    void theEndOfACancelledDrainDoesNotOpenTheNodeThatTheNextOneDrains() {
        start(1);
        Node node = nodes.getFirst();
        CountDownLatch firstEnds = new CountDownLatch(1);
        CountDownLatch secondEnds = new CountDownLatch(1);
        AtomicInteger drains = new AtomicInteger();
        draining = progress -> {
            boolean first = drains.incrementAndGet() == 1;
            await(first ? firstEnds : secondEnds);
            return first ? "it was cancelled" : null;
        };
        Order first = orders.drain("n0", false, SOON);
        Waits.until("the first one runs", () -> drains.get() == 1);
        assertThat(orders.cancel(first.id(), SOON)).isPresent();
        Order second = orders.drain("n0", false, SOON);
        awaitEnd(List.of(orders.move("lmr", "n0", SOON))); // the executor has seen the second one
        assertThat(drains).as("drains of one node at a time").hasValue(1);

        firstEnds.countDown();

        Waits.until("the second one runs", () -> drains.get() == 2);
        assertThat(node.marks.isClosed()).isTrue();
        secondEnds.countDown();
        awaitEnd(List.of(second));
        assertThat(node.marks.isClosed()).isTrue();
    }

    @Test
    void anErrorEndsItsOrderAsFailedAndTheNextOneIsDone() {
        start(1);
        action = () -> {
            throw new StackOverflowError("a defect");
        };
        Order failing = orders.move("lmr", "n0", SOON);
        Waits.until("it ends", () -> find(failing).state() == State.FAILED);
        assertThat(find(failing).note()).contains("a defect");

        action = () -> {};
        awaitEnd(List.of(orders.move("lmr", "n0", SOON)));
    }
}
