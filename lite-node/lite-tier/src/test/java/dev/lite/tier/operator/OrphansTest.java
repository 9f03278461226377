package dev.lite.tier.operator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import dev.lite.api.HeldLock;
import dev.lite.api.Lifetime;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.Order.State;
import dev.lite.cluster.Orders;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSession;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.testing.HeldNews;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Memory that belongs to no LMR is found and freed; all other memory stays. */
class OrphansTest {
    private static final int SIZE = 10_000;
    private static final Duration LONG = Waits.seconds(20);
    private static final Duration GRACE = Waits.seconds(0.5);

    @TempDir(factory = InDevShm.class)
    Path root;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));

    private static LmrSpec spec() {
        return LmrSpec.of(SIZE)
                .withPlacement(Placement.on("n1"))
                .withDefaultPermissions(Permission.READ)
                .withLifetime(Lifetime.UNTIL_FREED);
    }

    /** Simulates a crash in the middle of a free: removes the record, but keeps the memory. */
    private static void forget(ClusterDirectory directory, String name) {
        int version = directory.read(name, LONG).orElseThrow().version();
        assertThat(directory.delete(name, version, LONG)).isTrue();
    }

    @Test
    void onlyMemoryWithoutARecordIsFreedAfterTheGraceTime() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            LmrHandle named = cluster.attach(0).memory().malloc(spec().withName("named"));
            LmrHandle anonymous = cluster.attach(0).memory().malloc(spec());
            LmrHandle ofItsOwn = cluster.attach(1).memory().malloc(spec());
            cluster.attach(0).sync().lock("l").acquire(LONG).close();
            cluster.attach(1).sync().lock("m").acquire(LONG).close();
            long bytes = cluster.node(1).figures().lmrBytes();
            cluster.attach(0).memory().malloc(spec().withName("orphan"));
            cluster.attach(1).memory().malloc(spec().withName("orphan of the same node"));
            forget(cluster.directory(0), "orphan");
            forget(cluster.directory(0), "orphan of the same node");
            assertThat(cluster.node(1).figures().lmrBytes()).isGreaterThan(bytes);

            long startNs = System.nanoTime();
            cluster.node(1).setOrphanGrace(GRACE);
            Waits.until("the orphans are freed", () -> cluster.node(1).figures().lmrBytes() == bytes);

            assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isGreaterThan(GRACE);
            Waits.pass(GRACE.multipliedBy(3));
            assertThat(cluster.node(1).figures().lmrBytes()).isEqualTo(bytes);
            assertThat(named.fetchAdd(0, 1) + anonymous.fetchAdd(0, 1) + ofItsOwn.fetchAdd(0, 1))
                    .isZero();
        }
    }

    @Test
    void wordsWithoutARecordAreFreedAndNewLocksUseTheirPlaces() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            long[] tokens = new long[10];
            try (Lite lite = cluster.node(1).attach("app")) {
                for (int index = 0; index < 10; index++) {
                    try (HeldLock held = lite.sync().lock("l" + index).acquire(LONG)) {
                        tokens[index] = held.fencingToken();
                    }
                }
                for (int index = 5; index < 10; index++) {
                    cluster.attach(0).sync().lock("l" + index);
                }
            } // nobody uses the first five locks any more
            long bytes = cluster.node(1).figures().lmrBytes();
            int extents = cluster.node(1).figures().usage().extents();
            for (int index = 0; index < 5; index++) {
                forget(cluster.directory(0), ClusterDirectory.INTERNAL_PREFIX + "lock/l" + index);
            }

            cluster.node(1).setOrphanGrace(GRACE);
            Waits.until("their words are freed", () -> cluster.node(1).figures().lmrBytes() == bytes / 2);

            for (int index = 0; index < 10; index++) {
                try (HeldLock held = cluster.attach(1).sync().lock("l" + index).acquire(LONG)) {
                    assertThat(held.fencingToken()).as("lock %d", index).isGreaterThan(index < 5 ? 0 : tokens[index]);
                }
            }
            assertThat(cluster.node(1).figures().lmrBytes()).isEqualTo(bytes);
            assertThat(cluster.node(1).figures().usage().extents()).isEqualTo(extents);
        }
    }

    @Test
    void anUnpublishedLmrIsNeverFreedAsAnOrphan() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            TierSession session = cluster.node(0).open("app", "test");
            TierSession local = cluster.node(1).open("app", "test");
            Mapping named = (Mapping) session.prepare(spec().withName("slow"), LONG);
            Mapping anonymous = (Mapping) local.prepare(spec(), LONG);
            long bytes = cluster.node(1).figures().lmrBytes();

            cluster.node(1).setOrphanGrace(GRACE);
            Waits.pass(GRACE.multipliedBy(4));

            assertThat(cluster.node(1).figures().lmrBytes()).isEqualTo(bytes);
            session.publish(named, LONG);
            local.publish(anonymous, LONG);
            Waits.pass(GRACE.multipliedBy(4));
            assertThat(cluster.node(1).figures().lmrBytes()).isEqualTo(bytes);
            assertThat(named.fetchAdd(0, 1) + anonymous.fetchAdd(0, 1)).isZero();
        }
    }

    @Test
    void anonymousLmrsOfARestartedNodeAreFreedAtOtherNodes() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            cluster.attach(0).memory().malloc(spec());
            cluster.node(1).setOrphanGrace(GRACE);
            Waits.pass(GRACE.multipliedBy(3));
            assertThat(cluster.node(1).figures().lmrBytes()).isPositive();

            cluster.stop("n0");
            cluster.start("n0");
            cluster.awaitConnections();

            Waits.until("it is freed", () -> cluster.node(1).figures().lmrBytes() == 0);
        }
    }

    /** The directory takes n0 for dead, and n0 does not learn of it. */
    private static void removeFirst(TestCluster cluster) {
        cluster.directory(0).setAvailable(false);
        cluster.directory(0).expireSession();
    }

    private static void returnFirst(TestCluster cluster) {
        long before = cluster.node(0).self().incarnation();
        cluster.directory(0).setAvailable(true);
        Waits.until(
                "n0 is a member again",
                () -> cluster.node(0).self().incarnation() > before
                        && cluster.node(0).isMember());
        cluster.awaitConnections();
    }

    /** The others cannot tell whether a node that is gone for so long has ended. */
    @Test
    void aNodeThatReturnsHasLostTheAnonymousLmrsWhoseMemoryOthersFreed() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            LmrHandle lost = cluster.attach(0).memory().malloc(spec());
            LmrHandle kept = cluster.attach(0).memory().malloc(spec().withPlacement(Placement.on("n0")));
            removeFirst(cluster);
            cluster.node(1).setOrphanGrace(GRACE);
            Waits.until("it is freed", () -> cluster.node(1).figures().lmrBytes() == 0);
            LmrHandle next = cluster.attach(1).memory().malloc(spec());

            returnFirst(cluster);

            Throwable failure = catchThrowable(() -> lost.write(0, new byte[] {7}));
            byte[] found = new byte[1];
            next.read(0, found);
            assertThat(found).containsExactly(0);
            assertThat(failure).isInstanceOf(LmrUnavailableException.class).hasMessageContaining("out of the cluster");
            assertThatThrownBy(() -> cluster.attach(1).memory().map(lost.id(), Permission.READ))
                    .isInstanceOf(LmrNotFoundException.class);
            assertThat(kept.fetchAdd(0, 1)).isZero();
        }
    }

    @Test
    void aNodeThatReturnsKeepsTheAnonymousLmrsWhoseMemoryNobodyFreed() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            LmrHandle kept = cluster.attach(0).memory().malloc(spec());
            long incarnation = cluster.node(0).self().incarnation();
            removeFirst(cluster);
            Waits.until("n0 is fenced", () -> cluster.directory(1).epoch().isFenced(0, incarnation));

            returnFirst(cluster);

            assertThat(kept.fetchAdd(0, 1)).isZero();
            assertThat(cluster.node(1).figures().lmrBytes()).isPositive();
        }
    }

    @Test
    void anLmrWhoseMemoryOthersFreedBeforeItWasPublishedIsNotPublished() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            TierSession session = cluster.node(0).open("app", "test");
            Mapping lost = (Mapping) session.prepare(spec().withName("late"), LONG);
            removeFirst(cluster);
            cluster.node(1).setOrphanGrace(GRACE);
            Waits.until("it is freed", () -> cluster.node(1).figures().lmrBytes() == 0);

            returnFirst(cluster);

            assertThatThrownBy(() -> session.publish(lost, LONG)).isInstanceOf(LmrUnavailableException.class);
            assertThatThrownBy(() -> cluster.attach(1).memory().map("late", Permission.READ))
                    .isInstanceOf(LmrNotFoundException.class);
        }
    }

    @Test
    void theTargetMemoryOfALongMoveIsNotAnOrphan() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(3)) {
            LmrHandle moving = cluster.attach(0).memory().malloc(spec().withName("moving"));
            LmrHandle silent = cluster.attach(2).memory().map("moving", Permission.READ);
            moving.write(0, new byte[] {7});
            network.pause("n2"); // a mapper that does not answer, so the move does not finish
            Thread mover = Thread.ofPlatform().start(() -> moving.moveTo("n0"));
            Waits.until(
                    "its new memory is allocated",
                    () -> cluster.node(0).figures().lmrBytes() > 0);
            cluster.node(0).setOrphanGrace(GRACE);
            Waits.pass(GRACE.multipliedBy(4));
            assertThat(cluster.node(0).figures().lmrBytes()).isPositive();

            network.resume("n2");

            Waits.join(mover);
            byte[] found = new byte[1];
            silent.read(0, found);
            assertThat(found).containsExactly(7);
            assertThat(cluster.node(0).figures().lmrBytes()).isPositive();
        }
    }

    /** Its allocation may take longer than an operator's order waits. */
    @Test
    void theTargetMemoryOfAMoveWhoseRecordDoesNotHaveItYetIsNotAnOrphan() {
        try (TestCluster cluster = new TestCluster(root, network.provider())) {
            HeldNews news =
                    HeldNews.start(cluster, cluster.withDeadline("n0", LONG)).news();
            cluster.start(cluster.withDeadline("n1", Waits.seconds(0.5)));
            cluster.awaitConnections();
            LmrHandle moving = cluster.attach(0)
                    .memory()
                    .malloc(LmrSpec.of(SIZE).withName("moving").withPlacement(Placement.on("n0")));
            moving.write(0, new byte[] {7});
            long rest = cluster.node(1).figures().lmrBytes();
            CountDownLatch recorded = new CountDownLatch(1);
            news.beforeChange("moving", () -> Waits.await(recorded));
            Thread mover = Thread.ofPlatform().start(() -> moving.moveTo("n1"));
            Waits.until(
                    "its new memory is allocated",
                    () -> cluster.node(1).figures().lmrBytes() > rest);

            freeOrphans(cluster);

            assertThat(cluster.node(1).figures().lmrBytes()).isGreaterThan(rest);
            recorded.countDown();
            Waits.join(mover);
            byte[] found = new byte[1];
            moving.read(0, found);
            assertThat(found).containsExactly(7);
        }
    }

    @Test
    void noOrphansAreFreedWhileTheDirectoryIsUnavailable() {
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            cluster.attach(0).memory().malloc(spec().withName("orphan"));
            forget(cluster.directory(0), "orphan");
            cluster.directory(1).setAvailable(false);
            cluster.node(1).setOrphanGrace(GRACE);
            Waits.pass(GRACE.multipliedBy(4));
            assertThat(cluster.node(1).figures().lmrBytes()).isPositive();

            cluster.directory(1).setAvailable(true);

            Waits.until("it is freed", () -> cluster.node(1).figures().lmrBytes() == 0);
        }
    }

    /** It may own the memory. */
    @Test
    void noOrphansAreFreedWhileARecordCannotBeRead() {
        try (TestCluster cluster = new TestCluster(root, network.provider())) {
            cluster.start("n0");
            HeldNews news = HeldNews.start(cluster, cluster.config("n1")).news();
            cluster.awaitConnections();
            LmrHandle stays = cluster.attach(0).memory().malloc(spec().withName("stays"));
            news.makeUnreadable("stays");
            cluster.node(1).setOrphanGrace(GRACE);
            Waits.pass(GRACE.multipliedBy(4));

            news.makeUnreadable("");

            assertThat(cluster.node(1).figures().lmrBytes()).isPositive();
            assertThat(stays.fetchAdd(0, 1)).isZero();
        }
    }

    /** Otherwise the arena fills up, and nobody knows why. */
    @Test
    void anOperatorIsWarnedOnceOfARecordThatCannotBeRead() {
        Warnings warnings = new Warnings();
        Logger logger = (Logger) LoggerFactory.getLogger(Orphans.class);
        logger.addAppender(warnings);
        warnings.start();
        try (TestCluster cluster = new TestCluster(root, network.provider())) {
            cluster.start("n0");
            HeldNews news = HeldNews.start(cluster, cluster.config("n1")).news();
            cluster.awaitConnections();
            cluster.attach(0).memory().malloc(spec().withName("refused"));
            news.makeUnreadable("refused");

            cluster.node(1).setOrphanGrace(Duration.ofMillis(1));
            int before = news.unreadableReads();
            Waits.until("it was scanned three times", () -> news.unreadableReads() >= before + 3);

            assertThat(warnings.of("\"refused\"")).singleElement().asString().contains("no memory", "is freed");
        } finally {
            logger.detachAppender(warnings);
        }
    }

    @Test
    void anOperatorIsWarnedOfARecordOfAnotherVersion() {
        Warnings warnings = new Warnings();
        Logger logger = (Logger) LoggerFactory.getLogger(Orphans.class);
        logger.addAppender(warnings);
        warnings.start();
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            cluster.attach(0).memory().malloc(spec());
            assertThat(cluster.directory(0).create("foreign", new byte[] {99}, LONG))
                    .isTrue();

            cluster.node(1).setOrphanGrace(Duration.ofMillis(1));

            Waits.until("there is a warning", () -> !warnings.of("\"foreign\"").isEmpty());
        } finally {
            logger.detachAppender(warnings);
        }
    }

    /** The warnings of this class. Other tests may run at the same time. */
    private static final class Warnings extends AppenderBase<ILoggingEvent> {
        private final List<String> messages = new CopyOnWriteArrayList<>();

        @Override
        protected void append(ILoggingEvent event) {
            if (event.getLevel().equals(Level.WARN)) {
                messages.add(event.getFormattedMessage());
            }
        }

        List<String> of(String text) {
            return messages.stream().filter(message -> message.contains(text)).toList();
        }
    }

    @Test
    void anOperatorCanFreeOrphansWithoutTheGraceTime() {
        try (TestCluster cluster = new TestCluster(root, network.provider(), Waits.seconds(1)).start(2)) {
            LmrHandle stays = cluster.attach(0).memory().malloc(spec().withName("stays"));
            long bytes = cluster.node(1).figures().lmrBytes();
            cluster.attach(0).memory().malloc(spec().withName("orphan"));
            forget(cluster.directory(0), "orphan");

            freeOrphans(cluster);

            assertThat(cluster.node(1).figures().lmrBytes()).isEqualTo(bytes);
            assertThat(stays.fetchAdd(0, 1)).isZero();
        }
    }

    /** As an operator does, at n1. */
    private static void freeOrphans(TestCluster cluster) {
        Orders orders = new Orders(cluster.directory(0));
        long order = orders.freeOrphans("n1", LONG).id();
        Waits.until(
                "the order ends",
                () -> orders.find(order, LONG).orElseThrow().state().isFinal());
        assertThat(orders.find(order, LONG).orElseThrow().state()).isEqualTo(State.DONE);
    }
}
