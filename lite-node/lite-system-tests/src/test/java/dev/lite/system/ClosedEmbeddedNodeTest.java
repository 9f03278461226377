package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Extent;
import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.embedded.EmbeddedNode;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An embedded node that was closed or killed: the cluster does not wait for it, and keeps nothing of it that it does not need. */
@ExtendWith(SharedClusters.Resolver.class)
class ClosedEmbeddedNodeTest {
    @ParameterizedTest
    @ValueSource(strings = {"shm", "tcp"})
    void movesAndFreesDoNotWaitForIt(String fabric, SharedClusters clusters) {
        String name = "closed-embedded/" + fabric;
        try (SharedClusters.Borrowed borrowed = clusters.borrow(fabric);
                Lite app = Clusters.attach(borrowed.cluster(), 1)) {
            LmrHandle moving = app.memory()
                    .malloc(LmrSpec.of(4096)
                            .withName(name)
                            .withPlacement(Placement.on("node-1"))
                            .withDefaultPermissions(Permission.ATOMIC));
            try (EmbeddedNode node = EmbeddedNode.start(
                            borrowed.embedded("closed").arenaBytes(16 << 20).build());
                    Lite lite = node.attach("app")) {
                assertThat(lite.memory().map(name, Permission.ATOMIC).fetchAdd(0, 1))
                        .isZero();
            }

            moving.moveTo("node-2");

            assertThat(moving.extents()).extracting(Extent::node).containsExactly("node-2");
            moving.free();
            Waits.until("the name is free", () -> isFree(app, name));
        }
    }

    /** Else each start of an application would take memory of the host, until the nodes restart. */
    @Test
    void theOtherNodesUnmapItsMemory(SharedClusters clusters) {
        try (SharedClusters.Borrowed borrowed = clusters.borrow("shm")) {
            LocalCluster cluster = borrowed.cluster();
            for (int start = 0; start < 2; start++) {
                try (EmbeddedNode node = EmbeddedNode.start(borrowed.embedded("unmapped")
                                .arenaBytes(16 << 20)
                                .build());
                        Lite lite = node.attach("app")) {
                    LmrHandle handle = lite.memory().malloc(LmrSpec.of(4096).withPlacement(Placement.on("node-1")));
                    assertThat(handle.fetchAdd(0, 1)).isZero();
                    Waits.until("the nodes have it mapped", () -> unnamedMemories(cluster) == SharedClusters.NODES);
                }
                Waits.until("the nodes have unmapped it", () -> unnamedMemories(cluster) == 0);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"shm", "tcp"})
    void aLockThatAKilledApplicationUsedFirstPassesOnAndItsMemoryIsUnmapped(String fabric, SharedClusters clusters)
            throws IOException {
        String name = "killed-embedded/" + fabric;
        try (SharedClusters.Borrowed borrowed = clusters.borrow(fabric);
                Lite app = Clusters.attach(borrowed.cluster(), 1)) {
            LocalCluster cluster = borrowed.cluster();
            Process holder = LockHolder.start(
                    EmbeddedLockHolder.class,
                    cluster.zookeeper(),
                    cluster.name(),
                    SharedClusters.SECRET,
                    "killed",
                    name);
            try {
                long token = LockHolder.awaitToken(holder);
                holder.destroyForcibly();
                try (HeldLock held = app.sync().lock(name).acquire(Waits.seconds(60))) {
                    assertThat(held.fencingToken()).isGreaterThan(token);
                }
            } finally {
                holder.destroyForcibly();
            }
            Waits.until("the nodes have unmapped its memory", () -> unnamedMemories(cluster) == 0);
        }
    }

    /** How often the processes of the nodes have an arena without a name mapped. */
    private static long unnamedMemories(LocalCluster cluster) {
        return IntStream.rangeClosed(1, SharedClusters.NODES)
                .mapToLong(number -> unnamedMemories(cluster.node(number).pid()))
                .sum();
    }

    private static long unnamedMemories(long process) {
        try (Stream<String> lines = Files.lines(Path.of("/proc/" + process + "/maps"))) {
            return lines.filter(line -> line.contains("/dev/shm/") && line.endsWith(" (deleted)"))
                    .count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isFree(Lite app, String name) {
        try {
            app.memory().malloc(LmrSpec.of(8).withName(name)).free();
            return true;
        } catch (LmrExistsException e) {
            return false;
        }
    }
}
