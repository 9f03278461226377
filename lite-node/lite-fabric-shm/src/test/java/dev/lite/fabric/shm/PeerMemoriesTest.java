package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.fabric.driver.HandshakeException;
import dev.lite.testing.Inside;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.stream.Stream;
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

    /** Else each try of a peer to connect would take one more descriptor. */
    @Test
    void aProcessForWhichThereIsNoMemoryIsNotWatched() throws IOException {
        Process peer = new ProcessBuilder("sleep", "60").start();
        try (var memories = new PeerMemories()) {
            assertThat(memories.process((int) peer.pid())).isNotNull();
            assertThat(watchesOf(peer)).isOne();
        }
        assertThat(watchesOf(peer)).isZero();
        try (var memories = new PeerMemories()) {
            Inside.set(memories, "processes", new HashMap<Integer, PeerProcess>() {
                @Override
                public PeerProcess put(Integer pid, PeerProcess process) {
                    throw new OutOfMemoryError("on purpose");
                }
            });
            assertThatThrownBy(() -> memories.process((int) peer.pid())).isInstanceOf(OutOfMemoryError.class);
            assertThat(watchesOf(peer)).isZero();
        } finally {
            peer.destroyForcibly();
        }
    }

    /** How many descriptors of this process watch another one. */
    private static long watchesOf(Process other) throws IOException {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fdinfo"))) {
            return descriptors
                    .filter(descriptor -> lines(descriptor).contains("Pid:\t" + other.pid()))
                    .count();
        }
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) { // it is closed already
            return List.of();
        }
    }
}
