package dev.lite.tier.node;

import static dev.lite.tier.node.LiteNodeContract.DATA;
import static dev.lite.tier.node.LiteNodeContract.bytes;
import static dev.lite.tier.node.LiteNodeContract.read;
import static dev.lite.tier.node.LiteNodeContract.shared;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.Lite;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.SessionLostException;
import dev.lite.testing.Waits;
import dev.lite.tier.memory.ArenaException;
import dev.lite.tier.testing.Effort;
import dev.lite.tier.testing.Load;
import dev.lite.tier.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Nodes that stop, restart, or cannot start. */
interface RestartCases extends NodeCases {

    @Test
    default void aRestartedNodeKeepsEveryByteOfItsArenaAndMappersContinue() {
        TestCluster cluster = cluster(3);
        byte[] data = bytes(new Random(3), 900_000);
        LmrHandle master =
                cluster.attach(0).memory().malloc(shared(900_000, "kept").withPlacement(Placement.spread()));
        LmrHandle mapper = cluster.attach(1).memory().map("kept", DATA[0], DATA);
        master.write(0, data);
        long before = cluster.node(2).figures().usage().allocatedBytes();
        cluster.stop("n2");
        cluster.start("n2");
        assertThat(cluster.node(2).figures().usage().allocatedBytes()).isEqualTo(before);
        cluster.awaitConnections();
        assertThat(Arrays.equals(read(mapper, 0, 900_000), data)).isTrue();
        mapper.write(17, new byte[] {1, 2, 3});
        LmrHandle again = cluster.attach(2).memory().map("kept", DATA[0], DATA);
        assertThat(read(again, 17, 3)).containsExactly(1, 2, 3);
        assertThat(again.fetchAdd(0, 1)).isEqualTo(mapper.fetchAdd(0, 1) - 1);
        master.free();
        assertThatThrownBy(() -> again.read(0, new byte[1])).isInstanceOf(LmrFreedException.class);
        Waits.until(
                "its memory is free", () -> cluster.node(2).figures().usage().allocatedBytes() < before);
    }

    @Test
    default void anLmrOfANodeThatRestartedWithANewArenaIsUnavailableAndNeverAnotherLmr() throws IOException {
        TestCluster cluster = cluster(3);
        LmrHandle master = cluster.attach(0).memory().malloc(shared(64, "lost").withPlacement(Placement.on("n2")));
        LmrHandle mapper = cluster.attach(1).memory().map("lost", DATA[0], DATA);
        LmrHandle elsewhere =
                cluster.attach(0).memory().malloc(shared(64, "safe").withPlacement(Placement.on("n1")));
        mapper.write(0, new byte[] {1});
        cluster.stop("n2");
        Files.delete(cluster.arenas().resolve("c").resolve("n2").resolve("arena"));
        cluster.start("n2");
        cluster.awaitConnections();
        for (LmrHandle handle : List.of(master, mapper)) {
            assertThatExceptionOfType(LmrUnavailableException.class)
                    .isThrownBy(() -> handle.read(0, new byte[1]))
                    .withMessageContaining("LMR \"lost\"")
                    .withMessageContaining("node n2 restarted with a new arena");
            assertThatThrownBy(() -> handle.write(0, new byte[1])).isInstanceOf(LmrUnavailableException.class);
        }
        elsewhere.write(0, new byte[] {5});
        // Another LMR has the same offset in the new arena by now.
        LmrHandle next = cluster.attach(2).memory().malloc(LmrSpec.of(64));
        next.write(0, new byte[] {9});
        for (int node = 0; node < 3; node++) {
            Lite lite = cluster.attach(node);
            assertThatThrownBy(() -> lite.memory().map("lost", Permission.READ))
                    .as("mapping it at node %d", node)
                    .isInstanceOf(LmrUnavailableException.class);
        }
        assertThat(next.id()).isNotEqualTo(master.id());
        mapper.unmap();
        master.unmap();
    }

    @Test
    default void anLmrThatWasLostWithAnArenaCanBeFreedByItsMasterAndItsNameIsUsableAgain() throws IOException {
        TestCluster cluster = cluster(3);
        Lite lite = cluster.attach(0);
        byte[] data = bytes(new Random(5), 64);
        long former = lite.memory()
                .malloc(shared(900_000, "lost").withPlacement(Placement.spread()))
                .id();
        LmrHandle before = lite.memory().map("lost", Permission.MASTER);
        LmrHandle reading = lite.memory().map("lost", Permission.READ);
        cluster.stop("n2");
        Files.delete(cluster.arenas().resolve("c").resolve("n2").resolve("arena"));
        cluster.start("n2");
        cluster.awaitConnections();
        LmrHandle next = cluster.attach(2).memory().malloc(LmrSpec.of(64)); // may have the same offset in the new arena
        next.write(0, data);
        Waits.until(
                "the handle to its data ended",
                () -> catchThrowable(() -> reading.read(0, new byte[1])) instanceof LmrUnavailableException);

        LmrHandle master = lite.memory().map("lost", Permission.MASTER);
        LmrHandle atLoser = cluster.attach(2).memory().map("lost", Permission.MASTER);
        for (LmrHandle moving : List.of(before, master, atLoser)) {
            assertThatThrownBy(() -> moving.read(0, new byte[1])).isInstanceOf(LmrPermissionException.class);
            assertThatThrownBy(() -> moving.moveTo("n1"))
                    .isInstanceOf(LmrUnavailableException.class)
                    .hasMessageContaining("LMR \"lost\": node n2 restarted with a new arena; its old data is lost");
        }
        atLoser.unmap();
        master.grant("other", Set.of(Permission.READ));
        assertThatThrownBy(() -> lite.memory().map("lost", Permission.MASTER, DATA))
                .isInstanceOf(LmrUnavailableException.class);
        master.free();

        LmrHandle again = lite.memory().malloc(shared(64, "lost"));
        again.write(0, new byte[] {1});
        assertThat(again.id()).isNotEqualTo(former);
        assertThat(read(next, 0, 64)).isEqualTo(data);
    }

