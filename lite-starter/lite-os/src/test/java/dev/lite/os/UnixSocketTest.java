package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.lite.testing.NoDescriptors;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

@Isolated("it counts the descriptors of its process")
class UnixSocketTest {
    private static final int OWNER_ONLY = 0600;
    private static final int BACKLOG = 8;

    @TempDir
    Path directory;

    private final MemorySegment buffer = Arena.ofAuto().allocate(1024);

    @Test
    void messageBoundariesAreKept() {
        try (var pair = pair()) {
            send(pair.client(), "one");
            send(pair.client(), "and two");
            assertThat(receive(pair.server())).isEqualTo("one");
            assertThat(receive(pair.server())).isEqualTo("and two");
            send(pair.server(), "back");
            assertThat(receive(pair.client())).isEqualTo("back");
        }
    }

    @Test
    void aMessageLongerThanTheBufferIsAnErrorAndTheNextOneIsComplete() {
        try (var pair = pair()) {
            send(pair.client(), "0123456789");
            send(pair.client(), "next");
            assertThat(errno(() -> pair.server().receive(buffer.asSlice(0, 4)))).isEqualTo(Errno.EMSGSIZE);
            assertThat(receive(pair.server())).isEqualTo("next");
        }
    }

    @Test
    void aTruncatedMessageLeavesNoDescriptorOpen() throws IOException {
        try (var pair = pair();
                var memory = SharedMemory.createMemfd("truncated-test", 4096)) {
            pair.client().send(text("0123456789"), 10, memory.descriptor());
            assertThat(errno(() -> pair.server().receive(buffer.asSlice(0, 4)))).isEqualTo(Errno.EMSGSIZE);
            assertThat(openDescriptorsOf("truncated-test")).isOne();
        }
    }

