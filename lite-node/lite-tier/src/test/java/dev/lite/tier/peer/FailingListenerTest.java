package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A part of the node that fails when a connection begins or ends, for example because there is no memory. */
class FailingListenerTest {
    @TempDir(factory = InDevShm.class)
    Path root;

    private static final class Failing implements PeerListener {
        @Override
        public void peerConnected(Peer peer) {
            throw new OutOfMemoryError("on purpose");
        }

        @Override
        public void peerDisconnected(Peer peer, String reason) {
            throw new OutOfMemoryError("on purpose");
        }
    }

    private static final class Recording implements PeerListener {
        final List<String> news = new CopyOnWriteArrayList<>();

        @Override
        public void peerConnected(Peer peer) {
            news.add("connected");
        }

        @Override
        public void peerDisconnected(Peer peer, String reason) {
            news.add("disconnected");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"shm", "tcp"})
    void theOthersLearnOfItAndNoEndedConnectionIsKept(String fabric) {
        FabricProvider provider = fabric.equals("shm") ? new ShmFabricProvider() : new TcpFabricProvider();
        try (TestCluster cluster = new TestCluster(root, provider).start(2)) {
            PeerLinks links = Inside.field(cluster.node(0), "links", PeerLinks.class);
            Recording recording = new Recording();
            links.addListener(new Failing());
            links.addListener(recording);
            Peer former = links.awaitPeer(1, Deadline.in(Waits.seconds(10)));
            former.endpoint().close();

            Waits.until("the others have learnt of it", () -> recording.news.size() == 2);
            assertThat(recording.news).containsExactlyInAnyOrder("disconnected", "connected");
            Peer next = links.awaitPeer(1, Deadline.in(Waits.seconds(10)));
            assertThat(next).isNotSameAs(former);
            Waits.until(
                    "the former one is forgotten",
                    () -> !Inside.field(links, "linked", Set.class).contains(former));
        }
    }
}
