package dev.lite.bench;

import dev.lite.api.Lite;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * A node in its own process, and the plain sockets that it is compared with. Each process has its own in-memory directory,
 * in which the other node is registered explicitly, so no ZooKeeper is needed.
 */
final class TcpPeer implements AutoCloseable {
    static final long ARENA_BYTES = 256L << 20;
    static final int SMALL_BYTES = 64;
    static final int LARGE_BYTES = 1 << 20;
    private static final int TCP_POLL_COST = 8;
    private static final Duration DEADLINE = Duration.ofSeconds(20);

    /** The addresses of the other process: its node, and the ports of its plain sockets. */
    record Addresses(String address, int echoPort, int sinkPort) {}

    private final Process process;
    private final Addresses addresses;

    /** The served function: a request of any length, a reply of {@link #SMALL_BYTES}. */
    static final String FUNCTION = "bench/echo";

    /** Of the connections between the nodes: encrypted or none. The plain sockets have none. */
    private static final String PROTECTION = System.getProperty("lite.bench.protection", "encrypted");

    private static final Duration NO_TIMEOUT = Duration.ofDays(365);

    private TcpPeer(Process process, Addresses addresses) {
        this.process = process;
        this.addresses = addresses;
    }

    /** Starts the process and waits for its addresses. */
    static TcpPeer start(LiteNode self, Path arenas, Path sockets) throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-Xms256m",
                        "-Xmx256m",
                        "-XX:+UseSerialGC",
                        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                        "-Dlite.bench.protection=" + PROTECTION,
                        "-classpath",
                        System.getProperty("java.class.path"),
                        TcpPeer.class.getName(),
                        self.self().fabrics().get(TcpFabricProvider.NAME),
                        self.self().host(),
                        arenas.toString(),
                        sockets.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String line = process.inputReader(StandardCharsets.UTF_8).readLine();
        if (line == null) {
            process.destroyForcibly();
            throw new IOException("the other node's process ended before it was ready");
        }
        String[] words = line.split(" ", 3);
        return new TcpPeer(process, new Addresses(words[0], Integer.parseInt(words[1]), Integer.parseInt(words[2])));
    }

    Addresses addresses() {
        return addresses;
    }

    /** Registers a node in a process's own directory. */
    static void enter(InMemoryDirectory.Store store, String name, String host, String address) {
        InMemoryDirectory directory = store.open();
        int id = directory.claimId(name, NodeAdvert.NO_ID, DEADLINE);
        directory.register(
                new NodeAdvert(name, id, host, ARENA_BYTES, Map.of(TcpFabricProvider.NAME, address)), DEADLINE);
    }

    static LiteNodeConfig config(String name, Path arenas, Path sockets) {
        return LiteNodeConfig.builder("bench", name, ARENA_BYTES, sockets.resolve(name))
                .arena(arenas, false)
                .fabricOptions(
                        TcpFabricProvider.NAME, Map.of("secret", "the benchmark's secret", "protection", PROTECTION))
                .build();
    }

    /**
     * How often a plain socket is polled before its thread blocks: as often as LITE polls its own sockets, see {@code
     * Fabric.pollCost}.
     */
    static int spins(LiteNodeConfig config) {
        return config.pollSpins() / TCP_POLL_COST;
    }

    /**
     * The other process. Runs until its standard input ends.
     *
     * @param arguments the address and the host of the first node, the directory of arenas, the directory of sockets
     */
    public static void main(String[] arguments) throws IOException {
        InMemoryDirectory.Store store = new InMemoryDirectory.Store();
        enter(store, "node-0", arguments[1], arguments[0]);
        LiteNodeConfig config = config("node-1", Path.of(arguments[2]), Path.of(arguments[3]));
        try (LiteNode node = LiteNode.start(config, store.open(), List.of(new TcpFabricProvider()));
                Lite lite = node.attach("bench");
                RpcServer server = lite.rpc().serve(FUNCTION)) {
            Thread.ofPlatform().daemon().name("bench-server").start(() -> answer(server));
            int echo = PlainSocket.serve(SMALL_BYTES, SMALL_BYTES, spins(config));
            int sink = PlainSocket.serve(LARGE_BYTES, 1, spins(config));
            System.out.printf("%s %d %d%n", node.self().fabrics().get(TcpFabricProvider.NAME), echo, sink);
            int end = System.in.read();
            assert end < 0;
        }
    }

    /** Answers calls until the server is closed. */
    private static void answer(RpcServer server) {
        MemorySegment reply = Arena.global().allocate(SMALL_BYTES, 64);
        try {
            RpcCall call = server.receive(NO_TIMEOUT);
            while (true) {
                call = server.replyAndReceive(call, reply, NO_TIMEOUT);
            }
        } catch (SessionLostException e) {
            return; // the process ends
        }
    }

    /** Shuts the process down by closing its input. */
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
    }
}
