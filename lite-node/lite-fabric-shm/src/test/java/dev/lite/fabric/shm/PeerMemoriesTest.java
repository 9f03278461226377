package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.fabric.driver.HandshakeException;
import org.junit.jupiter.api.Test;

/** What a node keeps of its peers has limits. */
class PeerMemoriesTest {

    /** A process that cannot be seen counts as alive: each restart of its node, after a crash, would be watched for ever. */
    @Test
    void noMoreNodesAreWatchedThanTheLimit() {
        try (var memories = new PeerMemories(2);
                var process = PeerProcess.watch(0);
                var first = Doorbell.create();
                var second = Doorbell.create();
                var third = Doorbell.create()) {
            var presence = memories.presence(process, first);
            assertThat(memories.presence(process, second)).isNotSameAs(presence);
            assertThat(memories.presence(process, first))
                    .as("one that is watched already")
                    .isSameAs(presence);

            assertThatThrownBy(() -> memories.presence(process, third))
                    .isInstanceOf(HandshakeException.class)
                    .hasMessageContaining("2 nodes");

            second.leave();
            assertThat(memories.presence(process, third).hasMapped()).isTrue();
        }
    }
}
