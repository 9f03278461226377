package dev.lite.tier.session;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.os.UnixServerSocket;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.session.protocol.SessionMessage.Extents;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.Hello;
import dev.lite.session.protocol.SessionMessage.Malloc;
import dev.lite.session.protocol.SessionMessage.Mapped;
import dev.lite.session.protocol.SessionMessage.Refused;
import dev.lite.session.protocol.SessionMessage.Unmap;
import dev.lite.session.protocol.SessionMessage.Welcome;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Applications that violate the protocol lose their own session, with a reason; other sessions are not affected. */
@Isolated("it counts the threads or the memory of its process")
class BadClientTest {
    private static final int NEIGHBOUR_BYTES = 100_000;
    /** A request for the list of nodes. */
    private static final byte[] NODES = {9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    @TempDir
    Path directory;

    private final FakeBackend backend = new FakeBackend();
    private SessionServer server;
    private Path socket;
    private Lite neighbour;
    private LmrHandle neighbours;
    private final byte[] neighboursBytes = new byte[NEIGHBOUR_BYTES];

    @BeforeEach
    void start() {
        socket = directory.resolve("node.sock");
        server = new SessionServer(config(socket), backend);
        server.start();
        neighbour = Lite.attach(AttachOptions.to(socket, "neighbour"));
        neighbours = neighbour.memory().malloc(LmrSpec.of(NEIGHBOUR_BYTES).withName("neighbour"));
        new Random(1).nextBytes(neighboursBytes);
        neighbours.write(0, neighboursBytes);
    }

    private static SessionServerConfig config(Path socket) {
        return SessionServerConfig.of(socket)
                .withHelloTimeout(Waits.scaled(Duration.ofMillis(300)))
                .withArea(new SessionArea(8, 8192));
    }

    @AfterEach
    void theNeighbourIsNotDisturbed() {
        byte[] now = new byte[NEIGHBOUR_BYTES];
        neighbours.read(0, now);
        assertThat(now).isEqualTo(neighboursBytes);
        Waits.until("only the neighbour is left", () -> server.sessions().size() == 1);
        assertThat(neighbour.isOpen()).isTrue();
        neighbour.close();
        server.close();
        assertThat(backend.sessionsClosed).hasValue(backend.sessionsOpened.get());
        backend.close();
    }

    @Test
    void anUnknownOperationEndsTheSession() throws ProtocolException {
        try (RawClient bad = new RawClient(socket).attach()) {
            bad.command(3, 77, malloc(bad), 0, 8);
            bad.submit(1L << 3);
            assertThat(bad.awaitGoodbye()).contains("operation 77").contains("slot 3");
        }
    }

    @Test
    void aLengthOverTheWindowEndsTheSession() throws ProtocolException {
        for (long length : new long[] {8193, -1, Long.MAX_VALUE, Long.MIN_VALUE}) {
            try (RawClient bad = new RawClient(socket).attach()) {
                bad.command(0, Op.WRITE, malloc(bad), 0, length);
                bad.submit(1);
                assertThat(bad.awaitGoodbye()).contains(Long.toString(length)).contains("8192");
            }
        }
    }

    @Test
    void aSlotThatDoesNotExistEndsTheSession() throws ProtocolException {
        try (RawClient bad = new RawClient(socket).attach()) {
            bad.submit(1L << 63);
            assertThat(bad.awaitGoodbye()).contains("0x8000000000000000").contains("8 slots");
        }
    }

    @Test
    void aSlotWhoseCommandBlocksAThreadIsNotTakenAgain() throws ProtocolException {
        try (RawClient bad = new RawClient(socket).attach()) {
            backend.resume();
            long lh = malloc(bad, FakeBackend.SLOW);
            backend.slowAgain();
            bad.command(2, Op.READ, lh, 0, 8);
            bad.submit(1 << 2);
            Waits.until("the read blocks its thread", () -> backend.waited.get() == 1);
            bad.submit(1 << 2);
            assertThat(bad.awaitGoodbye()).contains("slot 2").contains("under way");
            assertThat(backend.waited).hasValue(1);
        } finally {
            backend.resume();
        }
    }

    @Test
    void aSlotWhoseCommandWaitsForAFabricIsNotTakenAgain() throws ProtocolException {
        try (RawClient bad = new RawClient(socket).attach()) {
            bad.command(5, Op.WRITE, malloc(bad, FakeBackend.POSTED), 0, 8);
            bad.submit(1 << 5);
            Waits.until("the write is posted", () -> backend.posted.size() == 1);
            bad.submit(1 << 5);
            assertThat(bad.awaitGoodbye()).contains("slot 5").contains("under way");
            assertThat(backend.posted).hasSize(1);
        } finally {
            backend.posted.remove().run();
        }
    }

    @Test
    void offsetsAreCheckedByTheNodeAndNotOnlyByTheClient() throws ProtocolException {
        try (RawClient bad = new RawClient(socket).attach()) {
            long lh = malloc(bad);
            for (long offset : new long[] {-8, 4096, 4089, Long.MAX_VALUE, Long.MAX_VALUE - 7, Long.MIN_VALUE}) {
                bad.command(1, Op.READ, lh, offset, 8);
                bad.submit(2);
                awaitDone(bad, 1);
                long at = bad.base() + SessionArea.slotOffset(1);
                assertThat(RawMemory.getInt(at + SessionArea.STATUS)).isEqualTo(4);
            }
        }
    }

    @Test
    void foreignAndStaleHandlesAreRefused() throws ProtocolException {
        try (RawClient bad = new RawClient(socket).attach()) {
            long lh = malloc(bad);
            bad.channel.send(new Unmap(5, 1_000_000_000, lh));
            assertThat(bad.channel.receive()).isInstanceOf(SessionMessage.Done.class);
            long reused = malloc(bad);
            assertThat((int) reused).isEqualTo((int) lh);
            long[] stale = {lh, 0, -1, lh + 1, lh + (2L << 32), lh ^ (1L << 31), Long.MAX_VALUE, Long.MIN_VALUE};
            for (long one : stale) {
                bad.command(1, Op.WRITE, one, 0, 8);
                bad.submit(2);
                awaitDone(bad, 1);
                int status = RawMemory.getInt(bad.base() + SessionArea.slotOffset(1) + SessionArea.STATUS);
                assertThat(status).as("0x%x", one).isEqualTo(5);
                bad.channel.send(new Extents(6, one, 0));
                assertThat(bad.channel.receive())
                        .isInstanceOfSatisfying(
                                Failed.class,
                                failed -> assertThat(failed.code()).isEqualTo(5));
            }
        }
    }

    @Test
    void aSilentClientIsDropped() throws ProtocolException {
        try (RawClient silent = new RawClient(socket)) {
            assertThat(silent.channel.receive())
                    .isInstanceOfSatisfying(
                            Refused.class,
                            refused -> assertThat(refused.reason()).contains("no hello within"));
            assertThat(silent.channel.receive()).isNull();
        }
    }

    @Test
    void anotherVersionIsRefusedWithBothVersions() throws ProtocolException {
        try (RawClient old = new RawClient(socket)) {
            old.channel.send(new Hello(99, 99, "old", null));
            assertThat(old.channel.receive()).isInstanceOfSatisfying(Refused.class, refused -> {
                assertThat(refused.version()).isEqualTo(SessionProtocol.VERSION);
                assertThat(refused.reason())
                        .contains("99")
                        .contains(
                                "protocol %d to %d".formatted(SessionProtocol.OLDEST_VERSION, SessionProtocol.VERSION));
            });
        }
    }

    @Test
    void aClientOfTheNextVersionIsWelcomedWithThisOne() throws ProtocolException {
        try (RawClient newer = new RawClient(socket)) {
            newer.channel.send(new Hello(SessionProtocol.VERSION + 1, SessionProtocol.VERSION, "newer", null));
            SessionChannel.WithDescriptors answer = requireNonNull(newer.channel.receiveWithDescriptors());
            answer.carrier().closeDescriptors();
            assertThat(answer.message())
                    .isInstanceOfSatisfying(
                            Welcome.class,
                            welcome -> assertThat(welcome.version()).isEqualTo(SessionProtocol.VERSION));
        }
    }

    @Test
    void aNameThatWouldForgeLogLinesIsRefused() throws ProtocolException {
        try (RawClient forger = new RawClient(socket)) {
            forger.channel.send(Hello.of("x\nsession 7 ended", null));
            assertThat(forger.channel.receive())
                    .isInstanceOfSatisfying(
                            Refused.class,
                            refused -> assertThat(refused.reason()).contains("control characters"));
        }
    }

    @Test
    void aSecondHelloEndsTheSession() throws ProtocolException {
        try (RawClient bad = new RawClient(socket).attach()) {
            bad.channel.send(Hello.of("again", null));
            assertThat(bad.awaitGoodbye()).contains("unexpected Hello");
        }
    }

    @Test
    void aClientThatDoesNotReadItsRepliesLosesItsSession() throws ProtocolException {
        backend.extents = 1_000;
        try (RawClient bad = new RawClient(socket).attach()) {
            long lh = malloc(bad);
            bad.channel.setTimeout(0, Duration.ofMillis(200).toNanos());
            assertThatExceptionOfType(OsException.class).isThrownBy(() -> {
                for (int i = 0; i < 100_000; i++) {
                    bad.channel.send(new Extents(i, lh, 0));
                }
            });
            Waits.until("its session is gone", () -> server.sessions().size() == 1);
        }
    }

    /** Their last close may take as long as their maker wants, and the node's few carriers would wait for it. */
    @Test
    void theKernelRefusesDescriptorsForTheNode() throws ProtocolException {
        assumeThat(kernelRefusesDescriptors()).as("since Linux 6.16").isTrue();
        try (RawClient bad = new RawClient(socket).attach();
                var input = SharedMemory.createMemfd("uninvited", 4096)) {
            assertThatExceptionOfType(OsException.class)
                    .isThrownBy(() -> bad.sendRaw(NODES, input.descriptor()))
                    .satisfies(refused -> assertThat(refused.errno()).isEqualTo(Errno.EPERM));
            bad.sendRaw(NODES);
            assertThat(bad.channel.receive()).isInstanceOf(SessionMessage.NodesPage.class);
        }
    }

    private boolean kernelRefusesDescriptors() {
        try (var probe = UnixServerSocket.bindForStrangers(directory.resolve("probe"), 0600, 1)) {
            return probe.refusesDescriptors();
        }
    }

    /** With a socket as a kernel makes it that does not refuse them. */
    @Test
    void unexpectedDescriptorsAreClosed() throws ProtocolException, IOException {
        Path older = directory.resolve("older.sock");
        try (SessionServer onOlderKernel =
                new SessionServer(config(older), backend, UnixServerSocket::bind, SessionServer.DRAIN_MAX)) {
            onOlderKernel.start();
            long before = descriptors();
            try (RawClient bad = new RawClient(older).attach();
                    var input = SharedMemory.createMemfd("uninvited", 4096)) {
                int one = input.descriptor();
                for (int i = 0; i < 50; i++) {
                    bad.sendRaw(NODES, one, one, one);
                    assertThat(bad.channel.receive()).isInstanceOf(SessionMessage.NodesPage.class);
                }
                // The session's own descriptors: two sockets, and the memory at both sides and in transit.
                assertThat(descriptors()).isLessThan(before + 20);
            }
        }
    }

    /** With a socket as a kernel makes it that does not refuse descriptors. */
    @Test
    void descriptorsWhoseCloseWaitsDoNotStopOthers() throws IOException {
        Path older = directory.resolve("older.sock");
        // More than there are carriers, and fewer than may be without a hello.
        int bad = Math.min(2 * Runtime.getRuntime().availableProcessors() + 2, 12);
        List<AutoCloseable> open = new ArrayList<>();
        try (ServerSocketChannel peers = ServerSocketChannel.open()) {
            peers.setOption(StandardSocketOptions.SO_RCVBUF, 4096);
            peers.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            int port = peers.socket().getLocalPort();
            // The clients send before the node accepts: it has the only descriptors then.
            SessionServer.Binding binding = (path, mode, backlog) -> {
                UnixServerSocket bound = UnixServerSocket.bind(path, mode, backlog);
                for (int i = 0; i < bad; i++) {
                    RawClient client = new RawClient(path);
                    open.addFirst(client);
                    try (Lingering socket = Lingering.connect(peers.getLocalAddress())) {
                        open.addFirst(peers.accept()); // its close ends the wait
                        client.sendRaw(NODES, socket.descriptor());
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }
                return bound;
            };
            try (SessionServer onOlderKernel =
                    new SessionServer(config(older), backend, binding, SessionServer.DRAIN_MAX)) {
                onOlderKernel.start();
                Waits.until("all closes wait", () -> Lingering.waiting(port) == bad);
                try (Lite other = Lite.attach(AttachOptions.to(older, "other"))) {
                    assertThat(other.memory().malloc(LmrSpec.of(8)).size()).isEqualTo(8);
                }
                assertThat(Lingering.waiting(port)).isEqualTo(bad);
                open.forEach(BadClientTest::close); // before the server, which waits for them
                open.clear();
            } finally {
                open.forEach(BadClientTest::close);
            }
        }
    }

    private static void close(AutoCloseable one) {
        try {
            one.close();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    /** A socket whose last close waits for its peer, which reads nothing. */
    private record Lingering(SocketChannel channel, int descriptor) implements AutoCloseable {
        private static final Path OWN = Path.of("/proc/self/fd");

        static Lingering connect(SocketAddress address) throws IOException {
            Set<String> before = sockets();
            SocketChannel channel = SocketChannel.open(address);
            Set<String> after = sockets();
            after.removeAll(before);
            channel.setOption(
                    StandardSocketOptions.SO_LINGER,
                    Math.toIntExact(Waits.seconds(60).toSeconds()));
            channel.configureBlocking(false);
            ByteBuffer content = ByteBuffer.allocate(1 << 20);
            while (channel.write(content.clear()) > 0) {
                assertThat(channel.isOpen()).isTrue();
            }
            channel.configureBlocking(true);
            assertThat(after).hasSize(1);
            return new Lingering(channel, Integer.parseInt(after.iterator().next()));
        }

        private static Set<String> sockets() throws IOException {
            Set<String> numbers = new HashSet<>();
            try (Stream<Path> all = Files.list(OWN)) {
                for (Path one : all.toList()) {
                    try {
                        if (Files.readSymbolicLink(one).toString().startsWith("socket:")) {
                            numbers.add(OWN.relativize(one).toString());
                        }
                    } catch (NoSuchFileException closedMeanwhile) {
                        assertThat(closedMeanwhile).isNotNull();
                    }
                }
            }
            return numbers;
        }

        /** The number of connections to this port whose end waits until their peers have read what was sent (FIN-WAIT-1). */
        static long waiting(int port) {
            String ends = ":%04X 04 ".formatted(port);
            try {
                return Stream.concat(lines("tcp"), lines("tcp6"))
                        .filter(line -> line.contains(ends))
                        .count();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static Stream<String> lines(String table) throws IOException {
            Path path = Path.of("/proc/self/net").resolve(table);
            return Files.exists(path) ? Files.readAllLines(path).stream() : Stream.of();
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }

    @Test
    void randomMessagesEndAtMostTheirSession() {
        long seed = System.nanoTime();
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        for (int round = 0; round < 200; round++) {
            try (RawClient bad = new RawClient(socket)) {
                if (random.nextInt(4) > 0) {
                    bad.attach();
                }
                for (int i = 0; i < 20; i++) {
                    byte[] bytes = new byte[1 + random.nextInt(60)];
                    random.nextBytes(bytes);
                    if (random.nextBoolean()) {
                        bytes[0] = (byte) random.nextInt(17);
                    }
                    bad.sendRaw(bytes);
                }
            } catch (OsException | ProtocolException ended) {
                assertThat(ended).isNotNull();
            }
        }
    }

    @Test
    void randomBytesInTheSharedAreaEndAtMostTheirSession() throws ProtocolException {
        long seed = System.nanoTime();
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        int ended = 0;
        for (int round = 0; round < 100; round++) {
            try (RawClient bad = new RawClient(socket).attach()) {
                long lh = malloc(bad);
                for (int i = 0; i < 200; i++) {
                    sendMalformedCommand(bad, random, lh);
                }
                RawMemory.putLongVolatile(bad.base() + SessionArea.SUBMITTED, random.nextLong() | 1L << 40);
                bad.ring();
                assertThat(bad.awaitGoodbye()).isNotBlank();
                ended++;
            }
            byte[] some = new byte[1000];
            int offset = random.nextInt(NEIGHBOUR_BYTES - some.length);
            neighbours.read(offset, some);
            assertThat(some).isEqualTo(Arrays.copyOfRange(neighboursBytes, offset, offset + some.length));
        }
        assertThat(ended).isEqualTo(100);
    }

    /** Sends a mostly valid command with invalid fields, or sometimes fills a whole slot with random bytes. */
    private static void sendMalformedCommand(RawClient bad, Random random, long lh) {
        int slot = random.nextInt(8);
        long at = bad.base() + SessionArea.slotOffset(slot);
        if (random.nextInt(10) == 0) {
            for (int i = 0; i < SessionArea.SLOT_BYTES; i += 8) {
                RawMemory.putLong(at + i, random.nextLong());
            }
        } else {
            long anyLh = random.nextInt(4) == 0 ? random.nextLong() : lh;
            long anyOffset = random.nextBoolean() ? random.nextLong() : random.nextInt(8192);
            bad.command(slot, 1 + random.nextInt(4), anyLh, anyOffset, random.nextInt(8193));
        }
        if (random.nextInt(3) == 0) {
            RawMemory.putLongVolatile(bad.base() + SessionArea.SUBMITTED, random.nextInt(256));
        }
        if (random.nextInt(5) == 0) {
            RawMemory.putIntVolatile(bad.base() + SessionArea.DOORBELL, random.nextInt());
        }
        bad.ring();
    }

    @Test
    void anApplicationCannotReachAnothersHandle() {
        try (Lite other = Lite.attach(AttachOptions.to(socket, "other"));
                LmrHandle mapped = other.memory().map("neighbour", Permission.READ)) {
            // Both sessions use the same handle numbers; a number is valid only in its own session.
            neighbour.memory().map("neighbour", Permission.READ).unmap();
            mapped.read(0, new byte[8]);
            mapped.unmap();
            assertThatExceptionOfType(LmrFreedException.class).isThrownBy(() -> mapped.read(0, new byte[8]));
        }
    }

    private static long malloc(RawClient client) throws ProtocolException {
        return malloc(client, LmrSpec.of(4096));
    }

    private static long malloc(RawClient client, String name) throws ProtocolException {
        return malloc(client, LmrSpec.of(4096).withName(name));
    }

    private static long malloc(RawClient client, LmrSpec spec) throws ProtocolException {
        client.channel.send(new Malloc(1, Duration.ofSeconds(1).toNanos(), spec));
        if (client.channel.receive() instanceof Mapped mapped) {
            return mapped.lh();
        }
        throw new AssertionError("no malloc");
    }

    private static void awaitDone(RawClient client, int slot) {
        long state = client.base() + SessionArea.slotOffset(slot) + SessionArea.STATE;
        Waits.until("slot done", () -> RawMemory.getIntVolatile(state) == SessionArea.STATE_DONE);
    }

    private static long descriptors() throws IOException {
        try (var files = Files.list(Path.of("/proc/self/fd"))) {
            return files.count();
        }
    }
}
