package dev.lite.fabric.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.Post;
import dev.lite.fabric.driver.ConnectionLimits;
import dev.lite.os.RawMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the conformance suite does not test: authentication, windows, and allocation per operation. */
class RdmaFabricTest {
    private static final double TIME_SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));
    private static final long LIMIT_NS = (long) (20e9 * TIME_SCALE);
    private static final int MEMORY_BYTES = 1 << 20;

    @TempDir
    Path directory;

    private final List<Node> nodes = new ArrayList<>();

    @BeforeAll
    static void needADevice() {
        Devices.assumeOne();
    }

    /** A fabric that records its events. */
    private static final class Node implements FabricHandler {
        final MemorySegment memory;
        final Fabric fabric;

        @Nullable
        FabricEndpoint connected;

        String reason = "";
        long completed;
        long failed;
        long immediates;

        Node(Path directory, String secret, long protocol, int memoryBytes, int windowBytes) {
            memory = Arena.ofAuto().allocate(memoryBytes, 4096);
            var config = new FabricConfig("n", "hello".getBytes(StandardCharsets.UTF_8), directory, Map.of());
            // On an emulated processor, the first handshake takes seconds, because it loads classes.
            var options = RdmaOptions.of(Map.of(
                    RdmaOptions.SECRET,
                    secret,
                    ConnectionLimits.CONNECTIONS_MAX,
                    "4",
                    ConnectionLimits.HANDSHAKE_TIMEOUT_MS,
                    "60000",
                    RdmaOptions.WINDOW_BYTES,
                    Integer.toString(windowBytes)));
            fabric = new RdmaFabric(config, options, this, protocol);
            fabric.register(new FabricMemory(memory, FabricMemory.NO_DESCRIPTOR));
        }

        FabricEndpoint endpoint() {
            return Objects.requireNonNull(connected);
        }

        @Override
        public void completed(FabricEndpoint endpoint, long context) {
            completed++;
        }

        @Override
        public void failed(FabricEndpoint endpoint, long context, FabricError error) {
            failed++;
        }

        @Override
        public void immediate(FabricEndpoint endpoint, int immediate) {
            immediates++;
        }

        @Override
        public void connected(FabricEndpoint endpoint, boolean accepted) {
            connected = endpoint;
        }

        @Override
        public void disconnected(FabricEndpoint endpoint, String why) {
            reason = why;
        }
    }

    private Node open(String secret, long protocol) {
        return add(new Node(directory, secret, protocol, MEMORY_BYTES, 1 << Windows.SHIFT_MAX));
    }

    private Node add(Node node) {
        nodes.add(node);
        return node;
    }

    @AfterEach
    void close() {
        nodes.forEach(node -> node.fabric.close());
    }

    private void until(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + LIMIT_NS;
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - end)
                    .as("timed out waiting for " + what)
                    .isNegative();
            for (var node : nodes) {
                if (node.fabric.poll(64) == 0) {
                    node.fabric.await(200_000);
                }
            }
        }
    }

    private Node[] pair() {
        var from = open(Devices.SECRET, RdmaFabric.PROTOCOL);
        var to = open(Devices.SECRET, RdmaFabric.PROTOCOL);
        return connect(from, to);
    }

    private Node[] connect(Node from, Node to) {
        var unused = from.fabric.connect(to.fabric.localAddress());
        until("a connection", () -> {
            assertThat(from.reason).as("why it is not connected").isEmpty();
            return from.connected != null && to.connected != null;
        });
        return new Node[] {from, to};
    }

    @Test
    void aPeerWithAnotherSecretIsRefusedWithAReason() {
        var stranger = open("another secret of another cluster", RdmaFabric.PROTOCOL);
        var node = open(Devices.SECRET, RdmaFabric.PROTOCOL);

        var endpoint = stranger.fabric.connect(node.fabric.localAddress());
        until("the refusal", () -> !stranger.reason.isEmpty());

        assertThat(stranger.reason).contains("the cluster secret differs");
        assertThat(stranger.reason).doesNotContain(Devices.SECRET);
        assertThat(node.connected).isNull();
        assertThat(endpoint.remoteSize()).isZero();
        assertThat(endpoint.write(0, stranger.memory.address(), 8, 1)).isEqualTo(Post.CLOSED);
    }

    @Test
    void aPeerThatSendsGarbageIsDroppedWithoutDisturbingOthers() {
        var both = pair();
        var stranger = open(Devices.SECRET, 0x4E4F4E53454E5345L);

        for (int i = 0; i < 3; i++) {
            stranger.reason = "";
            var unused = stranger.fabric.connect(both[1].fabric.localAddress());
            until("the end of the connection", () -> !stranger.reason.isEmpty());
        }

        assertThat(stranger.connected).isNull();
        assertThat(both[1].reason).isEmpty();
        assertThat(both[0].endpoint().writeImm(0, 0, 0, 5, 1)).isEqualTo(Post.ACCEPTED);
        until("an immediate of the peer's", () -> both[1].immediates == 1);
    }

    /** Simulates a large arena on a small scale: an operation covers several registrations at both ends. */
    @Test
    void transfersAcrossTheWindowsOfBothMemoriesMoveExactlyTheirBytes() {
        int bytes = 24 << 20;
        var from = add(new Node(directory, Devices.SECRET, RdmaFabric.PROTOCOL, bytes, 8 << 20));
        var to = add(new Node(directory, Devices.SECRET, RdmaFabric.PROTOCOL, bytes - 4096, 1 << 20));
        var unused = connect(from, to);
        long seed = System.nanoTime();
        var random = new Random(seed);
        byte[] model = new byte[bytes - 4096];
        random.nextBytes(model);
        MemorySegment.copy(model, 0, to.memory, ValueLayout.JAVA_BYTE, 0, model.length);
        int[] edges = {1 << 20, 8 << 20, 16 << 20, bytes - 4096};

        for (int i = 0; i < 40; i++) {
            int length = 1 + random.nextInt(i % 8 == 0 ? (int) RdmaFabric.OPERATION_BYTES_MAX : 9000);
            int offset = near(edges[random.nextInt(edges.length)], length, model.length, random);
            int local = near(8 << 20, length, bytes, random);
            boolean write = random.nextBoolean();
            var here = from.memory.asSlice(local, length);
            if (write) {
                byte[] content = new byte[length];
                random.nextBytes(content);
                here.copyFrom(MemorySegment.ofArray(content));
                System.arraycopy(content, 0, model, offset, length);
            }
            long end = from.completed + 1;
            var answer = write
                    ? from.endpoint().write(offset, here.address(), length, i)
                    : from.endpoint().read(offset, here.address(), length, i);
            assertThat(answer).isEqualTo(Post.ACCEPTED);
            until("its end", () -> from.completed == end);
            assertThat(here.mismatch(MemorySegment.ofArray(model).asSlice(offset, length)))
                    .as(
                            "seed %d: %s of %d bytes at %d, here at %d",
                            seed, write ? "write" : "read", length, offset, local)
                    .isEqualTo(-1);
        }

        assertThat(to.memory.mismatch(MemorySegment.ofArray(model)))
                .as("seed %d: all of the peer's memory", seed)
                .isEqualTo(-1);
        assertThat(from.failed).isZero();
    }

    /** A random offset for this many bytes, such that the range most likely crosses a border of a window. */
    private static int near(int edge, int length, int bytes, Random random) {
        return Math.clamp((long) edge - random.nextInt(length + 1), 0, bytes - length);
    }

    @Test
    void closeWaitsForOperationsThatALivePeerCanStillComplete() throws InterruptedException {
        var both = pair();
        var from = both[0];
        long local = from.memory.address() + MEMORY_BYTES / 2;
        var polling = new AtomicBoolean(true);
        var peer = Thread.ofPlatform().daemon().start(() -> {
            while (polling.get()) {
                if (both[1].fabric.poll(64) == 0) {
                    both[1].fabric.await(200_000);
                }
            }
        });

        for (int i = 0; i < 8; i++) {
            assertThat(from.endpoint().write(4096L * i, local, 4096, i)).isEqualTo(Post.ACCEPTED);
        }
        assertThat(from.endpoint().fetchAdd(MEMORY_BYTES - 8, 1, local, 8)).isEqualTo(Post.ACCEPTED);
        from.endpoint().close();
        long word = RawMemory.getLongAcquire(both[1].memory.address() + MEMORY_BYTES - 8);
        polling.set(false);
        peer.join();

        until("the end of the connection", () -> !from.reason.isEmpty());
        assertThat(word).as("the peer's word when close returned").isOne();
        // The peer's answer to the atomic step comes after the close, so it is not reported.
        assertThat(from.completed).as("successful writes").isEqualTo(8);
        assertThat(from.failed).isOne();
    }

    @Test
    void immediatesAreRefusedAsBusyIfThePeerDoesNotTakeThemAndNoneIsLost() {
        var both = pair();
        var from = both[0];
        var to = both[1];
        int accepted = 0;
        for (int round = 0; round < 4; round++) {
            for (int busy = 0; busy < 20; ) {
                var answer = from.endpoint().writeImm(0, 0, 0, accepted, accepted);
                assertThat(answer).isIn(Post.ACCEPTED, Post.BUSY);
                if (answer == Post.ACCEPTED) {
                    accepted++;
                } else {
                    // Completions still arrive here, but only the peer can free credits for immediates.
                    from.fabric.await(1_000_000);
                    busy++;
                }
                from.fabric.poll(64);
                assertThat(accepted - to.immediates)
                        .as("immediates that the peer did not take, round %d", round)
                        .isLessThanOrEqualTo(Mailbox.IMMEDIATES);
            }
            long all = accepted;
            until("every immediate", () -> to.immediates == all);
        }
        assertThat(accepted).isGreaterThan(Mailbox.RECEIVES);
        assertThat(from.failed).isZero();
        assertThat(from.reason).isEmpty();
    }

    @Test
    void anOperationAllocatesNothing() {
        var both = pair();
        var from = both[0];
        var bean = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long thread = Thread.currentThread().threadId();
        run(both, 20_000);

        long before = bean.getThreadAllocatedBytes(thread);
        int count = 100_000;
        run(both, count);
        long allocated = bean.getThreadAllocatedBytes(thread) - before;

        assertThat(from.failed).isZero();
        // The measurement itself and a few probes allocate.
        assertThat(allocated).as("bytes for %d operations", 2 * count).isLessThan(20_000);
    }

    /** Performs operations one after the other: writes, and every eighth time an immediate or an atomic step. */
    private static void run(Node[] both, int count) {
        var from = both[0];
        long local = from.memory.address() + MEMORY_BYTES / 2;
        long end = from.completed;
        for (int i = 0; i < count; i++) {
            end++;
            post(from, i, local);
            while (from.completed + from.failed < end) {
                from.fabric.poll(16);
                both[1].fabric.poll(16);
            }
        }
    }

    private static void post(Node from, int i, long local) {
        while (true) {
            var answer = switch (i & 7) {
                case 0 -> from.endpoint().writeImm(0, local, 64, i, i);
                case 1 -> from.endpoint().fetchAdd(8, 1, local + 128, i);
                case 2 -> from.endpoint().read(0, local + 256, 4096, i);
                default -> from.endpoint().write(0, local, 64, i);
            };
            if (answer == Post.ACCEPTED) {
                return;
            }
            if (answer != Post.BUSY) {
                throw new AssertionError(answer);
            }
            from.fabric.poll(16);
        }
    }
}
