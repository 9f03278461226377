package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Extent;
import dev.lite.api.HeldLock;
import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSlice;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.RpcMessages;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.session.SessionServer;
import dev.lite.tier.session.SessionServerConfig;
import dev.lite.tier.testing.HasChannels;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.NamedFabric;
import dev.lite.tier.testing.Seeds;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every operation for every combination of fabric, caller and layout. The caller is at node n0. With shared memory, all memory is
 * mapped. The other fabrics map nothing, so every access to another node is posted, and the node that holds the bytes does the work.
 */
@ParameterizedClass(name = "{0}, {1}, {2}")
@MethodSource("combinations")
@HasChannels
class EveryOperationTest {
    private static final int TRIES = 12;
    private static final Permission[] DATA = {Permission.READ, Permission.WRITE, Permission.ATOMIC};

    /** The fabric between the nodes. */
    @SuppressWarnings("ImmutableEnumChecker") // a supplier has no state here
    enum OverFabric {
        SHM(ShmFabricProvider::new),
        TCP(TcpFabricProvider::new),
        SIMULATED(() -> new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())))
                .provider()),
        /** Needs a device, so it runs only if {@value NamedFabric#PROPERTY} names it. */
        RDMA(() -> NamedFabric.load("rdma"));

        private final Supplier<FabricProvider> provider;

        OverFabric(Supplier<FabricProvider> provider) {
            this.provider = provider;
        }

        FabricProvider open() {
            return provider.get();
        }
    }

    /** The caller of the operations. */
    enum Caller {
        EMBEDDED,
        ATTACHED
    }

    /** The placement of the bytes. */
    @SuppressWarnings("ImmutableEnumChecker") // placements are immutable
    enum Layout {
        LOCAL(3_000, Placement.local()),
        REMOTE(70_001, Placement.on("n1")),
        CHUNKS((4 << 20) + 777, Placement.on("n1")),
        SPREAD(100_003, Placement.spread());

        private final int size;
        private final Placement placement;

        Layout(int size, Placement placement) {
            this.size = size;
            this.placement = placement;
        }
    }

    /** The fabrics to test. */
    static Stream<OverFabric> fabrics() {
        return Stream.of(OverFabric.values())
                .filter(fabric ->
                        NamedFabric.isWanted(fabric.name().toLowerCase(Locale.ROOT), fabric != OverFabric.RDMA));
    }

    static Stream<Arguments> combinations() {
        return fabrics()
                .flatMap(fabric -> Stream.of(Caller.values())
                        .flatMap(caller ->
                                Stream.of(Layout.values()).map(layout -> Arguments.of(fabric, caller, layout))));
    }

    @TempDir(factory = InDevShm.class)
    static Path directory;

    private static final AtomicInteger combinations = new AtomicInteger();

    /** Shared by all tests of a combination, which run one after the other. */
    private static @Nullable Nodes shared;

    private final Caller caller;
    private final Layout layout;
    private final TestCluster cluster;

    /** The resources that a test opened. */
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    private Lite lite;
    private LtMemory memory;

    EveryOperationTest(OverFabric fabric, Caller caller, Layout layout) {
        this.caller = caller;
        this.layout = layout;
        cluster = Objects.requireNonNull(shared).cluster;
    }

    private record Nodes(TestCluster cluster, Path root, AtomicInteger sockets) {
        Path nextSocket() {
            return root.resolve("n0-%d.sock".formatted(sockets.incrementAndGet()));
        }
    }

    /** Starts the nodes once per combination: on an emulated processor, starting a node takes longer than most tests. */
    @BeforeParameterizedClassInvocation
    static void start(OverFabric fabric) {
        Path root = directory.resolve("c" + combinations.incrementAndGet());
        TestCluster cluster = new TestCluster(root, fabric.open());
        shared = new Nodes(cluster, root, new AtomicInteger());
        cluster.start(3);
    }

    @AfterParameterizedClassInvocation
    static void stop() {
        Objects.requireNonNull(shared).cluster.close();
    }

    @BeforeEach
    void attachTheCaller() {
        Waits.until(
                "the memory of the previous test is free",
                () -> IntStream.range(0, 3)
                        .allMatch(node -> cluster.node(node).figures().usage().reclaiming() == 0));
        lite = attach();
        memory = lite.memory();
    }

    private Lite attach() {
        if (caller == Caller.EMBEDDED) {
            return attach(0, "app");
        }
        Path socket = Objects.requireNonNull(shared).nextSocket();
        SessionServer server = new SessionServer(SessionServerConfig.of(socket), cluster.node(0));
        opened.push(server);
        server.start();
        Lite attached = Lite.attach(AttachOptions.to(server.socket(), "app"));
        opened.push(attached);
        return attached;
    }

    /** Attaches a session at a node until the test ends. */
    private Lite attach(int node, String principal) {
        Lite attached = cluster.node(node).attach(principal);
        opened.push(attached);
        return attached;
    }

    @AfterEach
    void close() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }

    private LmrSpec spec() {
        return LmrSpec.of(layout.size).withPlacement(layout.placement).withDefaultPermissions(DATA);
    }

    private LmrHandle filled(byte[] content) {
        LmrHandle handle = memory.malloc(spec());
        handle.write(0, content);
        return handle;
    }

    private byte[] content(Random random) {
        byte[] bytes = new byte[layout.size];
        random.nextBytes(bytes);
        return bytes;
    }

    private static byte[] all(LmrHandle handle) {
        byte[] bytes = new byte[Math.toIntExact(handle.size())];
        handle.read(0, bytes);
        return bytes;
    }

    private static void assertSame(LmrHandle handle, byte[] expected, String what) {
        assertThat(Arrays.mismatch(all(handle), expected)).as(what).isEqualTo(-1);
    }

    /** Two random bounds in order: often an empty range, often the whole range. */
    private int[] range(Random random) {
        int a = random.nextInt(4) == 0 ? 0 : random.nextInt(layout.size + 1);
        int b = random.nextInt(4) == 0 ? layout.size : random.nextInt(8) == 0 ? a : random.nextInt(layout.size + 1);
        return new int[] {Math.min(a, b), Math.max(a, b)};
    }

    @Test
    void callsAndMessagesReachEveryNode() {
        Seeds.forEach(1, random -> {
            List<String> nodes = List.of("n0", "n1", "n2");
            for (int node = 0; node < nodes.size(); node++) {
                String name = nodes.get(node);
                opened.push(attach(node, "app").rpc().register("echo", 2, call -> {
                    byte[] request = call.request().toArray(ValueLayout.JAVA_BYTE);
                    byte[] reply = Arrays.copyOf(request, request.length + 2);
                    reply[request.length] = (byte) name.charAt(1);
                    reply[request.length + 1] = (byte) call.callerNode().charAt(1);
                    return MemorySegment.ofArray(reply);
                }));
            }
            byte[] request = new byte[random.nextInt(Math.min(layout.size, 60_000))];
            random.nextBytes(request);
            byte[] expected = Arrays.copyOf(request, request.length + 2);
            expected[request.length + 1] = '0';
            for (String node : nodes) {
                expected[request.length] = (byte) node.charAt(1);
                assertThat(lite.rpc().call(node, "echo", request, Waits.seconds(10)))
                        .isEqualTo(expected);
            }
            assertThat(lite.rpc().multicast(nodes, "echo", request, Waits.seconds(10)))
                    .allSatisfy((node, outcome) ->
                            assertThat(outcome.get()[request.length]).isEqualTo((byte) node.charAt(1)));
            RpcMessages port = attach(1, "app").rpc().messages("port");
            opened.push(port);
            lite.rpc().send("n1", "port", MemorySegment.ofArray(request), Waits.seconds(10));
            assertThat(port.receive(Waits.seconds(10)).data()).isEqualTo(request);
        });
    }

    @Test
    void locksAndBarriersWorkAcrossNodes() throws Exception {
        Lite other = attach(1, "app"); // the first user, so its node is the home of both
        LtLock theirs = other.sync().lock("lock");
        LtLock ours = lite.sync().lock("lock");
        long token;
        try (HeldLock held = theirs.acquire(Waits.seconds(10))) {
            token = held.fencingToken();
            assertThat(ours.tryAcquire()).isEmpty();
        }
        try (HeldLock held = ours.acquire(Waits.seconds(10))) {
            assertThat(held.fencingToken()).isGreaterThan(token);
            assertThat(theirs.tryAcquire()).isEmpty();
        }
        LtBarrier barrier = other.sync().barrier("barrier", 2);
        for (long round = 0; round < 3; round++) {
            FutureTask<Long> first = new FutureTask<>(() -> barrier.await(Waits.seconds(10)));
            Thread waiting = Thread.ofPlatform().start(first);
            assertThat(lite.sync().barrier("barrier", 2).await(Waits.seconds(10)))
                    .isEqualTo(round);
            Waits.join(waiting);
            assertThat(first.get()).isEqualTo(round);
        }
    }

    @Test
    void readsWritesAndAtomicsReachEveryByte() {
        Seeds.forEach(1, random -> {
            byte[] model = content(random);
            LmrHandle handle = filled(model);
            for (int count = 0; count < TRIES; count++) {
                int[] range = range(random);
                byte[] bytes = new byte[range[1] - range[0]];
                random.nextBytes(bytes);
                handle.write(range[0], bytes);
                System.arraycopy(bytes, 0, model, range[0], bytes.length);
            }
            assertSame(handle, model, "writes");
            long word = (layout.size / 8 - 1) * 8L;
            handle.write(word, new byte[8]);
            assertThat(handle.fetchAdd(word, 5)).isZero();
            assertThat(handle.testSet(word, 5, 7)).isEqualTo(5);
            assertThat(handle.testSet(word, 5, 8)).isEqualTo(7);
            assertThat(handle.fetchAdd(word, 0)).isEqualTo(7);
        });
    }

    @Test
    void memsetSetsExactlyItsRange() {
        Seeds.forEach(1, random -> {
            byte[] model = content(random);
            LmrHandle handle = filled(model);
            for (int count = 0; count < TRIES; count++) {
                int[] range = range(random);
                byte value = (byte) random.nextInt();
                handle.memset(range[0], range[1] - range[0], value);
                Arrays.fill(model, range[0], range[1], value);
            }
            assertSame(handle, model, "memset");
            handle.memset(0, layout.size, (byte) -3);
            Arrays.fill(model, (byte) -3);
            assertSame(handle, model, "memset of all");
        });
    }

    @Test
    void memcpyCopiesBetweenAllLayouts() {
        Seeds.forEach(1, random -> {
            for (Layout other : Layout.values()) {
                int size = Math.min(layout.size, other.size);
                byte[] from = content(random);
                LmrHandle source = filled(from);
                LmrHandle target = memory.malloc(LmrSpec.of(other.size).withPlacement(other.placement));
                byte[] model = new byte[other.size];
                for (int count = 0; count < 4; count++) {
                    int length = count == 0 ? size : random.nextInt(size + 1);
                    int at = random.nextInt(layout.size - length + 1);
                    int to = random.nextInt(other.size - length + 1);
                    memory.memcpy(source, at, target, to, length);
                    System.arraycopy(from, at, model, to, length);
                }
                assertSame(target, model, "copy to " + other);
                assertSame(source, from, "the source of a copy to " + other);
                source.free();
                target.free();
            }
        });
    }

    @Test
    void memmoveCopiesTheOldContentsWithAnyOverlap() {
        Seeds.forEach(1, random -> {
            byte[] model = content(random);
            LmrHandle handle = filled(model);
            for (int count = 0; count < TRIES; count++) {
                int length = random.nextInt(layout.size + 1);
                int at = random.nextInt(layout.size - length + 1);
                int to = random.nextInt(layout.size - length + 1);
                memory.memmove(handle, at, handle, to, length);
                System.arraycopy(model, at, model, to, length);
                assertSame(handle, model, "%d bytes from %d to %d".formatted(length, at, to));
            }
            int most = layout.size - 1;
            memory.memmove(handle, 0, handle, 1, most);
            System.arraycopy(model, 0, model, 1, most);
            memory.memmove(handle, 1, handle, 0, most);
            System.arraycopy(model, 1, model, 0, most);
            assertSame(handle, model, "by one byte");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> memory.memcpy(handle, 0, handle, 1, most))
                    .withMessageContaining("overlap");
            assertSame(handle, model, "a refused copy");
        });
    }

    @Test
    void vectoredAndAsynchronousTransfersBehaveLikePlainOnes() {
        Seeds.forEach(1, random -> {
            byte[] model = content(random);
            LmrHandle handle = filled(model);
            List<LmrSlice> writes = new ArrayList<>();
            for (int piece = 0; piece < 8; piece++) {
                byte[] bytes = new byte[layout.size / 16];
                random.nextBytes(bytes);
                int at = piece * (layout.size / 8) + random.nextInt(layout.size / 16);
                writes.add(new LmrSlice(at, MemorySegment.ofArray(bytes)));
                System.arraycopy(bytes, 0, model, at, bytes.length);
            }
            handle.write(writes);
            assertSame(handle, model, "vectored");
            byte[][] parts = new byte[16][layout.size / 16];
            List<CompletableFuture<@Nullable Void>> futures = new ArrayList<>();
            for (int part = 0; part < parts.length; part++) {
                futures.add(handle.readAsync((long) part * parts[part].length, MemorySegment.ofArray(parts[part])));
            }
            memory.fence(Waits.seconds(10));
            for (int part = 0; part < parts.length; part++) {
                assertThat(futures.get(part)).isCompleted();
                int from = part * parts[part].length;
                assertThat(parts[part]).isEqualTo(Arrays.copyOfRange(model, from, from + parts[part].length));
            }
            writes.forEach(write -> write.segment().fill((byte) 1));
            handle.writeAsync(writes).join();
            writes.forEach(write -> Arrays.fill(
                    model,
                    (int) write.offset(),
                    (int) (write.offset() + write.segment().byteSize()),
                    (byte) 1));
            assertSame(handle, model, "asynchronous");
        });
    }

    @Test
    void registerMakesAnLmrWithTheContentsOfASegment() {
        Seeds.forEach(1, random -> {
            byte[] bytes = content(random);
            assertSame(memory.register(spec(), MemorySegment.ofArray(bytes)), bytes, "without a name");
            LmrHandle named = memory.register(spec().withName("registered"), MemorySegment.ofArray(bytes));
            assertSame(attach(2, "app").memory().map("registered", Permission.READ), bytes, "mapped by name");
            assertThatThrownBy(() -> memory.register(spec().withName("registered"), MemorySegment.ofArray(bytes)))
                    .isInstanceOf(LmrExistsException.class);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> memory.register(LmrSpec.of(layout.size + 1), MemorySegment.ofArray(bytes)));
            named.free();
        });
    }

    @Test
    void anAnonymousLmrCanBeMappedById() {
        Seeds.forEach(1, random -> {
            byte[] bytes = content(random);
            LmrHandle made = filled(bytes);
            LtMemory other = attach(1, "other").memory();
            LmrHandle mapped = other.map(made.id(), Permission.READ, Permission.WRITE);
            assertSame(mapped, bytes, "mapped by id");
            mapped.write(1, new byte[] {42});
            assertThat(all(made)[1]).isEqualTo((byte) 42);
            assertSame(attach().memory().map(made.id(), Permission.READ), all(mapped), "another session of its node");
            assertThatThrownBy(() -> other.map(made.id(), Permission.MASTER))
                    .isInstanceOf(LmrPermissionException.class)
                    .hasMessageContaining("other");
            assertThatThrownBy(() -> other.map(made.id() + 1000, Permission.READ))
                    .isInstanceOf(LmrNotFoundException.class);
            made.free();
            assertThatThrownBy(() -> mapped.read(0, new byte[1])).isInstanceOf(LmrFreedException.class);
            assertThatThrownBy(() -> other.map(made.id(), Permission.READ)).isInstanceOf(LmrNotFoundException.class);
        });
    }

    @Test
    void aRevokedPrincipalLosesItsMappings() {
        for (boolean named : new boolean[] {true, false}) {
            LmrHandle made = memory.malloc(named ? spec().withName("guarded") : spec());
            LtMemory other = attach(1, "other").memory();
            LmrHandle theirs = named
                    ? other.map("guarded", Permission.READ, Permission.WRITE)
                    : other.map(made.id(), Permission.READ, Permission.WRITE);
            theirs.write(0, new byte[] {5});
            made.grant("other", Set.of(Permission.READ));
            assertThatThrownBy(() -> theirs.write(0, new byte[1])).isInstanceOf(LmrPermissionException.class);
            theirs.read(0, new byte[1]);
            assertThat(theirs.permissions()).containsExactly(Permission.READ);
            made.revoke("other");
            assertThatThrownBy(() -> theirs.read(0, new byte[1])).isInstanceOf(LmrPermissionException.class);
            made.write(0, new byte[] {6});
            theirs.unmap();
            made.free();
        }
    }

    @Test
    void aSecondMasterGrantsMovesAndFrees() {
        for (boolean named : new boolean[] {true, false}) {
            LmrHandle made = memory.malloc(named ? spec().withName("shared") : spec());
            made.write(0, new byte[] {9});
            made.grant("second", Set.of(Permission.values()));
            LtMemory other = attach(2, "second").memory();
            LmrHandle theirs = named
                    ? other.map("shared", Permission.READ, Permission.MASTER)
                    : other.map(made.id(), Permission.READ, Permission.MASTER);
            theirs.moveTo("n2");
            assertThat(nodes(theirs)).containsOnly("n2");
            assertThat(all(made)[0]).isEqualTo((byte) 9);
            theirs.grant("third", Set.of(Permission.READ));
            theirs.free();
            assertThatThrownBy(() -> made.read(0, new byte[1])).isInstanceOf(LmrFreedException.class);
        }
    }

    @Test
    void theLastMasterCannotBeRevoked() {
        LmrHandle made = attach(0, "only").memory().malloc(spec().withName("mine"));
        assertThatThrownBy(() -> made.revoke("only"))
                .isInstanceOf(LmrPermissionException.class)
                .hasMessageContaining("last master");
        made.free();
    }

    private static List<String> nodes(LmrHandle handle) {
        return handle.extents().stream().map(Extent::node).distinct().toList();
    }

    private long allocated() {
        return LongStream.range(0, 3)
                .map(node -> cluster.node((int) node).figures().usage().allocatedBytes())
                .sum();
    }

    @Test
    void aMoveKeepsEveryByteAndEveryHandleAndFreesTheOldMemory() {
        Seeds.forEach(1, random -> {
            for (boolean named : new boolean[] {true, false}) {
                long rest = allocated();
                byte[] bytes = content(random);
                LmrHandle made = named ? memory.malloc(spec().withName("moving")) : memory.malloc(spec());
                made.write(0, bytes);
                long allocated = allocated();
                LtMemory other = attach(1, "app").memory();
                LmrHandle mapped = named ? other.map("moving", DATA[0], DATA) : other.map(made.id(), DATA[0], DATA);
                for (String node : List.of("n2", "n0", "n0", "n1")) {
                    made.moveTo(node);
                    assertThat(nodes(made)).containsExactly(node);
                    assertSame(mapped, bytes, "at a mapper, after the move to " + node);
                    bytes[7] = (byte) random.nextInt();
                    mapped.write(7, new byte[] {bytes[7]});
                    assertSame(made, bytes, "after the move to " + node);
                }
                Waits.until("the old memory is free", () -> allocated() <= allocated + 3 * 4096);
                mapped.unmap();
                made.free();
                Waits.until("all memory is free", () -> allocated() == rest);
            }
        });
    }

    @Test
    void anImpossibleMoveLeavesTheLmrUnchanged() {
        byte[] bytes = content(new Random(3));
        LmrHandle made = filled(bytes);
        List<Extent> before = made.extents();
        assertThatThrownBy(() -> made.moveTo("n9"))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessageContaining("n9");
        LmrHandle fat = attach(2, "app").memory().malloc(LmrSpec.of(16L << 20));
        LmrHandle big = memory.malloc(LmrSpec.of(12 << 20).withPlacement(Placement.on("n1")));
        assertThatThrownBy(() -> big.moveTo("n2")).isInstanceOf(LimitExceededException.class);
        big.free();
        fat.free();
        assertThat(made.extents()).isEqualTo(before);
        assertSame(made, bytes, "after refused moves");
    }

    @Test
    void operationsOutOfBoundsOrWithoutPermissionAreRefusedAndChangeNothing() {
        byte[] bytes = content(new Random(4));
        LmrHandle made = memory.malloc(spec().withName("refusing"));
        made.write(0, bytes);
        int size = layout.size;
        assertThatThrownBy(() -> made.memset(size - 1, 2, (byte) 0)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> made.memset(-1, 1, (byte) 0)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> made.memset(1, Long.MAX_VALUE, (byte) 0)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> made.memset(1, -1, (byte) 0)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> memory.memmove(made, 1, made, 0, size)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> memory.memmove(made, 0, made, 1, size)).isInstanceOf(LmrBoundsException.class);
        MemorySegment two = MemorySegment.ofArray(new byte[2]);
        List<LmrSlice> half = List.of(new LmrSlice(0, two), new LmrSlice(size - 1, two));
        assertThatThrownBy(() -> made.write(half)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> made.writeAsync(half)).isInstanceOf(LmrBoundsException.class);
        assertThatThrownBy(() -> made.readAsync(size, two)).isInstanceOf(LmrBoundsException.class);
        made.memset(size, 0, (byte) 1);
        LmrHandle readable = memory.map("refusing", Permission.READ);
        assertThatThrownBy(() -> readable.memset(0, 1, (byte) 0)).isInstanceOf(LmrPermissionException.class);
        assertThatThrownBy(() -> memory.memcpy(made, 0, readable, 10, 5)).isInstanceOf(LmrPermissionException.class);
        assertThatThrownBy(() -> readable.moveTo("n2")).isInstanceOf(LmrPermissionException.class);
        assertThatThrownBy(() -> readable.grant("x", Set.of())).isInstanceOf(LmrPermissionException.class);
        LmrHandle foreign = attach(0, "x").memory().map("refusing", Permission.READ);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.memcpy(foreign, 0, made, 0, 1))
                .withMessageContaining("another session");
        assertSame(made, bytes, "after refusals");
        made.free();
        assertThatThrownBy(() -> made.memset(0, 1, (byte) 0)).isInstanceOf(LmrFreedException.class);
        assertThatThrownBy(() -> made.moveTo("n1")).isInstanceOf(LmrFreedException.class);
    }
}
