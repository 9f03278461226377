package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSlice;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtLock;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Waits;
import dev.lite.tier.lmr.UnderWay;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.NodeTimes;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * An application's session ends while its write under a lock is under way, and the fabric does not execute it: for longer than the
 * end of the session waits.
 */
class LastWriteTest {
    @TempDir(factory = InDevShm.class)
    Path directory;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));
    private TestCluster cluster;
    private SessionServer server;
    private LmrHandle there;
    private LtLock lock;
    private int handles;

    @BeforeEach
    void endASessionDuringItsWrite() {
        cluster = new TestCluster(directory.resolve("cluster"), network.provider()).start(2);
        there = cluster.attach(0)
                .memory()
                .malloc(LmrSpec.of(64)
                        .withName("data")
                        .withPlacement(Placement.on("n0"))
                        .withDefaultPermissions(Permission.READ, Permission.WRITE));
        LiteNode node = cluster.node(1);
        UnderWay.setEndMax(node, Waits.seconds(1));
        lock = node.attach("another").sync().lock("x"); // the word is in this node's arena
        handles = node.figures().usage().handles();
        server = new SessionServer(SessionServerConfig.of(directory.resolve("s")), node);
        server.start();
        Lite lite = Lite.attach(AttachOptions.to(directory.resolve("s"), "test").withDeadline(Waits.seconds(60)));
        LmrHandle data = lite.memory().map("data", Permission.READ, Permission.WRITE);
        HeldLock held = lite.sync().lock("x").acquire(Waits.seconds(10));
        assertThat(held.isHeld()).isTrue();
        network.pause("n1");
        CompletableFuture<@Nullable Void> write =
                data.writeAsync(List.of(new LmrSlice(0, MemorySegment.ofArray(new byte[] {1}))));
        Waits.until(
                "the write is posted",
                () -> network.trace().stream()
                        .anyMatch(line ->
                                line.contains(" n1#") && line.contains(" posts WRITE ") && line.endsWith("+1]")));
        lite.close();
        assertThat(write).as("the write without an answer").isCompletedExceptionally();
        Waits.until("the session has ended", () -> server.sessions().isEmpty());
    }

    @AfterEach
    void stop() {
        server.close();
        cluster.close();
    }

    private byte dataThere() {
        byte[] data = new byte[1];
        there.read(0, data);
        return data[0];
    }

    @Test
    void theLockPassesOnOnlyAfterTheWriteHasLanded() {
        assertThat(lock.tryAcquire())
                .as("the lock while the write may still land")
                .isEmpty();
        assertThat(dataThere()).isZero();
        network.resume("n1");
        try (HeldLock next = lock.acquire(Waits.seconds(10))) {
            assertThat(next.isHeld()).isTrue();
            assertThat(dataThere()).isEqualTo((byte) 1);
        }
        Waits.until(
                "its handle is gone", () -> cluster.node(1).figures().usage().handles() == handles);
    }

    @Test
    void theLockPassesOnWhenTheConnectionOfTheWriteIsCut() {
        assertThat(lock.tryAcquire())
                .as("the lock while the write may still land")
                .isEmpty();
        network.drop("n1", "n0");
        network.resume("n1");
        try (HeldLock next = lock.acquire(Waits.seconds(10))) {
            there.write(0, new byte[] {2}); // the first write has landed before the cut, or never does
            cluster.awaitConnections();
            assertThat(dataThere()).isEqualTo((byte) 2);
            assertThat(next.isHeld()).isTrue();
        }
    }

    @Test
    void aNodeThatStopsMeanwhileDoesNotWaitForTheWrite() {
        assertThat(lock.tryAcquire())
                .as("the lock while the write may still land")
                .isEmpty();
        NodeTimes.setEndMax(cluster.node(1), Waits.seconds(1));
        cluster.stop("n1"); // the write lands before this returns, or never
        there.write(0, new byte[] {2});
        assertThat(dataThere()).isEqualTo((byte) 2);
    }
}
