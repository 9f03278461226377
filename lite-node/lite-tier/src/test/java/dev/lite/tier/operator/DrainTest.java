package dev.lite.tier.operator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Extent;
import dev.lite.api.HeldLock;
import dev.lite.api.Lifetime;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.Order;
import dev.lite.cluster.Order.State;
import dev.lite.cluster.Orders;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.testing.HeldNews;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Draining a node: its LMRs and locks move to other nodes, and their users do not notice. */
class DrainTest {
    private static final int SIZE = 300_000;
    private static final Permission[] DATA = {Permission.READ, Permission.WRITE, Permission.ATOMIC};
    private static final Duration LONG = Waits.seconds(20);

    @TempDir(factory = InDevShm.class)
    Path root;

    private final long seed = Long.getLong("lite.test.seed", System.nanoTime());

    private FabricProvider provider(String fabric) {
        System.out.println("seed " + seed);
        return switch (fabric) {
            case "shm" -> new ShmFabricProvider();
            case "tcp" -> new TcpFabricProvider();
            default -> new SimulatedNetwork(SimulatedOptions.seeded(seed)).provider();
        };
    }

    private byte[] content(int salt) {
        byte[] bytes = new byte[SIZE];
        new Random(seed + salt).nextBytes(bytes);
        Arrays.fill(bytes, 0, 8, (byte) 0);
        return bytes;
    }

    private static byte[] all(LmrHandle handle) {
        byte[] bytes = new byte[(int) handle.size()];
        handle.read(0, bytes);
        return bytes;
    }

    private static LmrSpec named(String name, Placement placement) {
        return named(name, placement, SIZE);
    }

    private static LmrSpec named(String name, Placement placement, long size) {
        return LmrSpec.of(size).withName(name).withPlacement(placement).withDefaultPermissions(DATA);
    }

    private static LmrSpec anonymous(Placement placement) {
        return LmrSpec.of(SIZE)
                .withPlacement(placement)
                .withDefaultPermissions(DATA)
                .withLifetime(Lifetime.UNTIL_FREED);
    }

    /** Adds to word 0 of an LMR repeatedly; no addition may fail. */
    private static final class Adder {
        final AtomicLong added = new AtomicLong();
        final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        private final AtomicBoolean stop = new AtomicBoolean();
        private final Thread thread;

        Adder(LmrHandle handle) {
            thread = Thread.ofPlatform().start(() -> {
                try {
                    while (!stop.get()) {
                        handle.fetchAdd(0, 1);
                        added.incrementAndGet();
                    }
                } catch (Throwable e) {
                    failure.set(e);
                }
            });
        }

