package dev.lite.fabric.shm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import com.sun.management.ThreadMXBean;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricException;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Objects;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Isolated("it counts the descriptors of its process")
class ShmFabricTest {
    @TempDir
    Path directory;

    @Test
    void theDriverIsFoundByItsName() {
        assertThat(ServiceLoader.load(FabricProvider.class))
                .filteredOn(provider -> provider.name().equals("shm"))
                .singleElement()
                .satisfies(provider -> assertThat(provider.unavailable()).isEmpty());
        assertThat(ShmFabricProvider.missing(directory, "a tmpfs")).isEmpty();
        assertThat(ShmFabricProvider.missing(directory.resolve("none"), "a tmpfs"))
                .hasValueSatisfying(reason -> assertThat(reason).contains("/none: mount a tmpfs there"));
    }

    @ParameterizedTest
    @CsvSource({
        "ring-entries,1000,power of two",
        "ring-entries,1,2 to 65536",
        "ring-entries,many,'number, not ''many'''",
        "connections-max,0,1 to 4096",
        "handshake-timeout-ms,60001,1 to 60000",
        "ringentries,8,no option 'ringentries'"
    })
    void anInvalidOptionIsRefusedWithItsName(String name, String value, String words) {
        var config = new FabricConfig("a", new byte[0], directory, Map.of(name, value));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> openAndClose(config))
                .withMessageContaining(name)
                .withMessageContaining(words.startsWith("no option") ? "no option" : words);
    }

    private static void openAndClose(FabricConfig config) {
        try (var node = new TestNode(config.runDirectory(), config.node(), config.options())) {
            assertThat(node.fabric).isNotNull();
        }
    }

    @Test
    void memoryWithoutAFileIsRefused() {
        try (var node = new TestNode(directory, "a");
                var arena = Arena.ofConfined();
                var other = new ShmFabricProvider().open(config("b"), node);
                var small = SharedMemory.createMemfd("small", 4096)) {
            var anonymous = arena.allocate(8192, 4096);
            assertThatExceptionOfType(FabricException.class)
                    .isThrownBy(() -> other.register(new FabricMemory(anonymous, FabricMemory.NO_DESCRIPTOR)))
                    .withMessageContaining("no descriptor");
            assertThatExceptionOfType(FabricException.class)
                    .isThrownBy(() -> other.register(new FabricMemory(anonymous, small.descriptor())))
                    .withMessageContaining("4096 bytes; the memory has 8192");
            assertThatIllegalStateException().isThrownBy(() -> other.connect(node.fabric.localAddress()));
        }
    }

    @Test
    void memoryCanBeRegisteredOnlyOnce() {
        try (var node = new TestNode(directory, "a")) {
            assertThatIllegalStateException()
                    .isThrownBy(() ->
                            node.fabric.register(new FabricMemory(node.memory.segment(), node.memory.descriptor())));
        }
    }

    @Test
    void aSecondNodeInTheSameRunDirectoryIsRefused() {
        try (var node = new TestNode(directory, "a");
                var memory = SharedMemory.createMemfd("second", 4096);
                var second = new ShmFabricProvider()
                        .open(new FabricConfig("a", new byte[0], directory.resolve("a"), Map.of()), node)) {
            assertThatExceptionOfType(FabricException.class)
                    .isThrownBy(() -> second.register(new FabricMemory(memory.segment(), memory.descriptor())))
                    .withMessageContaining("EADDRINUSE")
                    .withMessageContaining(node.fabric.localAddress());
        }
    }

    @Test
    void onlyTheOwnerCanUseTheSocketAndCloseRemovesIt() throws IOException {
        Path socket;
        try (var node = new TestNode(directory, "a")) {
            socket = Path.of(node.fabric.localAddress());
            assertThat(socket).isEqualTo(directory.resolve("a/shm.sock"));
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)))
                    .isEqualTo("rw-------");
        }
        assertThat(socket).doesNotExist();
    }

    @Test
    void eachOperationChangesThePeersMemoryAndCompletesAtOnce() {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            assertThat(toB.hello()).isEqualTo("hello of b".getBytes(StandardCharsets.UTF_8));
            assertThat(b.accepted.getFirst().hello()).isEqualTo("hello of a".getBytes(StandardCharsets.UTF_8));
            assertThat(toB.remoteSize()).isEqualTo(TestNode.MEMORY_BYTES);
            RawMemory.putLong(a.address() + 8, 11);
            assertThat(toB.write(1024, a.address() + 8, 8, 1)).isEqualTo(Post.DONE);
            assertThat(RawMemory.getLong(b.address() + 1024)).isEqualTo(11);
            assertThat(toB.fetchAdd(1024, 4, a.address() + 16, 2)).isEqualTo(Post.DONE);
            assertThat(RawMemory.getLong(a.address() + 16)).isEqualTo(11);
            assertThat(toB.compareAndSwap(1024, 15, 99, a.address() + 16, 3)).isEqualTo(Post.DONE);
            assertThat(RawMemory.getLong(a.address() + 16)).isEqualTo(15);
            assertThat(toB.compareAndSwap(1024, 15, 100, a.address() + 16, 4)).isEqualTo(Post.DONE);
            assertThat(RawMemory.getLong(a.address() + 16)).isEqualTo(99);
            assertThat(toB.read(1024, a.address() + 24, 8, 5)).isEqualTo(Post.DONE);
            assertThat(RawMemory.getLong(a.address() + 24)).isEqualTo(99);
            assertThat(RawMemory.getLong(toB.mappedAddress() + 1024)).isEqualTo(99);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "-1,8",
        "0,-1",
        "1048576,1",
        "1048575,2",
        "9223372036854775807,8",
        "8,9223372036854775807",
        "9223372036854775807,9223372036854775807"
    })
    void aRangeOutsideOfThePeersMemoryThrows(long offset, long length) {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            var thrown = assertThatExceptionOfType(IndexOutOfBoundsException.class);
            thrown.isThrownBy(() -> toB.read(offset, a.address(), length, 0)).withMessageContaining("1048576 bytes");
            thrown.isThrownBy(() -> toB.write(offset, a.address(), length, 0));
            thrown.isThrownBy(() -> toB.writeImm(offset, a.address(), length, 1, 0));
        }
    }

    @Test
    void aWordMustBeInsideTheMemoryAndAligned() {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            assertThatExceptionOfType(IndexOutOfBoundsException.class)
                    .isThrownBy(() -> toB.fetchAdd(TestNode.MEMORY_BYTES - 7, 1, a.address(), 0));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> toB.fetchAdd(12, 1, a.address(), 0))
                    .withMessageContaining("multiple of 8, not 12");
            assertThatIllegalArgumentException().isThrownBy(() -> toB.compareAndSwap(1, 0, 1, a.address(), 0));
            assertThat(toB.write(TestNode.MEMORY_BYTES, a.address(), 0, 0)).isEqualTo(Post.DONE);
        }
    }

    @Test
    void beforeItIsConnectedAnEndpointAnswersClosed() {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var endpoint = a.fabric.connect(b.fabric.localAddress());
            assertThat(endpoint.write(0, a.address(), 8, 0)).isEqualTo(Post.CLOSED);
            assertThat(endpoint.remoteSize()).isZero();
            assertThat(endpoint.mappedAddress()).isZero();
            assertThat(endpoint.hello()).isEmpty();
        }
    }

    @Test
    void aNodeConnectsToItself() {
        try (var a = new TestNode(directory, "a")) {
            var toItself = a.connectTo(a);
            assertThat(toItself.mappedAddress()).isEqualTo(a.address());
            RawMemory.putLong(a.address(), 5);
            assertThat(toItself.writeImm(64, a.address(), 8, 7, 0)).isEqualTo(Post.DONE);
            TestNode.until("the immediate", () -> !a.immediates.isEmpty(), a);
            assertThat(a.immediates).containsExactly(7);
            assertThat(RawMemory.getLong(a.address() + 64)).isEqualTo(5);
            toItself.close();
            TestNode.until("both endpoints are disconnected", () -> a.disconnected.size() == 2, a);
        }
    }

    @Test
    void connectingToAnUnusedAddressIsReportedOnceWithTheAddress() {
        try (var a = new TestNode(directory, "a")) {
            var nobody = directory.resolve("none/shm.sock").toString();
            var endpoint = a.fabric.connect(nobody);
            var tooLong = a.fabric.connect("/" + "x".repeat(200));
            var noPath = a.fabric.connect("a\0b");
            TestNode.until("all failed", () -> a.disconnected.size() == 3, a);
            assertThat(a.disconnected).containsExactlyInAnyOrder(endpoint, tooLong, noPath);
            assertThat(a.reasons)
                    .anySatisfy(reason -> assertThat(reason).contains(nobody).contains("ENOENT"))
                    .anySatisfy(reason -> assertThat(reason).contains("1 to 106 bytes"));
            assertThat(a.connected).isEmpty();
            assertThat(a.fabric.poll(16)).isZero();
        }
    }

    /** Short data is in the ring entry, and the receiver's poll copies it to its destination; the sender copies long data itself. */
    @ParameterizedTest
    @CsvSource({"8, 2, 10", "112, 2, 10", "113, 7, 10", "4096, 7, 10", "5000, 7, 10"})
    void aFullRingAnswersBusyWithoutCopyingDataAndDrains(int length, long afterThree, long afterAll) {
        try (var a = new TestNode(directory, "a", Map.of("ring-entries", "8"));
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            RawMemory.putLong(b.address(), -1);
            for (int i = 0; i < 8; i++) {
                RawMemory.putLong(a.address(), i);
                assertThat(toB.writeImm(0, a.address(), length, i, 0)).isEqualTo(Post.DONE);
            }
            RawMemory.putLong(a.address(), 8);
            assertThat(toB.writeImm(0, a.address(), length, 8, 0)).isEqualTo(Post.BUSY);
            assertThat(b.fabric.poll(3)).isEqualTo(3);
            assertThat(RawMemory.getLong(b.address())).isEqualTo(afterThree);
            for (int i = 8; i < 11; i++) {
                RawMemory.putLong(a.address(), i);
                assertThat(toB.writeImm(0, a.address(), length, i, 0)).isEqualTo(Post.DONE);
            }
            RawMemory.putLong(a.address(), 11);
            assertThat(toB.writeImm(0, a.address(), length, 11, 0)).isEqualTo(Post.BUSY);
            TestNode.until("drained", () -> b.immediates.size() == 11, b);
            assertThat(b.immediates).containsExactly(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
            assertThat(RawMemory.getLong(b.address())).isEqualTo(afterAll);
        }
    }

    @Test
    void aPeerThatSendsDataForAnOutsideDestinationIsDisconnectedAndOthersAreNot() {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b");
                var c = new TestNode(directory, "c")) {
            var toB = (ShmEndpoint) a.connectTo(b);
            var fromC = c.connectTo(b);
            SendRing ring = Objects.requireNonNull(toB.link()).send();
            ring.publish(ring.tryTake(), 1, 1L << 40, a.address(), 8);
            TestNode.until("b cut it", () -> !b.disconnected.isEmpty(), b);
            assertThat(b.reasons.getFirst()).contains("outside of this node's memory");
            assertThat(b.immediates).isEmpty();
            assertThat(fromC.writeImm(0, c.address(), 8, 5, 0)).isEqualTo(Post.DONE);
            TestNode.until("the immediate of c arrived", () -> b.immediates.size() == 1, b);
        }
    }

    @Test
    void immediatesSentBeforeACloseAreDelivered() {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            b.calls.clear();
            for (int i = 0; i < 40; i++) {
                assertThat(toB.writeImm(0, a.address(), 0, i, 0)).isEqualTo(Post.DONE);
            }
            toB.close();
            TestNode.until("b is disconnected", () -> !b.disconnected.isEmpty(), b);
            assertThat(b.immediates).hasSize(40);
            assertThat(b.calls).endsWith("immediate 39", "disconnected");
            assertThat(b.reasons.getFirst())
                    .contains("process " + ProcessHandle.current().pid())
                    .contains("closed the connection or ended");
        }
    }

    @Test
    void aPeerThatClosesBeforeTheFirstPollIsReportedConnectedThenItsImmediateThenDisconnected() {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.fabric.connect(b.fabric.localAddress());
            // b does not poll yet.
            TestNode.until("a is connected", () -> a.connected.contains(toB), a);
            assertThat(toB.writeImm(0, a.address(), 0, 1, 0)).isEqualTo(Post.DONE);
            toB.close();
            TestNode.until("b is disconnected", () -> !b.disconnected.isEmpty(), b);
            assertThat(b.calls).containsExactly("connected", "immediate 1", "disconnected");
        }
    }

    @Test
    void aClosedEndpointAnswersClosedIsDisconnectedOnceAndKeepsItsMapping() {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            RawMemory.putLong(b.address() + 8, 4);
            // Not delivered, because the endpoint is closed before the next poll.
            assertThat(b.accepted.getFirst().writeImm(0, b.address(), 0, 1, 0)).isEqualTo(Post.DONE);
            toB.close();
            toB.close();
            assertThat(toB.write(0, a.address(), 8, 0)).isEqualTo(Post.CLOSED);
            assertThat(toB.writeImm(0, a.address(), 8, 0, 0)).isEqualTo(Post.CLOSED);
            assertThat(toB.read(0, a.address(), 8, 0)).isEqualTo(Post.CLOSED);
            assertThat(toB.fetchAdd(0, 1, a.address(), 0)).isEqualTo(Post.CLOSED);
            assertThat(toB.compareAndSwap(0, 1, 2, a.address(), 0)).isEqualTo(Post.CLOSED);
            TestNode.until("both are disconnected", () -> !a.disconnected.isEmpty() && !b.disconnected.isEmpty(), a, b);
            assertThat(a.disconnected).containsExactly(toB);
            assertThat(a.reasons).containsExactly("closed by this node");
            assertThat(a.immediates).isEmpty();
            assertThat(RawMemory.getLong(toB.mappedAddress() + 8)).isEqualTo(4);
            assertThat(b.accepted.getFirst().write(0, b.address(), 8, 0)).isEqualTo(Post.CLOSED);
        }
    }

    @Test
    void anEndpointClosedWhileItConnectsIsDisconnectedOnce() {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            for (int i = 1; i <= 20; i++) {
                int round = i;
                var endpoint = a.fabric.connect(b.fabric.localAddress());
                if (round % 2 == 0) {
                    Thread.onSpinWait();
                    b.fabric.poll(1);
                }
                endpoint.close();
                TestNode.until("disconnected", () -> a.disconnected.size() == round, a, b);
            }
            assertThat(a.connected).isEmpty();
            TestNode.until("b has no connection left", () -> b.accepted.size() == b.disconnected.size(), a, b);
        }
    }

    @Test
    void afterCloseReturnsNoPostTouchesThePeersMemory() throws InterruptedException {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            for (int round = 0; round < 50; round++) {
                var toB = a.connectTo(b);
                var posting = new AtomicInteger();
                var writers = new Thread[2];
                for (int i = 0; i < writers.length; i++) {
                    writers[i] = Thread.ofPlatform().daemon().start(() -> {
                        while (toB.write(0, a.address(), 4096, 0) == Post.DONE) {
                            posting.incrementAndGet();
                        }
                    });
                }
                while (posting.get() < 100) {
                    Thread.onSpinWait();
                }
                toB.close();
                b.memory.segment().fill((byte) 0x55);
                for (var writer : writers) {
                    writer.join();
                }
                assertThat(b.memory.segment().asSlice(0, 4096).toArray(JAVA_LONG))
                        .containsOnly(0x5555555555555555L);
            }
        }
    }

    @Test
    void aPeerThatReconnectsIsMappedOnce() {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var before = a.connectTo(b);
            before.close();
            var after = a.connectTo(b);
            assertThat(after.mappedAddress()).isEqualTo(before.mappedAddress());
            assertThat(a.connectTo(b).mappedAddress()).isEqualTo(before.mappedAddress());
        }
    }

    @Test
    void closingAFabricDisconnectsEveryEndpointAndReleasesEverything() throws IOException {
        long descriptorsBefore = TestNode.openDescriptors();
        try (var b = new TestNode(directory, "b")) {
            var a = new TestNode(directory, "a");
            var first = a.connectTo(b);
            var second = b.connectTo(a);
            var underWay = a.fabric.connect(b.fabric.localAddress());
            a.close();
            assertThat(a.disconnected).contains(first, underWay).hasSize(3);
            assertThat(a.reasons.getFirst()).isEqualTo("this node closed the fabric");
            int calls = a.calls.size();
            assertThat(a.fabric.poll(16)).isZero();
            a.fabric.await(TestNode.nanos(20));
            a.fabric.wakeup();
            a.fabric.close();
            assertThat(a.calls).hasSize(calls);
            assertThat(first.write(0, b.address(), 8, 0)).isEqualTo(Post.CLOSED);
            assertThatIllegalStateException().isThrownBy(() -> a.fabric.connect(b.fabric.localAddress()));
            TestNode.until("b is disconnected", () -> b.disconnected.contains(second), b);
        }
        assertThat(Files.readString(Path.of("/proc/self/maps")))
                .doesNotContain("arena-a", "arena-b", "lite-rings", "lite-doorbell");
        assertThat(TestNode.openDescriptors()).isEqualTo(descriptorsBefore);
        assertThat(Thread.getAllStackTraces().keySet())
                .noneMatch(thread -> thread.getName().startsWith("lite-shm-"));
    }

    @Test
    void aMillionImmediatesOfFourThreadsArriveInOrderPerThread() throws InterruptedException {
        int threads = 4;
        int perThread = 250_000;
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            var senders = new Thread[threads];
            for (int t = 0; t < threads; t++) {
                int thread = t;
                senders[t] = Thread.ofPlatform().daemon().start(() -> {
                    for (int i = 0; i < perThread; i++) {
                        while (toB.writeImm(0, a.address(), 8, (thread << 24) | i, 0) == Post.BUSY) {
                            Thread.onSpinWait();
                        }
                    }
                });
            }
            TestNode.until("all arrived", () -> b.immediates.size() == threads * perThread, b);
            var next = new int[threads];
            for (int immediate : b.immediates) {
                assertThat(immediate & 0xffffff).isEqualTo(next[immediate >>> 24]++);
            }
            assertThat(next).containsOnly(perThread);
            for (var sender : senders) {
                sender.join();
            }
        }
    }

    @Test
    void theDataOfAnImmediateIsVisibleBeforeIt() throws InterruptedException {
        int bytes = 256 << 10;
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            // Polls while the data is being copied, and checks its last bytes, which are copied last.
            var wrong = new AtomicInteger();
            b.onImmediate = immediate -> {
                if (RawMemory.getInt(b.address() + bytes - Integer.BYTES) != immediate) {
                    wrong.incrementAndGet();
                }
            };
            var seen = new AtomicInteger();
            var receiver = Thread.ofPlatform().daemon().start(() -> {
                while (seen.get() < 300) {
                    seen.addAndGet(b.fabric.poll(16));
                }
            });
            for (int i = 1; i <= 300; i++) {
                RawMemory.putInt(a.address() + bytes - Integer.BYTES, i);
                assertThat(toB.writeImm(0, a.address(), bytes, i, 0)).isEqualTo(Post.DONE);
                while (seen.get() < i) {
                    Thread.onSpinWait();
                }
            }
            receiver.join();
            assertThat(wrong.get()).isZero();
        }
    }

    @Test
    void aBusyPeerDoesNotStarveAnother() {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b");
                var c = new TestNode(directory, "c")) {
            var busy = a.connectTo(c);
            var quiet = b.connectTo(c);
            assertThat(quiet.writeImm(0, b.address(), 0, -1, 0)).isEqualTo(Post.DONE);
            for (int polls = 0; polls < 4; polls++) {
                while (busy.writeImm(0, a.address(), 0, 1, 0) == Post.DONE) {
                    Thread.onSpinWait();
                }
                assertThat(c.fabric.poll(16)).isEqualTo(16);
            }
            assertThat(c.immediates).contains(-1);
        }
    }

    @Test
    void postsAndPollsAllocateNothing() {
        var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            var count = new int[1];
            b.onImmediate = immediate -> count[0]++;
            // Repeats until the JIT compiler is done, which takes longer on a busy machine.
            long deadline = System.nanoTime() + TestNode.nanos(20);
            long allocatedMin = Long.MAX_VALUE;
            int rounds = 0;
            for (; allocatedMin >= 10_000 && System.nanoTime() < deadline; rounds++) {
                long before = threads.getCurrentThreadAllocatedBytes();
                for (int i = 0; i < 10_000; i++) {
                    toB.writeImm(0, a.address(), 64, i, 0);
                    toB.write(0, a.address(), 64, 0);
                    toB.read(0, a.address(), 64, 0);
                    toB.fetchAdd(0, 1, a.address(), 0);
                    b.fabric.await(1_000);
                    b.fabric.poll(16);
                }
                allocatedMin = Math.min(allocatedMin, threads.getCurrentThreadAllocatedBytes() - before);
            }
            assertThat(count[0]).isEqualTo(rounds * 10_000);
            assertThat(allocatedMin).isLessThan(10_000);
        }
    }

    private FabricConfig config(String name) {
        return new FabricConfig(name, new byte[0], directory, Map.of());
    }
}
