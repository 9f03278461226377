package dev.lite.bench;

import dev.lite.api.Lite;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.os.Futex;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Two nodes in two JVMs over shared memory: this one calls; the other one, started here, serves. The other one also answers
 * the bare counterpart: a ping-pong through two rings in shared memory, with both sides spinning. A ring has {@value
 * #ENTRIES} entries of one cache line each, with a sequence number and a payload word. It needs no flow control, because a
 * ping-pong has at most one outstanding message.
 *
 * <p>Each JVM has its own in-memory directory with both nodes, so no ZooKeeper is needed.
 */
final class RpcPair implements AutoCloseable {
    static final Duration DEADLINE = Duration.ofSeconds(20);
    static final String SERVER = "server";

    private static final String CLIENT = "client";
    private static final long ARENA_BYTES = 256L << 20;
    private static final int ENTRIES = 1024;
    private static final int ENTRY_BYTES = 64;
    private static final long RING_BYTES = (long) ENTRIES * ENTRY_BYTES;
    private static final long MODE = 0;
    /** The number of pings when the ping-pong last paused. */
    private static final long PLAYED = 64;

    private static final long PINGS = 4096;
    private static final long PONGS = PINGS + RING_BYTES;
    private static final long PAGES = PONGS + RING_BYTES;
    private static final int MODE_CALLS = 0;
    private static final int MODE_PING_PONG = 1;
    private static final int MODE_END = 2;
    private static final long PAUSE_NS = 1_000_000;
    private static final int REPLY_MAX = 4096;

    private final Path root;
    private final SharedMemory page;
    private final Process server;
    private final LiteNode node;
    final Lite lite;

    private RpcPair(Path root, SharedMemory page, Process server, LiteNode node) {
        this.root = root;
        this.page = page;
        this.server = server;
        this.node = node;
        lite = node.attach("bench");
    }

    static RpcPair start() {
        Path root;
        try {
            root = Files.createTempDirectory(Path.of("/dev/shm"), "lite-bench");
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create a directory in /dev/shm", e);
        }
        SharedMemory page = SharedMemory.createFile(root.resolve("rings"), PAGES);
        Process server;
        String host;
        try {
            server = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "--enable-native-access=ALL-UNNAMED",
                            "-Xms256m",
                            "-Xmx256m",
                            "-XX:+UseSerialGC",
                            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                            "-cp",
                            System.getProperty("java.class.path"),
                            RpcPair.class.getName(),
                            root.toString())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            @Nullable String line = reader(server).readLine();
            if (line == null) {
                throw new IllegalStateException("the serving JVM did not start");
            }
            host = line;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start the serving JVM", e);
        }
        InMemoryDirectory.Store store = new InMemoryDirectory.Store();
        Map<String, String> address =
                Map.of("shm", root.resolve("run-" + SERVER).resolve("shm.sock").toString());
        store.open().register(new NodeAdvert(SERVER, -1, host, ARENA_BYTES, address), DEADLINE);
        LiteNode node = LiteNode.start(config(root, CLIENT), store.open(), List.of(new ShmFabricProvider()));
        long end = System.nanoTime() + DEADLINE.toNanos();
        while (node.nodes().stream().anyMatch(peer -> peer.fabric().equals("none"))) {
            if (System.nanoTime() - end > 0) {
                throw new IllegalStateException("not connected: " + node.trouble(0));
            }
            Polling.sleepNs(PAUSE_NS);
        }
        return new RpcPair(root, page, server, node);
    }

    private static BufferedReader reader(Process process) {
        return process.inputReader(StandardCharsets.UTF_8);
    }

    private static LiteNodeConfig config(Path root, String name) {
        return LiteNodeConfig.builder("bench", name, ARENA_BYTES, root.resolve("run-" + name))
                .arena(root.resolve("arenas"), false)
                .build();
    }

    /** Runs the bare ping-pong {@code n} times. */
    void pingPong(int n) {
        long base = page.address();
        setMode(base, MODE_PING_PONG);
        long first = RawMemory.getLongVolatile(base + PLAYED);
        for (long i = first + 1; i <= first + n; i++) {
            send(base + PINGS, i, i);
            long pong = base + PONGS + place(i);
            while (RawMemory.getLongAcquire(pong) != i) {
                Thread.onSpinWait();
            }
            if (RawMemory.getLong(pong + Long.BYTES) != i) {
                throw new IllegalStateException("the pong does not match ping " + i);
            }
        }
        RawMemory.putLongVolatile(base + PLAYED, first + n);
        setMode(base, MODE_CALLS);
    }

    private static void setMode(long base, int mode) {
        RawMemory.putIntVolatile(base + MODE, mode);
        Futex.wake(base + MODE, 1);
    }

    private static void send(long ring, long sequence, long payload) {
        long entry = ring + place(sequence);
        RawMemory.putLong(entry + Long.BYTES, payload);
        RawMemory.putLongRelease(entry, sequence);
    }

    private static long place(long sequence) {
        return (sequence & (ENTRIES - 1)) * ENTRY_BYTES;
    }

    /** CPU time of the serving process so far, in nanoseconds. */
    long serverCpuNs() {
        return server.info().totalCpuDuration().orElse(Duration.ZERO).toNanos();
    }

    LiteNode node() {
        return node;
    }

    @Override
    public void close() {
        setMode(page.address(), MODE_END);
        lite.close();
        node.close();
        try {
            if (!server.waitFor(DEADLINE.toSeconds(), TimeUnit.SECONDS)) {
                server.destroyForcibly();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        page.close();
        try (var paths = Files.walk(root)) {
            for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot delete " + root, e);
        }
    }

    /**
     * The serving JVM. The request's first four bytes give the length of the reply.
     *
     * @param arguments the directory shared by both JVMs
     */
    public static void main(String[] arguments) {
        Path root = Path.of(arguments[0]);
        InMemoryDirectory.Store store = new InMemoryDirectory.Store();
        try (LiteNode node = LiteNode.start(config(root, SERVER), store.open(), List.of(new ShmFabricProvider()));
                Lite lite = node.attach("bench");
                SharedMemory page = SharedMemory.openFile(root.resolve("rings"));
                RpcServer server = lite.rpc().serve("echo")) {
            for (int i = 0; i < Integer.getInteger("lite.bench.servers", 1); i++) {
                Thread.ofPlatform().daemon().start(() -> serve(server));
            }
            System.out.println(node.self().host());
            long base = page.address();
            while (true) {
                switch (RawMemory.getIntVolatile(base + MODE)) {
                    case MODE_PING_PONG -> answerPings(base);
                    case MODE_END -> {
                        return;
                    }
                    default -> Futex.await(base + MODE, MODE_CALLS, DEADLINE.toNanos());
                }
            }
        }
    }

    private static void answerPings(long base) {
        long next = RawMemory.getLongVolatile(base + PLAYED) + 1;
        while (RawMemory.getIntVolatile(base + MODE) == MODE_PING_PONG) {
            for (int i = 0; i < 1000; i++) {
                long ping = base + PINGS + place(next);
                if (RawMemory.getLongAcquire(ping) == next) {
                    send(base + PONGS, next, RawMemory.getLong(ping + Long.BYTES));
                    next++;
                } else {
                    Thread.onSpinWait();
                }
            }
        }
    }

    private static void serve(RpcServer server) {
        MemorySegment[] replies = new MemorySegment[REPLY_MAX + 1];
        for (int bytes = 0; bytes <= REPLY_MAX; bytes++) {
            replies[bytes] = MemorySegment.ofArray(new byte[bytes]);
        }
        try {
            RpcCall call = server.receive(Duration.ofHours(1));
            while (true) {
                int bytes = call.request().get(ValueLayout.JAVA_INT_UNALIGNED, 0);
                call = server.replyAndReceive(call, replies[bytes], Duration.ofHours(1));
            }
        } catch (SessionLostException e) {
            // the benchmark has ended
        }
    }
}