    @Test
    void anEmptyMessageIsRefusedBecauseItWouldMeanTheEnd() {
        try (var pair = pair()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> pair.client().send(buffer, 0))
                    .withMessageContaining("not 0");
            assertThatIllegalArgumentException().isThrownBy(() -> pair.client().send(buffer, 1025));
        }
    }

    @Test
    void heapMemoryAndClosedMemoryAreRefused() {
        try (var pair = pair()) {
            var heap = MemorySegment.ofArray(new byte[8]);
            assertThatIllegalArgumentException().isThrownBy(() -> pair.client().send(heap, 8));
            assertThatIllegalArgumentException().isThrownBy(() -> pair.client().receive(heap));
            var arena = Arena.ofConfined();
            var closed = arena.allocate(8);
            arena.close();
            assertThatIllegalStateException().isThrownBy(() -> pair.client().send(closed, 8));
        }
    }

    @Test
    void descriptorsArePassedWithAMessage() {
        try (var pair = pair();
                var first = SharedMemory.createMemfd("first", 4096);
                var second = SharedMemory.createMemfd("second", 8192)) {
            pair.client().send(text("two of them"), 11, first.descriptor(), second.descriptor());
            send(pair.client(), "none");
            var received = pair.server().receive(buffer);
            assertThat(received.length()).isEqualTo(11);
            assertThat(received.descriptors()).hasSize(2);
            try (var firstMapped = SharedMemory.fromDescriptor(received.descriptors()[0], 4096, true);
                    var secondMapped = SharedMemory.fromDescriptor(received.descriptors()[1], 8192, true)) {
                first.segment().set(JAVA_LONG, 0, 11);
                second.segment().set(JAVA_LONG, 0, 22);
                assertThat(firstMapped.segment().get(JAVA_LONG, 0)).isEqualTo(11);
                assertThat(secondMapped.segment().get(JAVA_LONG, 0)).isEqualTo(22);
            }
            assertThat(pair.server().receive(buffer).descriptors()).isEmpty();
        }
    }

    @Test
    void descriptorsUpToTheLimitArePassedAndOneMoreIsRefused() throws IOException {
        try (var pair = pair();
                var memory = SharedMemory.createMemfd("many-test", 4096)) {
            var descriptors = new int[UnixSocket.DESCRIPTORS_MAX];
            Arrays.fill(descriptors, memory.descriptor());
            pair.client().send(buffer, 1, descriptors);
            var received = pair.server().receive(buffer);
            assertThat(received.descriptors()).hasSize(UnixSocket.DESCRIPTORS_MAX);
            assertThat(openDescriptorsOf("many-test")).isEqualTo(UnixSocket.DESCRIPTORS_MAX + 1);
            received.closeDescriptors();
            assertThat(openDescriptorsOf("many-test")).isOne();
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> pair.client().send(buffer, 1, new int[UnixSocket.DESCRIPTORS_MAX + 1]))
                    .withMessageContaining("at most 16");
        }
    }

    @Test
    void aMessageComesWithoutItsDescriptorsIfTheProcessHasNoneLeft() throws IOException {
        try (var pair = pair();
                var memory = SharedMemory.createMemfd("none-left-test", 4096)) {
            pair.client().send(text("first"), 5, memory.descriptor());
            pair.server().receive(buffer).closeDescriptors();
            pair.client().send(text("with one"), 8, memory.descriptor());
            var received = NoDescriptors.during(() -> pair.server().receive(buffer));
            assertThat(received.length()).isEqualTo(8);
            assertThat(received.descriptors()).isEmpty();
            assertThat(received.lacksDescriptors()).isTrue();
            assertThat(openDescriptorsOf("none-left-test")).isOne();
            pair.client().send(text("next"), 4, memory.descriptor());
            var next = pair.server().receive(buffer);
            assertThat(next.descriptors()).hasSize(1);
            assertThat(next.lacksDescriptors()).isFalse();
            next.closeDescriptors();
        }
    }

    @Test
    void strangersPassNoDescriptorsAndGetThem() throws IOException {
        try (var server = UnixServerSocket.bindForStrangers(directory.resolve("s"), OWNER_ONLY, BACKLOG);
                var client = UnixSocket.connect(server.path());
                var accepted = server.accept();
                var memory = SharedMemory.createMemfd("strangers-test", 4096)) {
            assumeThat(server.refusesDescriptors()).as("since Linux 6.16").isTrue();
            assertThat(errno(() -> client.send(text("with"), 4, memory.descriptor())))
                    .isEqualTo(Errno.EPERM);
            send(client, "without");
            assertThat(receive(accepted)).isEqualTo("without");
            accepted.send(text("back"), 4, memory.descriptor());
            client.receive(buffer).closeDescriptors();
            assertThat(openDescriptorsOf("strangers-test")).isOne();
        }
    }

    @Test
    void memoryIsPassedBetweenTwoProcesses() throws InterruptedException {
        var path = directory.resolve("s");
        try (var server = UnixServerSocket.bind(path, OWNER_ONLY, BACKLOG);
                var child = ChildJvm.start(PassesMemory.class, path.toString());
                var peer = server.accept()) {
            assertThat(peer.peerCredentials().pid()).isEqualTo(child.pid());
            var received = peer.receive(buffer);
            try (var memory = SharedMemory.fromDescriptor(received.descriptors()[0], 4096, true)) {
                assertThat(memory.segment().get(JAVA_LONG, 0)).isEqualTo(4711);
                memory.segment().set(JAVA_LONG, 8, 1147);
                send(peer, "done");
                assertThat(child.exitValue()).isZero();
                assertThat(peer.receive(buffer).isEnd()).isTrue();
                assertThat(memory.segment().get(JAVA_LONG, 16))
                        .as("written by a process that has ended")
                        .isEqualTo(1148);
            }
        }
    }

    /** The other process: creates and passes memory, and adds to its contents after the answer. */
    static final class PassesMemory {
        private PassesMemory() {}

        public static void main(String[] arguments) {
            try (var socket = UnixSocket.connect(Path.of(arguments[0]));
                    var memory = SharedMemory.createMemfd("passed", 4096);
                    var arena = Arena.ofConfined()) {
                memory.segment().set(JAVA_LONG, 0, 4711);
                socket.send(arena.allocate(1), 1, memory.descriptor());
                socket.receive(arena.allocate(16));
                memory.segment().set(JAVA_LONG, 16, memory.segment().get(JAVA_LONG, 8) + 1);
            }
        }
    }

    @Test
    void thePeersCredentialsComeFromTheKernel() throws IOException {
        try (var pair = pair()) {
            int uid = (int) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
            int gid = (int) Files.getAttribute(Path.of("/proc/self"), "unix:gid");
            var expected =
                    new PeerCredentials(Math.toIntExact(ProcessHandle.current().pid()), uid, gid);
            assertThat(pair.server().peerCredentials()).isEqualTo(expected);
            assertThat(pair.client().peerCredentials()).isEqualTo(expected);
        }
    }

    @Test
    void theSocketHasTheRequestedModeWithAnyUmask() throws IOException {
        var path = directory.resolve("s");
        try (var server = UnixServerSocket.bind(path, 0762, BACKLOG)) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(server.path())))
                    .isEqualTo("rwxrw--w-");
        }
        assertThat(path).doesNotExist();
    }

    @Test
    void aSocketLeftByADeadProcessIsReplaced() throws InterruptedException {
        var path = directory.resolve("s");
        try (var child = ChildJvm.start(Listens.class, path.toString())) {
            assertThat(child.line()).isEqualTo("listening");
            var refused =
                    catchThrowableOfType(OsException.class, () -> UnixServerSocket.bind(path, OWNER_ONLY, BACKLOG));
            assertThat(refused.errno()).isEqualTo(Errno.EADDRINUSE);
            assertThat(refused).hasMessageContaining(path.toString()).hasMessageContaining("process " + child.pid());
            child.kill();
            child.exitValue();
            assertThat(path).exists();
            assertThat(errno(() -> UnixSocket.connect(path))).isEqualTo(Errno.ECONNREFUSED);
            try (var server = UnixServerSocket.bind(path, OWNER_ONLY, BACKLOG);
                    var client = UnixSocket.connect(path);
                    var accepted = server.accept()) {
                send(client, "here");
                assertThat(receive(accepted)).isEqualTo("here");
            }
        }
    }

    /** The other process: listens until it is killed. */
    static final class Listens {
        private Listens() {}

        public static void main(String[] arguments) {
            try (var server = UnixServerSocket.bind(Path.of(arguments[0]), OWNER_ONLY, BACKLOG)) {
                System.out.println("listening");
                while (true) {
                    server.accept().close();
                }
            }
        }
    }

    @Test
    void anotherFileAtThePathIsNeverRemoved() throws IOException {
        var path = Files.writeString(directory.resolve("s"), "mine");
        assertThat(errno(() -> UnixServerSocket.bind(path, OWNER_ONLY, BACKLOG)))
                .isEqualTo(Errno.EADDRINUSE);
        assertThat(path).hasContent("mine");
    }

    @Test
    void aServerRemovesOnlyItsOwnSocket() throws IOException {
        var path = directory.resolve("s");
        var first = UnixServerSocket.bind(path, OWNER_ONLY, BACKLOG);
        Files.delete(path);
        try (var second = UnixServerSocket.bind(path, OWNER_ONLY, BACKLOG)) {
            first.close();
            first.close();
            assertThat(second.path()).exists();
        }
        assertThat(path).doesNotExist();
    }

    @Test
    void aPathThatIsTooLongIsRefusedWithTheLimit() {
        var longest = Path.of("/tmp/" + "x".repeat(101));
        var tooLong = Path.of("/tmp/" + "x".repeat(102));
        assertThat(errno(() -> UnixSocket.connect(longest))).isEqualTo(Errno.ENOENT);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> UnixServerSocket.bind(tooLong, OWNER_ONLY, BACKLOG))
                .withMessageContaining("1 to 106 bytes")
                .withMessageContaining("has 107");
        assertThatIllegalArgumentException().isThrownBy(() -> UnixSocket.connect(tooLong));
    }

    @Test
    void aMissingSocketAndAMissingDirectoryAreDistinguished() {
        assertThat(errno(() -> UnixSocket.connect(directory.resolve("none")))).isEqualTo(Errno.ENOENT);
        assertThat(errno(() -> UnixServerSocket.bind(directory.resolve("no/s"), OWNER_ONLY, BACKLOG)))
                .isEqualTo(Errno.ENOENT);
    }

    @Test
    void aReceiveEndsAtItsTimeout() {
        try (var pair = pair()) {
            pair.server().setTimeout(20_000_000, 0);
            long start = System.nanoTime();
            assertThat(errno(() -> pair.server().receive(buffer))).isEqualTo(Errno.EAGAIN);
            assertThat(System.nanoTime() - start).isGreaterThan(10_000_000);
            assertThatIllegalArgumentException().isThrownBy(() -> pair.server().setTimeout(-1, 0));
        }
    }

    @Test
    void aSendToAPeerThatDoesNotReadEndsAtItsTimeout() {
        try (var pair = pair()) {
            pair.client().setTimeout(0, 20_000_000);
            assertThat(errno(() -> {
                        for (int i = 0; i < 100_000; i++) {
                            pair.client().send(buffer, buffer.byteSize());
                        }
                    }))
                    .isEqualTo(Errno.EAGAIN);
        }
    }

    @Test
    void shutdownWakesABlockedReceiverAtBothEnds() throws Exception {
        try (var pair = pair()) {
            var here = inThread(() -> pair.client().receive(Arena.ofAuto().allocate(16)));
            var there = inThread(() -> pair.server().receive(Arena.ofAuto().allocate(16)));
            pair.client().shutdown();
            assertThat(get(here).isEnd()).isTrue();
            assertThat(get(there).isEnd()).isTrue();
            assertThat(errno(() -> pair.client().send(buffer, 1))).isEqualTo(Errno.EPIPE);
            pair.client().close();
            pair.client().shutdown();
        }
    }

    @Test
    void closeWakesABlockedReceiverAndLaterCallsFail() throws Exception {
        try (var pair = pair()) {
            var blocked = inThread(() -> pair.server().receive(Arena.ofAuto().allocate(16)));
            pair.server().close();
            assertThat(get(blocked).isEnd()).isTrue();
            assertThat(errno(() -> pair.server().receive(buffer))).isEqualTo(Errno.EBADF);
            assertThat(errno(() -> pair.server().peerCredentials())).isEqualTo(Errno.EBADF);
        }
    }

    @Test
    void aMessageSentBeforeThePeerClosedIsStillReceived() {
        try (var pair = pair()) {
            // The server closes with an unread message, so the kernel reports a reset to the client first.
            send(pair.client(), "unread");
            send(pair.server(), "goodbye");
            pair.server().close();
            assertThat(receive(pair.client())).isEqualTo("goodbye");
            assertThat(pair.client().receive(buffer).isEnd()).isTrue();
        }
    }

    @Test
    void closeWakesABlockedAccept() throws Exception {
        var server = UnixServerSocket.bind(directory.resolve("s"), OWNER_ONLY, BACKLOG);
        var blocked = inThread(server::accept);
        server.close();
        assertThat(blocked)
                .failsWithin(Waits.seconds(20))
                .withThrowableThat()
                .withCauseInstanceOf(OsException.class)
                .havingCause()
                .withMessageContaining("EINVAL");
        assertThat(errno(server::accept)).isEqualTo(Errno.EBADF);
    }

    private record Pair(UnixServerSocket listener, UnixSocket client, UnixSocket server) implements AutoCloseable {
        @Override
        public void close() {
            client.close();
            server.close();
            listener.close();
        }
    }

    private Pair pair() {
        var listener = UnixServerSocket.bind(directory.resolve("s"), OWNER_ONLY, BACKLOG);
        var client = UnixSocket.connect(listener.path());
        return new Pair(listener, client, listener.accept());
    }

    private static MemorySegment text(String text) {
        return Arena.ofAuto().allocateFrom(JAVA_BYTE, text.getBytes(StandardCharsets.UTF_8));
    }

    private static void send(UnixSocket socket, String text) {
        var message = text(text);
        socket.send(message, message.byteSize());
    }

    private String receive(UnixSocket socket) {
        var received = socket.receive(buffer);
        return new String(buffer.asSlice(0, received.length()).toArray(JAVA_BYTE), StandardCharsets.UTF_8);
    }

    private static int errno(ThrowingCallable call) {
        return catchThrowableOfType(OsException.class, call).errno();
    }

    private interface Call<T> {
        T run();
    }

    /** Starts a blocking call, and returns when its thread is inside of it. */
    private static <T> Future<T> inThread(Call<T> call) {
        var result = new CompletableFuture<T>();
        var thread = Thread.ofPlatform().daemon().start(() -> {
            try {
                result.complete(call.run());
            } catch (Throwable e) {
                result.completeExceptionally(e);
            }
        });
        SystemCalls.awaitIn(thread);
        return result;
    }

    private static <T> T get(Future<T> future) throws Exception {
        return future.get(Waits.seconds(20).toNanos(), TimeUnit.NANOSECONDS);
    }

    private static long openDescriptorsOf(String memory) throws IOException {
        long count = 0;
        try (var descriptors = Files.list(Path.of("/proc/self/fd"))) {
            for (var descriptor : descriptors.toList()) {
                try {
                    count += Files.readSymbolicLink(descriptor).toString().contains(memory) ? 1 : 0;
                } catch (NoSuchFileException e) {
                    // The descriptor that listed the directory; it is closed by now and does not belong to the memory.
                }
            }
        }
        return count;
    }
}
