package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.RpcServer;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.control.ControlMessage;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A request to cancel calls that a busy node begins late. */
class LateCancelTest {
    private static final Duration LONG = Waits.seconds(20);

    @TempDir(factory = InDevShm.class)
    Path root;

    /** The calls of a restarted node have the same numbers as those of its former process. */
    @Test
    void aRequestOfAFormerConnectionCancelsNoCallOfTheNextOne() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2)) {
            PeerLinks links = Inside.field(cluster.node(0), "links", PeerLinks.class);
            RpcServer server = cluster.attach(0).rpc().serve("f");
            Peer former = links.awaitPeer(1, Deadline.in(LONG));
            former.endpoint().close();
            Waits.until("the node is connected again", () -> links.peer(1) != null && links.peer(1) != former);
            CompletableFuture<byte[]> calling = cluster.attach(1).rpc().callAsync("n0", "f", new byte[8], LONG);
            ReceivedCall call = (ReceivedCall) server.receive(LONG);
            ControlMessage request = new ControlMessage()
                    .putCount("calls", 1, RpcCancels.CALLS_MAX)
                    .putInt(Objects.requireNonNull(call.ring).id)
                    .putInt(0)
                    .putInt(call.slot)
                    .putLong(call.callId);

            ControlMessage reply = new ControlMessage();
            Inside.field(cluster.node(0), "rpc", RpcEngine.class).cancelCalls(former, request.written(), reply);

            assertThat(reply.written().getByte()).isZero();
            call.reply(new byte[] {7});
            assertThat(calling).succeedsWithin(LONG).isEqualTo(new byte[] {7});
        }
    }
}
