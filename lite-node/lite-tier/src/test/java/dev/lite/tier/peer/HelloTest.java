package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The version of the protocol between nodes, in what they exchange first. */
class HelloTest {
    private static final Hello HELLO = new Hello("shop", 3, "node-3", 77, new UUID(1, 2), 4096, 64);

    private static byte[] hello(int version, int oldest, int extraBytes) {
        byte[] bytes = HELLO.encode();
        ByteBuffer.wrap(bytes).putInt(version).putInt(oldest);
        return Arrays.copyOf(bytes, bytes.length + extraBytes);
    }

    @Test
    void aHelloIsReadAsItWasWritten() {
        assertThat(Hello.decode(HELLO.encode())).isEqualTo(HELLO);
    }

    @Test
    void aNodeOfTheNextVersionThatWorksWithThisOneIsAccepted() {
        assertThat(Hello.decode(hello(Hello.PROTOCOL_VERSION + 1, Hello.PROTOCOL_VERSION, 12)))
                .isEqualTo(HELLO);
    }

    @Test
    void anOlderOrMuchNewerNodeIsRefusedWithBothVersions() {
        assertThatThrownBy(() -> Hello.decode(hello(Hello.OLDEST_VERSION - 1, 0, 0)))
                .hasMessage(
                        "the peer speaks version 7 of the node protocol, this node works with 8 to 8: upgrade the peer");
        // The number, for the health; it is at the same place in every version from 8 on.
        assertThatThrownBy(() -> Hello.decode(hello(Hello.OLDEST_VERSION - 1, 0, 0)))
                .isInstanceOfSatisfying(
                        Hello.OtherVersionException.class,
                        e -> assertThat(e.nodeId()).isEqualTo(-1));
        assertThatThrownBy(() -> Hello.decode(hello(Hello.PROTOCOL_VERSION + 2, Hello.PROTOCOL_VERSION + 1, 0)))
                .isInstanceOfSatisfying(
                        Hello.OtherVersionException.class,
                        e -> assertThat(e.nodeId()).isEqualTo(3));
        assertThatThrownBy(() -> Hello.decode(hello(Hello.PROTOCOL_VERSION + 2, Hello.PROTOCOL_VERSION + 1, 0)))
                .hasMessage(
                        "the peer works with versions 9 to 10 of the node protocol, this node speaks 8: upgrade this node");
    }
}
