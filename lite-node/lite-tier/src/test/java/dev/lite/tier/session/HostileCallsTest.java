package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.os.RawMemory;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionMessage.RpcOpen;
import dev.lite.session.protocol.SessionMessage.RpcOpened;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Applications that misuse calls and messages at a real node. */
class HostileCallsTest {
    private static final int LAST_SLOT = 9;

    @TempDir(factory = InDevShm.class)
    Path directory;

    private TestCluster cluster;
    private SessionServer server;
    private Lite neighbour;

    @BeforeEach
    void start() {
        cluster = new TestCluster(directory, new ShmFabricProvider()).start(1);
        server = new SessionServer(SessionServerConfig.of(directory.resolve("s")), cluster.node(0));
        server.start();
        neighbour = cluster.node(0).attach("neighbour");
    }

    @AfterEach
    void stop() {
        neighbour.close();
        server.close();
        cluster.close();
    }

    @Test
    void aSlotWithACallUnderWayIsNotTakenAgain() throws ProtocolException {
        try (var never = neighbour.rpc().serve("never");
                RawClient bad = new RawClient(directory.resolve("s")).attach()) {
            assertThat(never).isNotNull();
            long function = open(bad, RpcKind.CLIENT, "never");
            submitCall(bad, 3, function);
            awaitBegun(bad);
            submitCall(bad, 3, function);
            assertThat(bad.awaitGoodbye()).contains("slot 3").contains("under way");
        }
    }

    @Test
    void aSlotThatWaitsForAMessageIsNotTakenAgain() throws ProtocolException {
        try (RawClient bad = new RawClient(directory.resolve("s")).attach()) {
            long port = open(bad, RpcKind.PORT, "silent");
            bad.command(4, Op.RECEIVE, port, 0, 0);
            timeout(bad, 4);
            bad.submit(1 << 4);
            awaitBegun(bad);
            bad.command(4, Op.READ, port, 0, 0);
            bad.submit(1 << 4);
            assertThat(bad.awaitGoodbye()).contains("slot 4").contains("under way");
        }
    }

    private static long open(RawClient client, RpcKind kind, String name) throws ProtocolException {
        client.channel.send(new RpcOpen(1, kind, "n0", name));
        return client.channel.receive() instanceof RpcOpened opened ? opened.id() : -1;
    }

    private static void submitCall(RawClient client, int slot, long function) {
        client.command(slot, Op.CALL, function, 0, 8);
        RawMemory.putLong(client.base() + SessionArea.slotOffset(slot) + SessionArea.OPERAND0, 0);
        RawMemory.putLong(client.base() + SessionArea.slotOffset(slot) + SessionArea.OPERAND1, 0);
        timeout(client, slot);
        client.submit(1L << slot);
    }

    private static void timeout(RawClient client, int slot) {
        RawMemory.putLong(
                client.base() + SessionArea.slotOffset(slot) + SessionArea.TIMEOUT_NS, TimeUnit.MINUTES.toNanos(10));
    }

    /**
     * Waits until the node has begun what was submitted so far: it serves commands in turn, and refuses this one at once. To see the
     * command fetched is not enough, since the node may not have read it yet.
     */
    private static void awaitBegun(RawClient client) {
        Waits.until(
                "the node fetched the command",
                () -> RawMemory.getLongVolatile(client.base() + SessionArea.SUBMITTED) == 0);
        client.command(LAST_SLOT, Op.READ, -1, 0, 0);
        client.submit(1L << LAST_SLOT);
        Waits.until(
                "the node has refused a command without a handle",
                () -> RawMemory.getIntAcquire(client.base() + SessionArea.slotOffset(LAST_SLOT) + SessionArea.STATE)
                        == SessionArea.STATE_DONE);
    }
}
