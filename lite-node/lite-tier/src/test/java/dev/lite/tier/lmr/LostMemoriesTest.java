package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Load;
import dev.lite.tier.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The memory of a node that ended for good is unmapped under the operations of others. */
class LostMemoriesTest {
    private static final Permission[] DATA = {Permission.READ, Permission.WRITE, Permission.ATOMIC};
    private static final Duration GRACE = Duration.ofMillis(200);
    /** Larger than a chunk on each of three nodes. */
    private static final int SPREAD_BYTES = 300_000;

    @TempDir(factory = InDevShm.class)
    Path root;

    private TestCluster start() {
        TestCluster cluster = new TestCluster(root, new ShmFabricProvider(), Waits.seconds(3));
        try {
            for (int node = 0; node < 2; node++) {
                cluster.start("n" + node).setReturnGrace(GRACE);
            }
            startMortal(cluster);
            return cluster;
        } catch (RuntimeException | Error e) {
            cluster.close();
            throw e;
        }
    }

    /** A node whose arena ends with it. */
    private void startMortal(TestCluster cluster) {
        cluster.start(cluster.config("n2").toBuilder()
                .arena(root.resolve("mortal"), false)
                .build());
        cluster.awaitConnections();
    }

    /** How often the arena of n2 is mapped into this process, which has all nodes. */
    private long mappings() {
        String arena = root.resolve("mortal") + "/";
        try (var lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains(arena)).count();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private void awaitUnmapped() {
        Waits.until("the other nodes have unmapped it", () -> mappings() == 0);
    }

    private static LmrSpec shared(long bytes, String name) {
        return LmrSpec.of(bytes).withName(name).withDefaultPermissions(DATA);
    }

    @Test
    void anLmrThereIsUnavailableThenAndOtherPartsStayUsable() {
        try (TestCluster cluster = start()) {
            Lite lite = cluster.attach(0);
            LmrHandle there = lite.memory().malloc(shared(64, "there").withPlacement(Placement.on("n2")));
            LmrHandle spread =
                    lite.memory().malloc(shared(SPREAD_BYTES, "spread").withPlacement(Placement.spread()));
            LmrHandle mapper = cluster.attach(1).memory().map("spread", DATA[0], DATA);
            long partAt = spread.extents().stream()
                    .filter(extent -> extent.node().equals("n2"))
                    .findFirst()
                    .orElseThrow()
                    .offset();
            assertThat(there.fetchAdd(0, 5)).isZero();
            assertThat(mappings()).as("n2 itself, n0 and n1").isEqualTo(3);

            cluster.stop("n2");
            awaitUnmapped();

            Waits.until("the time in which it could return is over", () -> isUnavailable(there));
            assertThatThrownBy(() -> there.read(0, new byte[8])).isInstanceOf(LmrUnavailableException.class);
            for (LmrHandle handle : List.of(spread, mapper)) {
                assertThatThrownBy(() -> handle.fetchAdd(partAt, 1)).isInstanceOf(LmrUnavailableException.class);
                assertThatThrownBy(() -> handle.write(0, new byte[SPREAD_BYTES]))
                        .isInstanceOf(LmrUnavailableException.class);
            }
            for (int node = 0; node < 2; node++) {
                String name = "n" + node;
                long offset = spread.extents().stream()
                        .filter(extent -> extent.node().equals(name))
                        .findFirst()
                        .orElseThrow()
                        .offset();
                assertThat(mapper.fetchAdd(offset, 1)).isZero();
                assertThat(spread.fetchAdd(offset, 1)).isEqualTo(1);
            }
        }
    }

    @Test
    void itWaitsForACopyThatIsUnderWay() {
        try (TestCluster cluster = start()) {
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch over = new CountDownLatch(1);
            Thread copy = Thread.ofPlatform()
                    .start(() -> UnderWay.asOwnWork(cluster.node(0), () -> {
                        begun.countDown();
                        Waits.await(over);
                    }));
            Waits.await(begun);
            cluster.stop("n2");
            Waits.until("n1 has unmapped it", () -> mappings() == 1);
            Waits.pass(Duration.ofSeconds(2)); // n0 looks once a second
            assertThat(mappings()).isEqualTo(1);
            over.countDown();
            awaitUnmapped();
            Waits.join(copy);
        }
    }

    private static boolean isUnavailable(LmrHandle handle) {
        try {
            handle.fetchAdd(0, 0);
            return false;
        } catch (LmrUnavailableException e) {
            return true;
        } catch (LiteException e) {
            return false;
        }
    }

    /** A thread that touches memory that is not mapped would end this process. */
    @Test
    void noOperationTouchesItLater() {
        try (TestCluster cluster = start()) {
            Load load = new Load();
            for (int node = 0; node < 2; node++) {
                Lite lite = cluster.attach(node);
                String name = "s" + node;
                LmrHandle kept = lite.memory().malloc(shared(SPREAD_BYTES, name).withPlacement(Placement.spread()));
                LmrHandle local = lite.memory().malloc(LmrSpec.of(SPREAD_BYTES).withPlacement(Placement.local()));
                byte[] bytes = new byte[SPREAD_BYTES];
                Duration soon = Waits.seconds(1);
                load.repeat(() -> kept.read(0, bytes));
                load.repeat(() -> kept.memset(0, SPREAD_BYTES, (byte) 1));
                load.repeat(() -> lite.memory().memcpy(local, 0, kept, 0, SPREAD_BYTES));
                load.repeat(() ->
                        lite.memory().map(name, Set.of(Permission.READ), soon).unmap());
                load.repeat(() -> {
                    LmrHandle there = lite.memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("n2")), soon);
                    for (int i = 0; i < 100; i++) {
                        there.fetchAdd(0, 1);
                    }
                    there.free();
                });
                load.repeat(() -> lite.memory().malloc(LmrSpec.of(64), soon).moveTo("n2"));
            }
            for (int round = 0; round < 4; round++) {
                long before = load.done();
                Waits.until("it is busy", () -> load.done() > before + 500);
                cluster.stop("n2");
                awaitUnmapped();
                startMortal(cluster);
            }
            assertThat(load.end()).isEmpty();
        }
    }
}
