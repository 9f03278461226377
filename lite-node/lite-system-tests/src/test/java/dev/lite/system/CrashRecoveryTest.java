package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.SessionLostException;
import dev.lite.local.LocalCluster;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The effects of SIGKILL on a node, and that it does not affect others. Real processes. */
@ExtendWith(SharedClusters.Resolver.class)
class CrashRecoveryTest {
    private static final int BYTES = 21 << 20; // six chunks over three nodes, the last one not full
    private static final long SEED = System.nanoTime();

    private SharedClusters.Borrowed borrowed;
    private LocalCluster cluster;

    @BeforeEach
    void borrow(SharedClusters clusters) {
        System.out.println("seed " + SEED);
        borrowed = clusters.borrow("shm");
        cluster = borrowed.cluster();
    }

    @AfterEach
    void returnCluster() {
        borrowed.close();
    }

    @Test
    void aKilledAndRestartedNodeHasEveryByte() {
        byte[] bytes = randomBytes(1);
        try (Lite lite = Clusters.attach(cluster, 1)) {
            LmrHandle handle = malloc(lite, "crash/every-byte");
            handle.write(0, bytes);
            assertThat(handle.extents()).extracting(Extent::node).contains("node-1", "node-2", "node-3");

            cluster.kill(2);
            cluster.startNode(2);

            assertThat(read(handle))
                    .as("through the handle from before the crash")
                    .isEqualTo(bytes);
            try (Lite other = Clusters.attach(cluster, 2)) {
                LmrHandle again = other.memory().map("crash/every-byte", Permission.READ, Permission.WRITE);
                assertThat(read(again)).as("mapped at the killed node").isEqualTo(bytes);
                byte[] more = randomBytes(2);
                again.write(0, more);
                assertThat(read(handle))
                        .as("written at the killed node, read at the other")
                        .isEqualTo(more);
            }
            handle.free();
        }
    }

    @Test
    void otherNodesContinueWhileANodeIsDown() {
        byte[] bytes = randomBytes(3);
        try (Lite lite = Clusters.attach(cluster, 1)) {
            LmrHandle handle = malloc(lite, "crash/others");
            handle.write(0, bytes);

            cluster.kill(3);

            assertThat(read(handle)).as("including the bytes on the dead node").isEqualTo(bytes);
            LmrHandle local = lite.memory().malloc(LmrSpec.of(1 << 20).withName("crash/local"));
            assertThat(local.fetchAdd(0, 5)).isZero();
            local.free();

            cluster.startNode(3);
            assertThat(read(handle)).isEqualTo(bytes);
            handle.free();
        }
    }

    @Test
    void allNodesKilledAtOnceRestartWithEveryByte() {
        byte[] bytes = randomBytes(4);
        Lite lite = Clusters.attach(cluster, 1);
        LmrHandle handle = malloc(lite, "crash/all");
        handle.write(0, bytes);
        handle.fetchAdd(0, 1);
        handle.fetchAdd(0, -1);

        List.of(1, 2, 3).forEach(cluster::kill);
        assertThatThrownBy(() -> read(handle))
                .isInstanceOf(SessionLostException.class)
                .hasMessageContaining("node-1");
        assertThat(lite.isOpen()).isFalse();
        lite.close();
        cluster.startNodes();

        try (Lite again = Clusters.attach(cluster, 3)) {
            LmrHandle mapped = again.memory().map("crash/all", Permission.READ, Permission.MASTER);
            assertThat(read(mapped)).isEqualTo(bytes);
            mapped.free();
        }
    }

    @Test
    void theEndOfAnApplicationFreesOnlyItsAnonymousMemory() {
        try (Lite second = Clusters.attach(cluster, 1)) {
            LmrHandle named = second.memory().malloc(LmrSpec.of(4096).withName("crash/named"));
            named.fetchAdd(8, 42);
            try (Lite first = Clusters.attach(cluster, 1)) {
                LmrHandle ofFirst = first.memory().malloc(LmrSpec.of(1 << 20));
                ofFirst.fetchAdd(0, 7);
            }
            assertThat(named.fetchAdd(8, 0)).isEqualTo(42);
            named.free();
        }
    }

    private static LmrHandle malloc(Lite lite, String name) {
        return lite.memory()
                .malloc(
                        LmrSpec.of(BYTES)
                                .withName(name)
                                .withPlacement(Placement.spread())
                                .withDefaultPermissions(Permission.READ),
                        Duration.ofSeconds(20));
    }

    private static byte[] randomBytes(int salt) {
        byte[] bytes = new byte[BYTES];
        new Random(SEED + salt).nextBytes(bytes);
        return bytes;
    }

    private static byte[] read(LmrHandle handle) {
        byte[] bytes = new byte[BYTES];
        handle.read(0, bytes);
        return bytes;
    }
}
