package dev.lite.bench;

import dev.lite.api.Lite;
import dev.lite.api.NodeInfo;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.fabric.FabricProvider;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;

/**
 * Two processes on this machine with two nodes each: one pair of nodes is connected by RDMA, the other by TCP. The other
 * process also serves calls and bare posts. Each node has its own in-memory directory, in which the other node is
 * registered explicitly, so no ZooKeeper is needed.
 */
final class RdmaPeer implements AutoCloseable {
    /** The nodes of the other process. */
    static final String NAME = "node-1";

    /** The served function: the request's first four bytes give the length of the reply, at most {@value #REPLY_BYTES_MAX}. */
    static final String FUNCTION = "bench/reply";

    private static final String ADDRESSES = "addresses ";
    private static final int REPLY_BYTES_MAX = 4096;
    private static final String OWN_NAME = "node-0";
    private static final List<String> FABRICS = List.of("rdma", "tcp");
    private static final long OWN_ARENA_BYTES = 16L << 20;
    private static final String ARENA_MB = "lite.bench.rdma.arena-mb";
    /** For 100,000 LMRs. */
    private static final long ARENA_BYTES = Long.getLong(ARENA_MB, 448) << 20;

    private static final Duration DEADLINE = Duration.ofSeconds(60);
    private static final Duration NO_TIMEOUT = Duration.ofDays(365);
    private static final String SPINS = "lite.bench.rdma.spins";
    /**
     * The spin iterations over RDMA, also on one processor, where nodes block without spinning by default: the bare driver
     * and perftest poll all the time, too.
     */
    private static final int POLL_SPINS = Integer.getInteger(SPINS, 200);

    private static final long PAUSE_NS = 5_000_000;

    private final Path arenas;
    private final Path sockets;
    private final Map<String, LiteNode> nodes = new HashMap<>();
    private final Map<String, InMemoryDirectory.Store> stores = new HashMap<>();
    private Process process;
    private String bareAddress = "";

    private RdmaPeer() throws IOException {
        arenas = BenchNodes.makeTemporary(Path.of("/dev/shm"));
        sockets = BenchNodes.makeTemporary(Path.of(System.getProperty("java.io.tmpdir")));
        for (String fabric : FABRICS) {
            InMemoryDirectory.Store store = new InMemoryDirectory.Store();
            stores.put(fabric, store);
            nodes.put(fabric, node(fabric, OWN_NAME, OWN_ARENA_BYTES, store, arenas, sockets));
        }
        process = new ProcessBuilder(command())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    /** Starts the local nodes and the other process with its nodes, and waits until both pairs are connected. */
    static RdmaPeer start() {
        RdmaPeer peer;
        try {
            peer = new RdmaPeer();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start the other process", e);
        }
        try {
            peer.connect();
            return peer;
        } catch (IOException e) {
            peer.close();
            throw new UncheckedIOException("cannot read from the other process", e);
        } catch (RuntimeException e) {
            peer.close();
            throw e;
        }
    }

    private List<String> command() {
        return List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
                "-Xms128m",
                "-Xmx128m",
                "-XX:+UseSerialGC",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-D%s=%d".formatted(ARENA_MB, ARENA_BYTES >> 20),
                "-D%s=%d".formatted(SPINS, POLL_SPINS),
                "-classpath",
                System.getProperty("java.class.path"),
                RdmaPeer.class.getName(),
                arenas.toString(),
                sockets.toString(),
                address("rdma"),
                address("tcp"));
    }

    private String address(String fabric) {
        String address = node(fabric).self().fabrics().get(fabric);
        if (address == null) {
            throw new IllegalStateException("the local node has no address over " + fabric);
        }
        return address;
    }

    private void connect() throws IOException {
        // A library may have printed something before.
        String line = process.inputReader(StandardCharsets.UTF_8)
                .lines()
                .filter(text -> text.startsWith(ADDRESSES))
                .findFirst()
                .orElseThrow(() -> new IOException("the other process ended before it was ready"));
        String[] words = line.substring(ADDRESSES.length()).split(" ", -1);
        bareAddress = words[2];
        for (int index = 0; index < FABRICS.size(); index++) {
            String fabric = FABRICS.get(index);
            enter(stores.getOrDefault(fabric, new InMemoryDirectory.Store()), fabric, NAME, words[index]);
            awaitConnected(node(fabric));
        }
    }

