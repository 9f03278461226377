package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSession;
import dev.lite.tier.lmr.SyncWords;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.sync.WordStore.Named;
import dev.lite.tier.testing.Effort;
import dev.lite.tier.testing.HeldNews;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Seeds;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The words of locks and barriers that nobody uses are removed. A session that needs the name again gets another word. */
class RemovedWordsTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final Duration SOON = Duration.ofMillis(20);
    private static final Duration NEVER = Duration.ofDays(1);

    @TempDir(factory = InDevShm.class)
    Path root;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));
    private final List<TestCluster> clusters = new ArrayList<>();

    private TestCluster cluster() {
        TestCluster cluster = new TestCluster(root, network.provider());
        clusters.add(cluster);
        return cluster;
    }

    private TestCluster cluster(int nodes, Duration idle) {
        TestCluster cluster = cluster().start(nodes);
        for (int node = 0; node < nodes; node++) {
            cluster.node(node).setNameIdle(idle);
        }
        return cluster;
    }

    @AfterEach
    void close() {
        clusters.forEach(TestCluster::close);
    }

    private static List<String> words(TestCluster cluster) {
        List<String> names = new ArrayList<>();
        for (String kind : List.of("lock/", "barrier/")) {
            names.addAll(cluster.directory(0).names(ClusterDirectory.INTERNAL_PREFIX + kind, Integer.MAX_VALUE, LONG));
        }
        return names;
    }

    private static void awaitNoWords(TestCluster cluster, int nodes) {
        Waits.until("the directory has no word", () -> words(cluster).isEmpty());
        for (int node = 0; node < nodes; node++) {
            LiteNode of = cluster.node(node);
            Waits.until("the arena holds nothing", () -> of.figures().lmrBytes() == 0);
        }
    }

    private static void useOnce(LiteNode node, String name) {
        try (Lite lite = node.attach("app")) {
            lite.sync().lock(name).acquire(LONG).close();
        }
    }

    /** The word that the directory has for a name. */
    private static Named word(TestCluster cluster, String kindAndName) {
        String record = ClusterDirectory.INTERNAL_PREFIX + kindAndName;
        LmrRecord lmr = LmrRecord.decode(
                cluster.directory(0).read(record, LONG).orElseThrow().bytes());
        return SyncWords.named(record, lmr).orElseThrow();
    }

    /** Ends a word although a session has it open, as if the home had not heard of the session. */
    private static void retire(LiteNode home, Named word) {
        SyncService sync = Inside.field(home, "sync", SyncService.class);
        assertThat(Inside.field(sync, "homes", HomeWords.class).retire(word)).isTrue();
        assertThat(sync.open(word)).isNegative(); // as a node that meets the dead word
    }

    private static Retirement withUnusedWords(LiteNode node) {
        for (int name = 0; name < 1_000; name++) {
            useOnce(node, "used once " + name);
        }
        return Inside.field(Inside.field(node, "sync", SyncService.class), "retirement", Retirement.class);
    }

    @Test
    void aHomePausesWhileItRemovesManyWords() {
        TestCluster cluster = cluster(1, NEVER);
        LiteNode node = cluster.node(0);
        AtomicBoolean sweeping = Inside.field(withUnusedWords(node), "sweeping", AtomicBoolean.class);
        node.setNameIdle(SOON);
        Waits.until("some words are gone, and no sweep runs", () -> {
            boolean before = sweeping.get();
            int left = words(cluster).size();
            return !before && !sweeping.get() && left > 0 && left < 1_000;
        });
        awaitNoWords(cluster, 1);
    }

    @Test
    void aNewIdleTimeReachesAWordThatIsLeftAtThisMoment() {
        TestCluster cluster = cluster(1, NEVER);
        LiteNode node = cluster.node(0);
        try (Lite lite = node.attach("app")) {
            lite.sync().lock("x").acquire(LONG).close();
            Named word = word(cluster, "lock/x");
            Retirement retirement =
                    Inside.field(Inside.field(node, "sync", SyncService.class), "retirement", Retirement.class);
            for (int round = 0; round < 5_000; round++) {
                retirement.setIdle(NEVER);
                CyclicBarrier both = new CyclicBarrier(2);
                FutureTask<Boolean> leaves = SyncContract.go(() -> {
                    both.await();
                    retirement.left(word);
                    return true;
                });
                SyncContract.get(SyncContract.go(() -> {
                    both.await();
                    retirement.setIdle(SOON);
                    return true;
                }));
                assertThat(SyncContract.get(leaves)).isTrue();
                // The greatest number is for none: the home has asked, and a session uses the word. Near NEVER is
                // wrong.
                assertThat(retirement.untilDueNs())
                        .as("in round %d", round)
                        .matches(ns -> ns < NEVER.toNanos() / 2 || ns == Long.MAX_VALUE);
            }
        }
    }

    @Test
    void aHomeRemovesAllWordsAtOnceIfSomebodyNeedsTheRoom() {
        TestCluster cluster = cluster(1, NEVER);
        LiteNode node = cluster.node(0);
        Retirement retirement = withUnusedWords(node);
        AtomicBoolean sweeping = Inside.field(retirement, "sweeping", AtomicBoolean.class);
        retirement.hurry();
        node.setNameIdle(Duration.ZERO); // wakes the thread that ticks
        Waits.until("some words are gone", () -> words(cluster).size() < 1_000);
        Waits.until("the sweep has ended", () -> !sweeping.get());
        assertThat(words(cluster)).isEmpty();
    }

    @Test
    void aWordGoesWithItsRecordWhenNobodyHasUsedItForAWhile() {
        TestCluster cluster = cluster(2, SOON);
        useOnce(cluster.node(0), "x");
        try (Lite here = cluster.attach(0);
                Lite there = cluster.attach(1)) {
            FutureTask<Long> party =
                    SyncContract.go(() -> there.sync().barrier("b", 2).await(LONG));
            assertThat(here.sync().barrier("b", 2).await(LONG)).isEqualTo(SyncContract.get(party));
        }
        awaitNoWords(cluster, 2);
    }

    @Test
    void aWordStaysAsLongAsASessionHasItsNameOpen() {
        TestCluster cluster = cluster(2, SOON);
        LtLock lock = cluster.attach(1).sync().lock("x");
        for (int count = 0; count < 3; count++) {
            useOnce(cluster.node(0), "x");
            Waits.pass(SOON.multipliedBy(10)); // enough time for questions, which the node must answer
        }
        assertThat(words(cluster)).hasSize(1);
        lock.acquire(LONG).close();
    }

    @Test
    void aLockWhoseHoldersNodeDiedIsRemovedAlthoughNobodyWaitsForIt() {
        TestCluster cluster = cluster(3, SOON);
        useOnce(cluster.node(0), "x"); // n0 is its home
        cluster.attach(2).sync().lock("x").acquire(LONG);
        Waits.pass(SOON.multipliedBy(5));
        assertThat(words(cluster)).hasSize(1);
        Named word = word(cluster, "lock/x");
        cluster.stop("n2");
        SyncService home = Inside.field(cluster.node(0), "sync", SyncService.class);
        home.left(word); // as if n2 could still tell; the home may have removed it already
        awaitNoWords(cluster, 2);
    }

    /** Else nobody could use its name as long as some node is paused, or cut off from the home, and other words are unused. */
    @Test
    void aDeadWordIsRemovedAlthoughANodeDoesNotAnswerWhetherItUsesOthers() {
        TestCluster cluster = cluster(3, NEVER);
        useOnce(cluster.node(0), "x"); // n0 is its home
        useOnce(cluster.node(0), "unused");
        Named word = word(cluster, "lock/x");
        network.pause("n2");
        cluster.node(0).setNameIdle(SOON);
        SyncService home = Inside.field(cluster.node(0), "sync", SyncService.class);
        Retirement retirement = Inside.field(home, "retirement", Retirement.class);
        AtomicBoolean sweeping = Inside.field(retirement, "sweeping", AtomicBoolean.class);
        Waits.until("the home asks all nodes", sweeping::get);
        retire(cluster.node(0), word);

        useOnce(cluster.node(1), "x");

        network.resume("n2");
    }

    @Test
    void theTokensOfANameGrowAcrossItsWords() {
        TestCluster cluster = cluster(2, SOON);
        long last = 0;
        for (int life = 0; life < 5; life++) {
            try (Lite lite = cluster.attach(life % 2)) {
                LtLock lock = lite.sync().lock("x");
                for (int count = 0; count < 10; count++) {
                    try (HeldLock held = lock.acquire(LONG)) {
                        assertThat(held.fencingToken()).isGreaterThan(last);
                        last = held.fencingToken();
                    }
                }
            }
            awaitNoWords(cluster, 2);
        }
    }

    @Test
    void manyMoreNamesThanAnArenaHoldsAreUsedOneAfterTheOther() {
        TestCluster cluster = cluster();
        LiteNode node = startWithExtents(cluster, 1_000);
        node.setNameIdle(SOON);
        for (int name = 0; name < Effort.times(20_000); name++) {
            useOnce(node, "order-" + name);
        }
        awaitNoWords(cluster, 1);
    }

    @Test
    void namesAreRemovedBeforeTheirTimeWhenTheArenaIsFull() {
        LiteNode node = startWithExtents(cluster(), 300);
        for (int name = 0; name < 1_000; name++) {
            useOnce(node, "order-" + name);
        }
    }

    private static LiteNode startWithExtents(TestCluster cluster, int extentsMax) {
        return cluster.start(cluster.config("n0").toBuilder()
                .limits(new LiteNodeConfig.Limits(Long.MAX_VALUE, 1 << 20, extentsMax, 8))
                .build());
    }

    @Test
    void aLockThatASessionHasOpenContinuesWithItsNextWord() {
        for (boolean tries : new boolean[] {false, true}) {
            TestCluster cluster = new TestCluster(root.resolve("tries-" + tries), network.provider());
            try (cluster) {
                cluster.start(2);
                aLockContinues(cluster, tries);
            }
        }
    }

    private static void aLockContinues(TestCluster cluster, boolean tries) {
        try (Lite one = cluster.attach(0);
                Lite other = cluster.attach(1)) {
            LtLock here = one.sync().lock("x");
            LtLock there = other.sync().lock("x");
            long last = 0;
            for (int life = 0; life < 6; life++) {
                for (LtLock lock : life % 2 == 0 ? List.of(here, there) : List.of(there, here)) {
                    try (HeldLock held = tries ? lock.tryAcquire().orElseThrow() : lock.acquire(LONG)) {
                        assertThat(held.isHeld()).isTrue();
                        assertThat(held.fencingToken()).isGreaterThan(last);
                        last = held.fencingToken();
                        Optional<HeldLock> second = (lock == here ? there : here).tryAcquire();
                        assertThat(second).isEmpty();
                    }
                }
                Named word = word(cluster, "lock/x");
                retire(cluster.node(word.ref().home()), word);
            }
        }
    }

    @Test
    void aHeldOrAwaitedLockIsNeverRetired() {
        TestCluster cluster = cluster(2, NEVER);
        LtLock lock = cluster.attach(0).sync().lock("x");
        HomeWords homes =
                Inside.field(Inside.field(cluster.node(0), "sync", SyncService.class), "homes", HomeWords.class);
        Named word = word(cluster, "lock/x");
        HeldLock held = lock.acquire(LONG);
        assertThat(homes.retire(word)).isFalse();
        FutureTask<Boolean> waits = SyncContract.go(() -> {
            try (HeldLock next = cluster.attach(1).sync().lock("x").acquire(LONG)) {
                return !homes.retire(word) && next.isHeld();
            }
        });
        SyncContract.awaitWaits(cluster, 2, 1);
        held.close();
        assertThat(SyncContract.get(waits)).isTrue();
        assertThat(homes.retire(word)).isTrue();
    }

    @Test
    void aBarrierThatASessionHasOpenContinuesWithItsNextWord() {
        TestCluster cluster = cluster(2, NEVER);
        LtBarrier here = cluster.attach(0).sync().barrier("b", 2);
        LtBarrier there = cluster.attach(1).sync().barrier("b", 2);
        for (int life = 0; life < 4; life++) {
            for (int round = 0; round < 3; round++) {
                FutureTask<Long> party = SyncContract.go(() -> there.await(LONG));
                assertThat(here.await(LONG)).isEqualTo(SyncContract.get(party)).isEqualTo(round);
            }
            Named word = word(cluster, "barrier/b");
            retire(cluster.node(word.ref().home()), word);
        }
    }

    @Test
    void aBarrierWithAWaitingPartyIsNeverRetired() {
        TestCluster cluster = cluster(2, NEVER);
        LtBarrier here = cluster.attach(0).sync().barrier("b", 2);
        SyncContract.Task<Long> party =
                SyncContract.go(() -> cluster.attach(1).sync().barrier("b", 2).await(LONG));
        party.awaitParkedAt(NodeBarrier.class); // after the answer to its arrival
        HomeWords homes =
                Inside.field(Inside.field(cluster.node(0), "sync", SyncService.class), "homes", HomeWords.class);

        assertThat(homes.retire(word(cluster, "barrier/b"))).isFalse();

        assertThat(here.await(LONG)).isEqualTo(SyncContract.get(party));
    }

    /** A home that ends between two steps leaves a dead word; the next process of the home removes it. */
    @Test
    void whatAHomeLeftWhenItEndedBetweenTwoStepsIsFinished() {
        for (String refused : List.of("tickets/floor", "lock/x")) {
            TestCluster cluster =
                    new TestCluster(root.resolve(refused.replace('/', '-')), network.provider(), Waits.seconds(3));
            try (cluster) {
                HeldNews[] of = new HeldNews[1];
                LiteNode home = cluster.start(cluster.config("n0"), directory -> of[0] = new HeldNews(directory));
                cluster.start("n1");
                cluster.awaitConnections();
                long first;
                try (Lite lite = cluster.attach(0)) {
                    first = lite.sync().lock("x").acquire(LONG).fencingToken();
                }
                of[0].refuseChangesOf(ClusterDirectory.INTERNAL_PREFIX + refused);
                home.setNameIdle(SOON);
                Waits.until("the home ended the word", () -> of[0].refusals() > 0);
                TierSession session = cluster.node(1).open("app", "test");
                assertThatExceptionOfType(LiteTimeoutException.class)
                        .isThrownBy(() -> session.sync().lock("x", Waits.seconds(0.3)));

                cluster.stop("n0");
                cluster.start("n0");
                cluster.awaitConnections();

                try (HeldLock held = cluster.attach(1).sync().lock("x").acquire(LONG)) {
                    assertThat(held.fencingToken()).isGreaterThan(first);
                }
            }
        }
    }

    @Test
    void aDeadWordWhoseHomeEndedBeforeItsMemoryWasFreeIsAnOrphanThatNobodyCanTouch() {
        TestCluster cluster = cluster(3, NEVER);
        useOnce(cluster.node(0), "x");
        LtLock there = cluster.attach(2).sync().lock("x");
        network.pause("n2");
        network.drop("n0", "n2"); // n2 does not learn that its mapping must end
        Waits.until(
                "the home has lost the node",
                () -> cluster.node(0).nodes().stream()
                        .anyMatch(node -> node.fabric().equals("none")));
        Named word = word(cluster, "lock/x");
        retire(cluster.node(0), word);
        Waits.until("the record is removed", () -> words(cluster).isEmpty());
        assertThat(cluster.node(0).figures().lmrBytes()).isPositive();
        long last;
        try (Lite lite = cluster.attach(1)) {
            last = lite.sync().lock("x").acquire(LONG).fencingToken(); // nobody waits for the silent node
        }

        cluster.stop("n0"); // before the silent node answers
        network.resume("n2");
        LiteNode again = cluster.start("n0");
        again.setOrphanGrace(Duration.ofMillis(100));
        cluster.awaitConnections();
        Waits.until("the orphan is freed", () -> again.figures().lmrBytes() == 0);
        Waits.until("its memory is clean", () -> again.figures().usage().uncleanBytes() == 0);

        try (HeldLock held = there.acquire(LONG)) { // not by the clean memory
            assertThat(held.fencingToken()).isGreaterThan(last);
        }
    }

    /** Else one application that gives creations too little time would keep all others of its node from new names. */
    @Test
    void namesWhoseCreationWasNotAnsweredDoNotKeepOthersFromNewNames() {
        TestCluster cluster = cluster();
        HeldNews[] directory = new HeldNews[1];
        LiteNode node = cluster.start(cluster.config("n0"), real -> directory[0] = new HeldNews(real));
        TierSession session = node.open("app", "test");
        for (int name = 0; name < 2_000; name++) {
            String lock = "unanswered " + name;
            directory[0].refuseChangesOf(ClusterDirectory.INTERNAL_PREFIX + "lock/" + lock);
            assertThatExceptionOfType(ClusterUnavailableException.class)
                    .isThrownBy(() -> session.sync().lock(lock, LONG));
        }

        useOnce(node, "x");
        session.close();
    }

    @Test
    void aDeadWordGrantsNothingBeforeItsRecordIsRemoved() {
        TestCluster cluster = cluster();
        HeldNews[] directory = new HeldNews[1];
        LiteNode node = cluster.start(cluster.config("n0"), real -> directory[0] = new HeldNews(real));
        LtLock lock = node.attach("app").sync().lock("x");
        long first;
        try (HeldLock held = lock.acquire(LONG)) {
            first = held.fencingToken();
        }
        directory[0].refuseChangesOf(ClusterDirectory.INTERNAL_PREFIX + "lock/x");
        retire(node, word(cluster, "lock/x"));
        for (int count = 0; count < 3; count++) {
            assertThatExceptionOfType(LiteTimeoutException.class)
                    .isThrownBy(() -> lock.acquire(Waits.seconds(0.1)))
                    .withMessageContaining("\"x\"");
        }

        directory[0].refuseChangesOf("");

        try (HeldLock held = lock.acquire(LONG)) {
            assertThat(held.fencingToken()).isGreaterThan(first);
        }
    }

    @Test
    void aLateReportThatANodeLeftADeadWordDoesNotDelayItsRemoval() {
        TestCluster cluster = cluster();
        HeldNews[] directory = new HeldNews[1];
        LiteNode node = cluster.start(cluster.config("n0"), real -> directory[0] = new HeldNews(real));
        node.setNameIdle(NEVER);
        useOnce(node, "x");
        Named word = word(cluster, "lock/x");
        directory[0].refuseChangesOf(ClusterDirectory.INTERNAL_PREFIX + "lock/x");
        retire(node, word);
        Inside.field(Inside.field(node, "sync", SyncService.class), "retirement", Retirement.class)
                .left(word);

        directory[0].refuseChangesOf("");

        Waits.until("the record is removed", () -> words(cluster).isEmpty());
    }

    @Test
    void aDeadWordThatMovesIsRemovedByItsNextHome() {
        TestCluster cluster = cluster();
        HeldNews[] directory = new HeldNews[1];
        LiteNode home = cluster.start(cluster.config("n0"), real -> directory[0] = new HeldNews(real));
        cluster.start("n1");
        cluster.awaitConnections();
        long first;
        try (Lite lite = home.attach("app")) {
            first = lite.sync().lock("x").acquire(LONG).fencingToken();
        }
        directory[0].refuseChangesOf(ClusterDirectory.INTERNAL_PREFIX + "tickets/floor");
        retire(home, word(cluster, "lock/x"));

        assertThat(home.drain(LONG)).isEmpty();

        assertThat(word(cluster, "lock/x").ref().home()).isEqualTo(1);
        try (HeldLock held = cluster.attach(1).sync().lock("x").acquire(LONG)) {
            assertThat(held.fencingToken()).isGreaterThan(first);
        }
    }

    /** Sessions come and go, words die all the time: the lock never has two holders, and its tokens only grow. */
    @Test
    void aStormOfOpeningAndClosingNeverBreaksMutualExclusion() {
        Seeds.forEach(3, random -> {
            long seed = random.nextLong();
            SimulatedNetwork stormy = new SimulatedNetwork(SimulatedOptions.seeded(seed));
            try (TestCluster cluster = new TestCluster(root.resolve(Long.toHexString(seed)), stormy.provider())) {
                cluster.start(3);
                for (int node = 0; node < 3; node++) {
                    cluster.node(node).setNameIdle(Duration.ofMillis(1));
                }
                Storm storm = new Storm(cluster);
                List<FutureTask<Integer>> tasks = new ArrayList<>();
                for (int index = 0; index < 9; index++) {
                    int node = index % 3;
                    Random own = new Random(seed + index);
                    tasks.add(SyncContract.go(() -> storm.run(node, own)));
                }
                for (int breaks = 0; breaks < 6; breaks++) {
                    Waits.pass(Duration.ofMillis(50 + random.nextInt(150)));
                    int one = random.nextInt(3);
                    stormy.drop("n" + one, "n" + (one + 1) % 3);
                }
                cluster.awaitConnections();
                int before = storm.acquired.get();
                Waits.until("the threads continue", () -> storm.acquired.get() > before + 20);
                storm.stop.set(true);
                tasks.forEach(SyncContract::get);
                awaitNoWords(cluster, 3);
            }
        });
    }

    private static final class Storm {
        final TestCluster cluster;
        final AtomicBoolean stop = new AtomicBoolean();
        final AtomicInteger acquired = new AtomicInteger();
        final Map<String, AtomicInteger> inside = new ConcurrentHashMap<>();
        final Map<String, AtomicLong> lastTokens = new ConcurrentHashMap<>();

        Storm(TestCluster cluster) {
            this.cluster = cluster;
        }

        int run(int node, Random random) {
            int mine = 0;
            while (!stop.get()) {
                String name = "x" + random.nextInt(3);
                try (Lite lite = cluster.attach(node)) {
                    LtLock lock = lite.sync().lock(name);
                    for (int left = random.nextInt(4); left >= 0; left--) {
                        Optional<HeldLock> held = random.nextInt(3) == 0
                                ? lock.tryAcquire()
                                : Optional.of(lock.acquire(random.nextInt(4) == 0 ? Waits.seconds(0.02) : LONG));
                        if (held.isPresent()) {
                            hold(name, held.get());
                            mine++;
                        }
                        if (random.nextInt(4) == 0) {
                            Waits.pass(Duration.ofMillis(random.nextInt(4)));
                        }
                    }
                } catch (LiteException e) {
                    // a break, or the deadline
                }
            }
            return mine;
        }

        private void hold(String name, HeldLock held) {
            AtomicInteger holders = inside.computeIfAbsent(name, any -> new AtomicInteger());
            AtomicLong last = lastTokens.computeIfAbsent(name, any -> new AtomicLong());
            assertThat(holders.incrementAndGet()).isEqualTo(1);
            assertThat(held.fencingToken()).isGreaterThan(last.getAndSet(held.fencingToken()));
            holders.decrementAndGet();
            held.close();
            acquired.incrementAndGet();
        }
    }
}
