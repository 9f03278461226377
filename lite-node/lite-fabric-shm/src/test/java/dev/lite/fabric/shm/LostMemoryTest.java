package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.fabric.AddressRange;
import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.Post;
import dev.lite.fabric.driver.HandshakeException;
import dev.lite.os.SharedMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The memory of a peer that ended for good is unmapped, and no other one. */
class LostMemoryTest {
    private static final List<AddressRange> NONE = List.of();

    @TempDir
    Path directory;

    /** Whether this process has a range mapped that begins at the address. */
    private static boolean isMapped(long address) throws IOException {
        String start = Long.toHexString(address) + "-";
        try (var lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.anyMatch(line -> line.startsWith(start));
        }
    }

    private static void awaitLost(Fabric fabric, AddressRange memory, TestNode... nodes) {
        TestNode.until("the memory is lost", () -> fabric.lostMemories().contains(memory), nodes);
    }

    private static void assertUnmaps(Fabric fabric, AddressRange memory) throws IOException {
        assertThat(isMapped(memory.start())).isTrue();
        fabric.unmap(memory);
        assertThat(isMapped(memory.start())).isFalse();
        assertThat(fabric.lostMemories()).isEmpty();
        fabric.unmap(memory); // does nothing
    }

    @Test
    void thatOfAKilledProcess() throws IOException {
        try (var a = new TestNode(directory, "a");
                var peer = TwoProcessesTest.Peer.start(directory)) {
            var toPeer = a.fabric.connect(peer.address());
            TestNode.until("connected", () -> a.connected.contains(toPeer), a);
            var memory = new AddressRange(toPeer.mappedAddress(), toPeer.remoteSize());
            assertThat(a.fabric.lostMemories()).isEmpty();
            a.fabric.unmap(memory); // does nothing: it is not lost
            peer.process().destroyForcibly();
            awaitLost(a.fabric, memory, a);
            assertThat(a.disconnected).contains(toPeer);
            assertUnmaps(a.fabric, memory);
        }
    }

    @Test
    void thatOfAProcessThatClosedItsNodeAndLives() throws IOException {
        try (var a = new TestNode(directory, "a");
                var peer = TwoProcessesTest.Peer.start(directory)) {
            var toPeer = a.fabric.connect(peer.address());
            TestNode.until("connected", () -> a.connected.contains(toPeer), a);
            var memory = new AddressRange(toPeer.mappedAddress(), toPeer.remoteSize());
            assertThat(toPeer.writeImm(0, a.address(), 0, -1, 0)).isEqualTo(Post.DONE);
            awaitLost(a.fabric, memory, a);
            assertThat(peer.process().isAlive()).isTrue();
            assertUnmaps(a.fabric, memory);
        }
    }

    @Test
    void thatOfANodeOfThisProcess() throws IOException {
        try (var a = new TestNode(directory, "a")) {
            AddressRange memory;
            try (var b = new TestNode(directory, "b")) {
                var toB = a.connectTo(b);
                memory = new AddressRange(toB.mappedAddress(), toB.remoteSize());
                assertThat(a.fabric.lostMemories()).isEmpty();
            }
            awaitLost(a.fabric, memory, a);
            assertUnmaps(a.fabric, memory);
        }
    }

    @Test
    void notThatOfANodeWhoseConnectionEnded() throws IOException {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            var memory = new AddressRange(toB.mappedAddress(), toB.remoteSize());
            toB.close();
            TestNode.until("both are disconnected", () -> !a.disconnected.isEmpty() && !b.disconnected.isEmpty(), a, b);
            assertThat(a.fabric.lostMemories()).isEqualTo(NONE);
            a.fabric.unmap(memory);
            assertThat(isMapped(memory.start())).isTrue();
            assertThat(a.connectTo(b).mappedAddress()).isEqualTo(memory.start());
        }
    }

    /** A node that ended may return with it. */
    @Test
    void notOneWithAName() throws IOException {
        Path file = Path.of("/dev/shm/lite-test-" + ProcessHandle.current().pid());
        try (var a = new TestNode(directory, "a");
                var named = SharedMemory.createFile(file, TestNode.MEMORY_BYTES)) {
            AddressRange memory;
            var config = new FabricConfig("b", new byte[0], Files.createDirectories(directory.resolve("b")), Map.of());
            try (var handler = new TestNode(directory, "c");
                    var b = new ShmFabricProvider().open(config, handler)) {
                b.register(new FabricMemory(named.segment(), named.descriptor()));
                var toB = a.fabric.connect(b.localAddress());
                while (!a.connected.contains(toB)) {
                    b.poll(16);
                    a.fabric.poll(16);
                }
                memory = new AddressRange(toB.mappedAddress(), toB.remoteSize());
            }
            TestNode.until("b is gone", () -> !a.disconnected.isEmpty(), a);
            assertThat(a.fabric.lostMemories()).isEqualTo(NONE);
            a.fabric.unmap(memory);
            assertThat(isMapped(memory.start())).isTrue();
            Files.delete(file);
            awaitLost(a.fabric, memory, a);
            assertUnmaps(a.fabric, memory);
        } finally {
            Files.deleteIfExists(file);
        }
    }

    @Test
    void aNewConnectionToALostMemoryIsRefused() {
        var memory = PeerMemory.of(SharedMemory.createMemfd("lost", 4096));
        try (var here = PeerProcess.watch((int) ProcessHandle.current().pid());
                var doorbell = Doorbell.create();
                var owner = new PeerPresence(here, doorbell.mapAgain())) {
            memory.link();
            memory.offeredBy(owner);
            memory.unlink();
            memory.link();
            doorbell.leave();
            assertThat(memory.isLost()).as("a connection is left").isFalse();
            memory.unlink();
            assertThat(memory.isLost()).isTrue();
            assertThatThrownBy(memory::link).isInstanceOf(HandshakeException.class);
        } finally {
            memory.close();
        }
    }
}