    @Test
    default void idsAreNeverReusedEvenByANodeWithANewArena() throws IOException {
        TestCluster cluster = cluster(1);
        Set<Long> ids = new HashSet<>();
        for (int life = 0; life < 3; life++) {
            LtMemory memory = cluster.attach(0).memory();
            for (int count = 0; count < 5; count++) {
                assertThat(ids.add(memory.malloc(LmrSpec.of(8)).id())).isTrue();
            }
            cluster.stop("n0");
            if (life == 1) {
                Files.delete(cluster.arenas().resolve("c").resolve("n0").resolve("arena"));
            }
            cluster.start("n0");
        }
    }

    /** Calls every operation while each of the nodes is closed. Nothing crashes or hangs, and all exceptions are typed. */
    @Test
    default void closingANodeDuringOperationsEndsEveryCallWithATypedException() {
        for (int round = 0; round < 3; round++) {
            closeUnderLoad("n" + round);
        }
    }

    private void closeUnderLoad(String closing) {
        TestCluster cluster = shortDeadlineCluster().start(3);
        Load load = new Load();
        LmrHandle shared =
                cluster.attach(0).memory().malloc(shared(300_000, "s").withPlacement(Placement.spread()));
        for (int index = 0; index < 3; index++) {
            Lite lite = cluster.attach(index);
            LmrHandle mine = lite.memory().map("s", DATA[0], DATA);
            load.repeat(() -> mine.write(0, new byte[200_000]));
            load.repeat(() -> mine.fetchAdd(8, 1));
            load.repeat(() -> lite.memory()
                    .malloc(LmrSpec.of(50_000).withPlacement(Placement.spread()), Waits.seconds(1))
                    .free());
            load.repeat(() -> lite.memory().malloc(LmrSpec.of(64)).free());
            load.repeat(() -> lite.memory()
                    .map("s", Set.of(Permission.READ), Waits.seconds(1))
                    .unmap());
        }
        Waits.until("it is busy", () -> load.done() > Effort.times(300));
        cluster.stop(closing);
        assertThat(load.end()).isEmpty();
        assertThat(shared.size()).isEqualTo(300_000);
        cluster.close();
        try {
            for (int node = 0; node < 3; node++) {
                Files.deleteIfExists(
                        cluster.arenas().resolve("c").resolve("n" + node).resolve("arena"));
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    default void aClosedNodeRefusesEveryCallAndRemovesAnArenaThatIsNotRetained() {
        TestCluster cluster = cluster(0);
        LiteNode node = cluster.start(cluster.config("n0").toBuilder()
                .arena(root().resolve("gone"), false)
                .build());
        Lite lite = node.attach("app");
        LmrHandle handle = lite.memory().malloc(LmrSpec.of(8));
        cluster.stop("n0");
        node.close();
        assertThat(root().resolve("gone")).doesNotExist();
        assertThatThrownBy(() -> handle.read(0, new byte[8])).isInstanceOf(SessionLostException.class);
        assertThatThrownBy(() -> lite.memory().malloc(LmrSpec.of(8))).isInstanceOf(SessionLostException.class);
        Lite late = node.attach("late");
        assertThatThrownBy(() -> late.memory().malloc(LmrSpec.of(8))).isInstanceOf(SessionLostException.class);
    }

    @Test
    default void aNodeThatCannotStartReportsTheReasonAndDoesNotDisturbOthers() {
        TestCluster cluster = cluster(2);
        assertThatThrownBy(() -> cluster.start("n1"))
                .isInstanceOf(ArenaException.class)
                .hasMessageContaining("already runs on this host");
        LiteNodeConfig elsewhere = cluster.in("n1", root().resolve("run-elsewhere")).toBuilder()
                .arena(root().resolve("elsewhere"), false)
                .build();
        assertThatThrownBy(() -> cluster.start(elsewhere))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessageContaining("n1");
        assertThat(root().resolve("elsewhere")).doesNotExist();
        cluster.awaitConnections();
        LmrHandle handle = cluster.attach(0).memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("n1")));
        handle.write(0, new byte[] {1});
    }
}