        long end() {
            stop.set(true);
            Waits.join(thread);
            assertThat(failure.get()).isNull();
            return added.get();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"simulated", "shm", "tcp"})
    void aDrainedNodeIsEmptyAndItsUsersDoNotNotice(String fabric) {
        try (TestCluster cluster = new TestCluster(root, provider(fabric)).start(3)) {
            List<LmrHandle> made = new ArrayList<>();
            made.add(cluster.attach(0).memory().malloc(named("there", Placement.on("n1"))));
            made.add(cluster.attach(1).memory().malloc(named("everywhere", Placement.spread())));
            made.add(cluster.attach(0).memory().malloc(anonymous(Placement.on("n1"))));
            made.add(cluster.attach(2).memory().malloc(named("not there", Placement.on("n0"))));
            List<Adder> adders = new ArrayList<>();
            for (int index = 0; index < made.size(); index++) {
                made.get(index).write(0, content(index));
                adders.add(new Adder(made.get(index)));
            }
            LmrHandle mapped = cluster.attach(2).memory().map("there", DATA[0], DATA);
            adders.add(new Adder(mapped));
            LmrHandle endsWithItsNode = cluster.attach(1).memory().malloc(anonymous(Placement.local()));
            assertThat(cluster.node(1).figures().lmrBytes()).isGreaterThan(3L * SIZE);
            Waits.until("all add", () -> adders.stream().allMatch(adder -> adder.added.get() > 10));
            List<Extent> before = made.get(3).extents();

            assertThat(cluster.node(1).drain(LONG)).isEmpty();

            assertThat(cluster.node(1).isDraining()).isTrue();
            assertThat(cluster.node(1).figures().lmrBytes()).isBetween((long) SIZE, SIZE + 4096L);
            long[] sums = adders.stream().mapToLong(Adder::end).toArray();
            sums[0] += sums[4];
            for (int index = 0; index < made.size(); index++) {
                LmrHandle handle = made.get(index);
                assertThat(handle.extents()).extracting(Extent::node).doesNotContain("n1");
                assertThat(handle.fetchAdd(0, -sums[index])).isEqualTo(sums[index]);
                assertThat(Arrays.equals(all(handle), content(index))).isTrue();
            }
            assertThat(made.get(1).extents()).extracting(Extent::node).contains("n0", "n2");
            assertThat(made.get(3).extents()).isEqualTo(before);
            assertThat(all(endsWithItsNode)).containsOnly(0);

            cluster.stop("n1");
            assertThat(mapped.fetchAdd(0, 1)).isZero();
            LmrHandle everywhere = cluster.attach(2).memory().map("everywhere", DATA[0], DATA);
            assertThat(Arrays.equals(all(everywhere), content(1))).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"simulated", "shm", "tcp"})
    void locksOfADrainedNodeContinueAtAnotherNode(String fabric) {
        try (TestCluster cluster = new TestCluster(root, provider(fabric)).start(3)) {
            cluster.attach(1).sync().lock("l").acquire(LONG).close(); // so its home is n1
            assertThat(cluster.node(1).figures().lmrBytes()).isPositive();
            long[] counted = new long[2]; // guarded by the lock: number of holds, last token
            AtomicBoolean stop = new AtomicBoolean();
            AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
            AtomicLong holds = new AtomicLong();
            List<Thread> threads = new ArrayList<>();
            for (int index = 0; index < 4; index++) {
                LtLock lock = cluster.attach(index % 3).sync().lock("l");
                threads.add(Thread.ofPlatform().start(() -> {
                    try {
                        while (!stop.get()) {
                            try (HeldLock held = lock.acquire(LONG)) {
                                counted[0]++;
                                assertThat(held.fencingToken()).isGreaterThan(counted[1]);
                                counted[1] = held.fencingToken();
                            }
                            holds.incrementAndGet();
                        }
                    } catch (Throwable e) {
                        failure.set(e);
                    }
                }));
            }
            Waits.until("the lock is used", () -> holds.get() > 50);

            assertThat(cluster.node(1).drain(LONG)).isEmpty();

            assertThat(cluster.node(1).figures().lmrBytes()).isZero();
            long then = holds.get();
            Waits.until("the lock is still used", () -> failure.get() != null || holds.get() > then + 50);
            stop.set(true);
            threads.forEach(Waits::join);
            assertThat(failure.get()).isNull();
            assertThat(counted[0]).isEqualTo(holds.get());
            cluster.stop("n1");
            try (HeldLock held = cluster.attach(2).sync().lock("l").acquire(LONG)) {
                assertThat(held.fencingToken()).isGreaterThan(counted[1]);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"simulated", "tcp"})
    void waitersForALockOrBarrierMoveToItsNewHome(String fabric) {
        try (TestCluster cluster = new TestCluster(root, provider(fabric)).start(3)) {
            LtLock atHome = cluster.attach(1).sync().lock("l");
            HeldLock held = cluster.attach(0).sync().lock("l").acquire(LONG);
            CompletableFuture<Long> waiting = onThread(() -> {
                try (HeldLock next = cluster.attach(2).sync().lock("l").acquire(LONG)) {
                    return next.fencingToken();
                }
            });
            LtBarrier ofHome = cluster.attach(1).sync().barrier("b", 2);
            CompletableFuture<Long> first =
                    onThread(() -> cluster.attach(2).sync().barrier("b", 2).await(LONG));
            Waits.until("both wait", () -> cluster.node(2).figures().syncStats().waits() > 0);
            assertThat(atHome.tryAcquire()).isEmpty();

            assertThat(cluster.node(1).drain(LONG)).isEmpty();

            assertThat(cluster.node(1).figures().lmrBytes()).isZero();
            assertThat(waiting).isNotDone();
            assertThat(first).isNotDone();
            assertThat(held.isHeld()).isTrue();
            held.close();
            assertThat(waiting.join()).isGreaterThan(held.fencingToken());
            assertThat(ofHome.await(LONG)).isEqualTo(first.join());
        }
    }

    /** Waiters only report to the home, and that does not know them any more. */
    @Test
    void aPartyFindsItsBarrierIfTheHomeLosesTheLastAnswerOfItsMove() {
        try (TestCluster cluster = new TestCluster(root, provider("simulated"))) {
            HeldNews.Started home = startWithNews(cluster);
            LtBarrier unused = home.node().attach("app").sync().barrier("b", 2);
            LtBarrier mapped = cluster.attach(1).sync().barrier("b", 2);
            loseLastAnswerOfMove(home.news(), "barrier/b", 1);

            Optional<String> unusedReason = home.node().drain(LONG);
            CompletableFuture<Long> first = onThread(() -> mapped.await(LONG));
            CompletableFuture<Long> second =
                    onThread(() -> cluster.attach(2).sync().barrier("b", 2).await(LONG));

            assertThat(first.join()).isEqualTo(second.join());
        }
    }

    @Test
    void aThreadThatWaitsForALockGetsItIfTheHomeLosesTheLastAnswerOfItsMove() {
        try (TestCluster cluster = new TestCluster(root, provider("simulated"))) {
            HeldNews.Started home = startWithNews(cluster);
            LtLock unused = home.node().attach("app").sync().lock("l");
            HeldLock held = cluster.attach(1).sync().lock("l").acquire(LONG);
            CompletableFuture<Long> waiting = onThread(() -> {
                try (HeldLock next = cluster.attach(2).sync().lock("l").acquire(LONG)) {
                    return next.fencingToken();
                }
            });
            Waits.until("it waits", () -> cluster.node(2).figures().syncStats().waits() > 0);
            loseLastAnswerOfMove(home.news(), "lock/l", 1);

            Optional<String> unusedReason = home.node().drain(LONG);
            held.close();

            assertThat(waiting.join()).isGreaterThan(held.fencingToken());
        }
    }

    private static HeldNews.Started startWithNews(TestCluster cluster) {
        HeldNews.Started home = HeldNews.start(cluster, cluster.config("n0"));
        cluster.start("n1");
        cluster.start("n2");
        cluster.awaitConnections();
        return home;
    }

    /** Else it opens rounds that the new home does not know. */
    @Test
    void aHomeThatDoesNotKnowWhetherABarrierHasMovedDoesNotServeIt() {
        try (TestCluster cluster = new TestCluster(root, provider("simulated"))) {
            HeldNews.Started home = startWithNews(cluster);
            LtBarrier atHome = home.node().attach("app").sync().barrier("b", 2);
            loseLastAnswerOfMove(home.news(), "barrier/b", Integer.MAX_VALUE);
            CompletableFuture<Optional<String>> drain =
                    onThread(() -> home.node().drain(LONG));
            Waits.until("it has moved", () -> isElsewhere(cluster, "barrier/b"));
            Waits.until("the home has tried to find that out", () -> home.news().failedReads() > 5);

            CompletableFuture<Long> first = onThread(() -> atHome.await(LONG));
            CompletableFuture<Long> second = onThread(() -> atHome.await(LONG));
            Waits.pass(Waits.seconds(0.3));
            home.news().failNextReads("", 0);

            assertThat(first.join()).isEqualTo(second.join());
            LtBarrier one = cluster.attach(1).sync().barrier("b", 2);
            CompletableFuture<Long> third = onThread(() -> one.await(LONG));
            assertThat(cluster.attach(2).sync().barrier("b", 2).await(LONG))
                    .isEqualTo(third.join())
                    .isGreaterThan(first.join());
            Optional<String> unused = drain.join();
        }
    }

    private static boolean isElsewhere(TestCluster cluster, String word) {
        LmrRecord record = LmrRecord.decode(cluster.directory(1)
                .read(ClusterDirectory.INTERNAL_PREFIX + word, LONG)
                .orElseThrow()
                .bytes());
        return record.move() == null && record.shares().getFirst().node() != 0;
    }

    /** The connection is lost when the move of a word ends, and is back after some reads of its record. */
    private static void loseLastAnswerOfMove(HeldNews news, String word, int lostReads) {
        String record = ClusterDirectory.INTERNAL_PREFIX + word;
        Runnable atEnd = () -> {
            news.loseNextAnswer();
            news.failNextReads(record, lostReads);
        };
        news.beforeChange(record, () -> news.beforeChange(record, atEnd)); // the first change begins the move
    }

    /** Else it would send its users away until the node's restart. */
    @Test
    void aNodeThatFailsToLeaveABarrierStaysItsHome() {
        try (TestCluster cluster = new TestCluster(root, provider("shm")).start(2)) {
            Orders orders = new Orders(cluster.directory(0));
            LtBarrier atHome = cluster.attach(1).sync().barrier("b", 2);
            LtBarrier other = cluster.attach(0).sync().barrier("b", 2);
            CompletableFuture<Long> first = onThread(() -> other.await(LONG));
            assertThat(atHome.await(LONG)).isEqualTo(first.join());
            Inside.set(homeOfTheOnlyBarrier(cluster), "notifying", CompletableFuture.failedFuture(failure()));

            Order drain = awaitEnd(orders, orders.drain("n1", false, LONG));

            assertThat(drain.state()).isEqualTo(State.FAILED);
            CompletableFuture<Long> second = onThread(() -> other.await(LONG));
            assertThat(atHome.await(LONG)).isEqualTo(second.join());
        }
    }

    private static RuntimeException failure() {
        return new IllegalStateException("on purpose");
    }

    private static Object homeOfTheOnlyBarrier(TestCluster cluster) {
        Object sync = Inside.field(cluster.node(1), "sync", Object.class);
        Object homes = Inside.field(sync, "homes", Object.class);
        return Objects.requireNonNull(
                Inside.field(homes, "barriers", Map.class).values().iterator().next());
    }

    private static <T> CompletableFuture<T> onThread(Supplier<T> body) {
        return CompletableFuture.supplyAsync(
                body, task -> Thread.ofPlatform().daemon().start(task));
    }

    @Test
    void lmrsWithoutRoomElsewhereStayAndTheReasonReportsTheirSize() {
        try (TestCluster cluster = new TestCluster(root, provider("simulated")).start(2)) {
            LmrHandle big = cluster.attach(1).memory().malloc(named("big", Placement.on("n1"), 12 << 20));
            LmrHandle small = cluster.attach(1).memory().malloc(named("small", Placement.on("n1")));
            cluster.attach(0).memory().malloc(named("full", Placement.on("n0"), 10 << 20));
            big.fetchAdd(0, 7);

            assertThat(cluster.node(1).drain(LONG).orElseThrow())
                    .contains("\"big\"")
                    .contains("12582912")
                    .contains("n0=");

            assertThat(big.fetchAdd(0, 0)).isEqualTo(7);
            assertThat(big.extents()).extracting(Extent::node).containsOnly("n1");
            assertThat(small.extents()).extracting(Extent::node).containsOnly("n0");
            assertThat(cluster.node(1).isDraining()).isFalse();
            // The nodes learn a little after the end of the drain that its mark is gone.
            Waits.until("new LMRs are placed on it again", () -> {
                try (LmrHandle again = cluster.attach(1).memory().malloc(LmrSpec.of(64))) {
                    return again.extents().getFirst().node().equals("n1");
                }
            });
        }
    }

    /** As a preStop hook does; then an operator makes room, and orders it again. */
    @Test
    void aNodeThatCouldNotBeEmptiedBeforeItLeavesObeysTheNextOrderToLeave() {
        try (TestCluster cluster = new TestCluster(root, provider("simulated")).start(2)) {
            LmrHandle big = cluster.attach(1).memory().malloc(named("big", Placement.on("n1"), 12 << 20));
            LmrHandle full = cluster.attach(0).memory().malloc(named("full", Placement.on("n0"), 10 << 20));
            CountDownLatch left = new CountDownLatch(1);
            cluster.node(1).onLeave(left::countDown);
            Duration timeout = Waits.seconds(1);

            assertThat(cluster.node(1).drain(timeout)).isPresent();

            Waits.pass(timeout); // the first drain's deadline must not hold for the next one
            full.free();
            Orders orders = new Orders(cluster.directory(0));
            Order drain = awaitEnd(orders, orders.drain("n1", true, LONG));
            assertThat(drain.state()).as(drain.note()).isEqualTo(State.DONE);
            assertThat(big.extents()).extracting(Extent::node).containsOnly("n0");
            Waits.until("the node leaves", () -> left.getCount() == 0);
        }
    }

    @Test
    void anLmrThatFitsOnNoSingleNodeIsSpreadOverSeveral() {
        try (TestCluster cluster = new TestCluster(root, provider("shm")).start(3)) {
            cluster.attach(0).memory().malloc(named("filler 0", Placement.on("n0"), 8 << 20));
            cluster.attach(2).memory().malloc(named("filler 2", Placement.on("n2"), 8 << 20));
            LmrHandle big = cluster.attach(0).memory().malloc(named("big", Placement.on("n1"), 14 << 20));
            byte[] bytes = new byte[14 << 20];
            new Random(seed).nextBytes(bytes);
            big.write(0, bytes);

            assertThat(cluster.node(1).drain(LONG)).isEmpty();

            assertThat(big.extents())
                    .extracting(Extent::node)
                    .contains("n0", "n2")
                    .doesNotContain("n1");
            assertThat(Arrays.equals(all(big), bytes)).isTrue();
        }
    }

    @Test
    void aSingleNodeCannotBeDrained() {
        try (TestCluster cluster = new TestCluster(root, provider("simulated")).start(1)) {
            LmrHandle made = cluster.attach(0).memory().malloc(named("alone", Placement.local()));

            assertThat(cluster.node(0).drain(LONG)).contains("no other live node takes memory");

            assertThat(made.fetchAdd(0, 1)).isZero();
            assertThat(cluster.attach(0)
                            .memory()
                            .malloc(named("more", Placement.spread()))
                            .fetchAdd(0, 1))
                    .isZero();
        }
    }

    @Test
    void aDrainedNodeThatStaysGetsNoLmrsUntilItIsUndrained() {
        try (TestCluster cluster = new TestCluster(root, provider("simulated")).start(3)) {
            Orders orders = new Orders(cluster.directory(0));
            LmrHandle own = cluster.attach(1).memory().malloc(anonymous(Placement.local()));
            own.write(0, content(1));

            Order drain = awaitEnd(orders, orders.drain("n1", false, LONG));

            assertThat(drain.state()).isEqualTo(State.DONE);
            assertThat(drain.executor()).isEqualTo("n1");
            assertThat(cluster.node(1).figures().lmrBytes()).isZero();
            assertThat(Arrays.equals(all(own), content(1))).isTrue();
            for (int round = 0; round < 4; round++) {
                LmrHandle next = cluster.attach(round % 3).memory().malloc(anonymous(Placement.roundRobin()));
                assertThat(next.extents()).extracting(Extent::node).doesNotContain("n1");
            }
            LmrHandle local = cluster.attach(1).memory().malloc(named("local", Placement.local()));
            assertThat(local.extents()).extracting(Extent::node).doesNotContain("n1");
            LmrHandle spread = cluster.attach(1).memory().malloc(named("spread", Placement.spread()));
            assertThat(spread.extents()).extracting(Extent::node).containsOnly("n0", "n2");
            assertThatThrownBy(() -> cluster.attach(0).memory().malloc(named("on it", Placement.on("n1"))))
                    .isInstanceOf(NodeUnreachableException.class)
                    .hasMessageContaining("drained");

            orders.undrain("n1", LONG);

            Waits.until(
                    "new LMRs are placed on it again", () -> !cluster.node(1).isDraining());
            LmrHandle back = cluster.attach(1).memory().malloc(named("back", Placement.local()));
            assertThat(back.extents()).extracting(Extent::node).containsOnly("n1");
        }
    }

    @Test
    void aNodeThatLeftIsUsedAgainAfterItsRestart() {
        try (TestCluster cluster = new TestCluster(root, provider("simulated")).start(2)) {
            assertThat(cluster.node(1).drain(LONG)).isEmpty();
            cluster.stop("n1");
            cluster.start("n1");
            cluster.awaitConnections();

            Orders orders = new Orders(cluster.directory(0));
            Waits.until("its mark goes", () -> orders.read(LONG).draining().isEmpty());
            // The node learns of it a little later.
            Waits.until("new LMRs are placed on it again", () -> {
                try (LmrHandle made = cluster.attach(1).memory().malloc(anonymous(Placement.local()))) {
                    return made.extents().getFirst().node().equals("n1");
                }
            });
        }
    }

    @Test
    void anOperatorMovesLmrsByNameAndById() {
        try (TestCluster cluster = new TestCluster(root, provider("simulated")).start(3)) {
            Orders orders = new Orders(cluster.directory(2));
            LmrHandle named = cluster.attach(0).memory().malloc(named("data", Placement.on("n0")));
            LmrHandle other = cluster.attach(0).memory().malloc(anonymous(Placement.on("n0")));
            named.write(0, content(1));
            other.write(0, content(2));

            Order first = awaitEnd(orders, orders.move("data", "n1", LONG));
            Order second = awaitEnd(orders, orders.move(other.id(), "n2", LONG));
            Order third = awaitEnd(orders, orders.move("nothing", "n2", LONG));

            assertThat(first.state()).isEqualTo(State.DONE);
            assertThat(named.extents()).extracting(Extent::node).containsOnly("n1");
            assertThat(Arrays.equals(all(named), content(1))).isTrue();
            assertThat(second.state()).isEqualTo(State.DONE);
            assertThat(second.executor()).isEqualTo("n0");
            assertThat(other.extents()).extracting(Extent::node).containsOnly("n2");
            assertThat(Arrays.equals(all(other), content(2))).isTrue();
            assertThat(third.state()).isEqualTo(State.FAILED);
            assertThat(third.note()).contains("nothing");
        }
    }

    /** A node may have lost the answer to an allocation for a move that failed. */
    @Test
    void memoryThatTheRecordOfItsLmrDoesNotHaveDoesNotKeepADrainFromItsEnd() {
        try (TestCluster cluster = new TestCluster(root, provider("simulated")).start(2)) {
            LmrHandle made = cluster.attach(0).memory().malloc(anonymous(Placement.local()));
            ArenaAllocator allocator = Inside.field(cluster.node(1), "allocator", ArenaAllocator.class);
            assertThat(allocator.allocate(made.id(), 4096, 1, 1)).hasSize(1);

            assertThat(cluster.node(1).drain(LONG)).isEmpty();

            assertThat(made.fetchAdd(0, 1)).isZero();
        }
    }

    @Test
    void recordsOfOtherNodesThatCannotBeReadDoNotKeepADrainFromItsEnd() {
        HeldNews[] news = new HeldNews[1];
        try (TestCluster cluster = new TestCluster(root, provider("simulated"))) {
            cluster.start("n0");
            cluster.start(cluster.config("n1"), real -> news[0] = new HeldNews(real));
            cluster.awaitConnections();
            LmrHandle made = cluster.attach(0).memory().malloc(named("data", Placement.on("n1")));
            made.write(0, content(1));
            cluster.attach(0).memory().malloc(named("foreign", Placement.on("n0")));
            assertThat(cluster.directory(0).create("damaged", new byte[] {1, 2, 3}, LONG))
                    .isTrue();
            news[0].makeUnreadable("foreign");

            assertThat(cluster.node(1).drain(LONG)).isEmpty();

            assertThat(made.extents()).extracting(Extent::node).containsOnly("n0");
            assertThat(Arrays.equals(all(made), content(1))).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"of n0", "of n1"})
    void aDrainFailsWhileARecordThatCannotBeReadMayOwnMemoryHere(String unreadable) {
        HeldNews[] news = new HeldNews[1];
        try (TestCluster cluster = new TestCluster(root, provider("simulated"))) {
            cluster.start("n0");
            cluster.start(cluster.config("n1"), real -> news[0] = new HeldNews(real));
            cluster.awaitConnections();
            List<LmrHandle> made = new ArrayList<>();
            made.add(cluster.attach(0).memory().malloc(named("of n0", Placement.on("n1"))));
            made.add(cluster.attach(1).memory().malloc(named("of n1", Placement.on("n1"))));
            made.add(cluster.attach(0).memory().malloc(named("readable", Placement.on("n1"))));
            for (int index = 0; index < made.size(); index++) {
                made.get(index).write(0, content(index));
            }

            news[0].makeUnreadable(unreadable);

            assertThat(cluster.node(1).drain(LONG).orElseThrow()).contains("\"%s\"".formatted(unreadable));

            assertThat(cluster.node(1).figures().lmrBytes()).isGreaterThanOrEqualTo(SIZE);
            assertThat(made.get(2).extents()).extracting(Extent::node).containsOnly("n0");
            news[0].makeUnreadable("");
            assertThat(cluster.node(1).drain(LONG)).isEmpty();

            assertThat(cluster.node(1).figures().lmrBytes()).isZero();
            for (int index = 0; index < made.size(); index++) {
                assertThat(Arrays.equals(all(made.get(index)), content(index))).isTrue();
            }
        }
    }

    /** Its servers elect a leader within seconds, and its clients reconnect. */
    @Test
    void aDrainContinuesAfterItsDirectoryDidNotAnswer() {
        HeldNews[] news = new HeldNews[1];
        try (TestCluster cluster = new TestCluster(root, provider("simulated"))) {
            cluster.start("n0");
            cluster.start(cluster.config("n1"), real -> news[0] = new HeldNews(real));
            cluster.awaitConnections();
            LmrHandle made = cluster.attach(0).memory().malloc(named("data", Placement.on("n1")));
            news[0].failNextListing();

            assertThat(cluster.node(1).drain(LONG)).isEmpty();

            assertThat(made.extents()).extracting(Extent::node).containsOnly("n0");
        }
    }

    /** Moves of large LMRs take longer than a drain waits for progress. */
    @Test
    void aMoveThatFailsOnceDoesNotEndADrainThatMakesProgress() {
        HeldNews[] news = new HeldNews[1];
        try (TestCluster cluster = new TestCluster(root, provider("simulated"))) {
            cluster.start("n0");
            cluster.start(cluster.config("n1"), real -> news[0] = new HeldNews(real));
            cluster.awaitConnections();
            LmrHandle slow = cluster.attach(0).memory().malloc(named("slow", Placement.on("n1")));
            LmrHandle failing = cluster.attach(0).memory().malloc(named("failing", Placement.on("n1")));
            news[0].refuseChangesOf("failing");
            news[0].beforeChange("slow", () -> {
                Waits.until("the move of the other one has failed", () -> news[0].refusals() > 0);
                Waits.pass(Waits.seconds(2.5)); // longer than a drain without progress
                news[0].refuseChangesOf("");
            });

            assertThat(cluster.node(1).drain(LONG)).isEmpty();

            assertThat(slow.extents()).extracting(Extent::node).containsOnly("n0");
            assertThat(failing.extents()).extracting(Extent::node).containsOnly("n0");
        }
    }

    private static Order awaitEnd(Orders orders, Order order) {
        Waits.until(
                "the order ends",
                () -> orders.find(order.id(), LONG).orElseThrow().state().isFinal());
        return orders.find(order.id(), LONG).orElseThrow();
    }
}
