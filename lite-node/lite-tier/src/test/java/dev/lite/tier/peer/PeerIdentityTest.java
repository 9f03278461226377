package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.NodeRecord;
import dev.lite.fabric.FabricIdentity.Peer;
import dev.lite.testing.Waits;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Which peers a node takes for the node that they say they are. */
class PeerIdentityTest {
    private static final String ADDRESS = "10.0.0.2:7000";
    private static final long PROCESS = 42;

    private final NodeKey theirs = NodeKey.generate();
    private final PeerIdentity identity = new PeerIdentity(NodeKey.generate());
    private final NodeRecord registered = record("node-2", 2, PROCESS, theirs.text());

    private static NodeRecord record(String name, int id, long process, String key) {
        return new NodeRecord(name, id, 1, "host/boot", 1 << 20, Map.of("tcp", ADDRESS), process, key, false);
    }

    private static byte[] hello(String name, int id, long process) {
        return new Hello("c", id, name, process, new UUID(1, 2), 4096, 64).encode();
    }

    private @Nullable String objection(
            byte[] hello, byte[] key, @Nullable String dialled, @Nullable Set<String> names) {
        return identity.objectionTo(new Peer("tcp", dialled, hello, key, names), Duration.ZERO);
    }

    private @Nullable String objection(byte[] hello, byte[] key) {
        return objection(hello, key, null, null);
    }

    @Test
    void aPeerIsTheNodeWhoseKeyNameProcessAndAddressItHas() {
        identity.setLive(List.of(registered));
        byte[] hello = hello("node-2", 2, PROCESS);

        assertThat(objection(hello, theirs.publicKey())).isNull();
        assertThat(objection(hello, theirs.publicKey(), ADDRESS, Set.of("x", "NODE-2")))
                .isNull();
    }

    @Test
    void everythingElseIsRefused() {
        identity.setLive(
                List.of(registered, record("node-3", 3, 7, NodeKey.generate().text())));
        byte[] key = theirs.publicKey();
        byte[] hello = hello("node-2", 2, PROCESS);

        assertThat(objection(hello, NodeKey.generate().publicKey()))
                .isEqualTo("it says that it is node node-2, but it does not have the key of that node");
        assertThat(objection(hello("node-2", 3, 7), key))
                .isEqualTo("it says that it is node node-2, but id 3 belongs to node node-3");
        assertThat(objection(hello("node-3", 3, 7), key)).contains("does not have the key of that node");
        assertThat(objection(hello("node-2", 2, PROCESS + 1), key))
                .isEqualTo("it says that it is node node-2 (id 2), but that process of it is not registered");
        assertThat(objection(hello, key, "10.0.0.9:7000", null))
                .isEqualTo("it is node node-2, but 10.0.0.9:7000 is not the address of that node");
        assertThat(objection(hello, key, ADDRESS, Set.of("node-3")))
                .isEqualTo("its certificate is for [node-3], and not for node node-2");
        assertThat(objection(hello, key, ADDRESS, Set.of())).contains("its certificate is for []");
        assertThat(objection(new byte[3], key)).contains("are no hello");
    }

    @Test
    void aNodeOfAnotherVersionIsLeftToTheLinksIfItHasTheKeyOfItsNode() {
        identity.setLive(List.of(registered));
        byte[] hello = hello("node-2", 2, PROCESS);
        ByteBuffer.wrap(hello).putInt(Hello.PROTOCOL_VERSION + 2).putInt(Hello.PROTOCOL_VERSION + 1);

        assertThat(objection(hello, theirs.publicKey(), ADDRESS, null)).isNull();
        assertThat(objection(hello, NodeKey.generate().publicKey())).contains("does not have the key of that node");
        assertThat(objection(hello, theirs.publicKey(), "10.0.0.9:7000", null)).contains("is not the address");
        identity.setLive(List.of(record("node-2", 2, PROCESS, "")));
        assertThat(objection(hello, theirs.publicKey())).contains("upgrade this node");
    }

    @Test
    void aNodeThatJustRegisteredIsAwaited() {
        Peer peer = new Peer("tcp", null, hello("node-2", 2, PROCESS), theirs.publicKey(), null);
        CompletableFuture<String> answer =
                CompletableFuture.supplyAsync(() -> String.valueOf(identity.objectionTo(peer, Waits.seconds(20))));

        identity.setLive(List.of(registered));

        assertThat(answer).succeedsWithin(Waits.seconds(20)).isEqualTo("null");
    }

    @Test
    void theLastRegistrationCountsWhileZooKeeperIsAway() {
        identity.setLive(List.of(registered));
        identity.setLive(List.of());

        assertThat(objection(hello("node-2", 2, PROCESS), theirs.publicKey())).isNull();
    }
}