    private static void awaitConnected(LiteNode node) {
        long endNs = System.nanoTime() + DEADLINE.toNanos();
        while (node.nodes().size() < 2
                || node.nodes().stream().map(NodeInfo::fabric).anyMatch("none"::equals)) {
            if (System.nanoTime() - endNs > 0) {
                throw new IllegalStateException("not connected: " + node.nodes() + node.trouble(1));
            }
            Polling.sleepNs(PAUSE_NS);
        }
    }

    /** The local node of this fabric. */
    LiteNode node(String fabric) {
        LiteNode node = nodes.get(fabric);
        if (node == null) {
            throw new IllegalArgumentException("no node over " + fabric);
        }
        return node;
    }

    /** The address for bare posts at the other process. */
    String bareAddress() {
        return bareAddress;
    }

    static FabricProvider provider(String name) {
        return ServiceLoader.load(FabricProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("no driver \"%s\" on the class path".formatted(name)));
    }

    private static LiteNode node(
            String fabric, String name, long arenaBytes, InMemoryDirectory.Store store, Path arenas, Path sockets) {
        LiteNodeConfig.Builder config = LiteNodeConfig.builder(
                        "bench-" + fabric, name, arenaBytes, sockets.resolve(fabric + "-" + name))
                .arena(arenas, false)
                .fabricOptions(fabric, options());
        if (fabric.equals("rdma")) {
            config.pollSpins(POLL_SPINS);
        }
        return LiteNode.start(config.build(), store.open(), List.of(provider(fabric)));
    }

    /** RDMA requires a secret, because it has no loopback address. */
    static Map<String, String> options() {
        return Map.of("secret", "the benchmark's secret");
    }

    private static void enter(InMemoryDirectory.Store store, String fabric, String name, String address) {
        InMemoryDirectory directory = store.open();
        int id = directory.claimId(name, NodeAdvert.NO_ID, DEADLINE);
        directory.register(
                new NodeAdvert(name, id, "a host of its own/" + name, ARENA_BYTES, Map.of(fabric, address)), DEADLINE);
    }

    /**
     * The other process. Runs until its standard input ends.
     *
     * @param arguments the directory of arenas, the directory of sockets, the addresses of the first nodes over RDMA and
     *     TCP
     */
    public static void main(String[] arguments) throws IOException {
        Path arenas = Path.of(arguments[0]);
        Path sockets = Path.of(arguments[1]);
        StringBuilder addresses = new StringBuilder();
        for (String fabric : FABRICS) {
            InMemoryDirectory.Store store = new InMemoryDirectory.Store();
            enter(store, fabric, OWN_NAME, arguments[2 + FABRICS.indexOf(fabric)]);
            long arenaBytes = fabric.equals("rdma") ? ARENA_BYTES : OWN_ARENA_BYTES;
            LiteNode node = node(fabric, NAME, arenaBytes, store, arenas, sockets);
            Lite lite = node.attach("bench");
            RpcServer server = lite.rpc().serve(FUNCTION);
            Thread.ofPlatform().daemon().name("bench-server-" + fabric).start(() -> answer(server));
            addresses.append(node.self().fabrics().get(fabric)).append(' ');
        }
        BarePosts bare = BarePosts.serve(provider("rdma"));
        System.out.println(ADDRESSES + addresses + bare.address());
        int end = System.in.read();
        assert end < 0;
        System.exit(0);
    }

    /** Answers calls until the server is closed. */
    private static void answer(RpcServer server) {
        MemorySegment replies = MemorySegment.ofArray(new byte[REPLY_BYTES_MAX]);
        try {
            RpcCall call = server.receive(NO_TIMEOUT);
            while (true) {
                int bytes = call.request().get(ValueLayout.JAVA_INT_UNALIGNED, 0);
                call = server.replyAndReceive(call, replies.asSlice(0, bytes), NO_TIMEOUT);
            }
        } catch (SessionLostException e) {
            return; // the process ends
        }
    }

    /** Shuts the other process down by closing its input, then the local nodes. */
    @Override
    public void close() {
        try {
            process.getOutputStream().close();
            if (!process.waitFor(DEADLINE)) {
                process.destroyForcibly();
            }
        } catch (IOException e) {
            process.destroyForcibly();
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        nodes.values().forEach(LiteNode::close);
        BenchNodes.delete(arenas);
        BenchNodes.delete(sockets);
    }
}
