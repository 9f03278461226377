package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.testing.ChildJvm;
import dev.lite.tier.testing.InDevShm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Two nodes in two processes over shared memory. Calls in a closed loop need only two threads: the caller and the server. The standby
 * threads of both nodes sleep meanwhile.
 */
@Isolated("it finds the standby thread of its node among the threads of its process")
class TwoThreadsTest {
    private static final Duration GENEROUS = Waits.seconds(15);
    private static final long ARENA_BYTES = 16 << 20;
    private static final String SERVER = "server";
    private static final String CLIENT = "client";
    private static final String STANDBY_THREAD = "lite-poll-shm";

    private static final int WARM_UP = 5_000;
    private static final int CALLS = 20_000;
    /** Maximum number of wake-ups of the standby thread while the calls run. Its own timeout once a second does not count. */
    private static final int WAKE_UPS_MAX = CALLS / 100;
    /** One of so many measurements must be good. */
    private static final int MEASUREMENTS_MAX = 5;

    @TempDir(factory = InDevShm.class)
    private Path root;

    /** How often the standby thread took the role, and how often it blocked. */
    private record StandbyCounters(long taken, long slept) {
        static StandbyCounters of(LiteNode node) {
            return new StandbyCounters(node.figures().standbyWakeups(), sleeps());
        }

        StandbyCounters since(StandbyCounters before) {
            return new StandbyCounters(taken - before.taken, slept - before.slept);
        }

        boolean isQuiet() {
            return taken < WAKE_UPS_MAX && slept < WAKE_UPS_MAX;
        }

        byte[] encode() {
            return ByteBuffer.allocate(16).putLong(taken).putLong(slept).array();
        }

        static StandbyCounters decode(byte[] bytes) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            return new StandbyCounters(buffer.getLong(), buffer.getLong());
        }

        private static long sleeps() {
            try (Stream<Path> tasks = Files.list(Path.of("/proc/self/task"))) {
                for (Path task : tasks.toList()) {
                    if (Files.readString(task.resolve("comm")).strip().equals(STANDBY_THREAD)) {
                        return Files.readAllLines(task.resolve("status")).stream()
                                .filter(line -> line.startsWith("voluntary_ctxt_switches:"))
                                .mapToLong(line -> Long.parseLong(
                                        line.substring(line.indexOf(':') + 1).strip()))
                                .sum();
                    }
                }
                throw new AssertionError("no thread " + STANDBY_THREAD);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @Test
    void callsInAClosedLoopWakeNoStandbyThread() {
        InMemoryDirectory.Store store = new InMemoryDirectory.Store(); // this process's own; the server has another one
        try (ChildJvm child = ChildJvm.start(TwoThreadsTest.class, root.toString());
                InMemoryDirectory ofServer = store.open();
                InMemoryDirectory directory = store.open()) {
            ofServer.register(server(Objects.requireNonNull(child.line(), "the server did not start")), GENEROUS);
            measure(directory);
        }
    }

    private void measure(InMemoryDirectory directory) {
        try (LiteNode node = LiteNode.start(config(root, CLIENT), directory, List.of(new ShmFabricProvider()));
                Lite lite = node.attach("app");
                Arena arena = Arena.ofConfined()) {
            Waits.until(
                    "connected",
                    () -> node.nodes().stream().noneMatch(peer -> peer.fabric().equals("none")));
            RpcClient client = lite.rpc().bind(SERVER, "echo");
            MemorySegment request = arena.allocate(8);
            MemorySegment reply = arena.allocate(8);
            call(client, request, reply, WARM_UP);
            List<Measured> measured = new ArrayList<>();
            do { // if the machine gives this process no time for a moment, callers sleep and the standby threads wake
                StandbyCounters serverBefore = atServer(lite);
                StandbyCounters callerBefore = StandbyCounters.of(node);
                call(client, request, reply, CALLS);
                Measured of = new Measured(
                        StandbyCounters.of(node).since(callerBefore),
                        atServer(lite).since(serverBefore));
                System.out.printf("%d calls; the standby threads: %s%n", CALLS, of);
                measured.add(of);
            } while (!measured.getLast().isQuiet() && measured.size() < MEASUREMENTS_MAX);
            assertThat(measured.getLast().isQuiet())
                    .as(
                            "that the standby threads took the role and blocked less than %d times: %s",
                            WAKE_UPS_MAX, measured)
                    .isTrue();
        }
    }

    private record Measured(StandbyCounters atCaller, StandbyCounters atServer) {
        boolean isQuiet() {
            return atCaller.isQuiet() && atServer.isQuiet();
        }
    }

    private static void call(RpcClient client, MemorySegment request, MemorySegment reply, int times) {
        for (int i = 0; i < times; i++) {
            client.call(request, reply, GENEROUS);
        }
    }

    private static StandbyCounters atServer(Lite lite) {
        return StandbyCounters.decode(lite.rpc().call(SERVER, "standby-counters", new byte[0], GENEROUS));
    }

    private NodeAdvert server(String host) {
        Path socket = root.resolve("run-" + SERVER).resolve("shm.sock");
        return new NodeAdvert(SERVER, -1, host, ARENA_BYTES, Map.of("shm", socket.toString()));
    }

    private static LiteNodeConfig config(Path root, String name) {
        return LiteNodeConfig.builder("c", name, ARENA_BYTES, root.resolve("run-" + name))
                .arena(root.resolve("arenas"), false)
                .build();
    }

    /**
     * The server process, which is killed at the end of the test.
     *
     * @param arguments the directory of both
     */
    public static void main(String[] arguments) {
        Path root = Path.of(arguments[0]);
        try (InMemoryDirectory directory = new InMemoryDirectory.Store().open();
                LiteNode node = LiteNode.start(config(root, SERVER), directory, List.of(new ShmFabricProvider()));
                Lite lite = node.attach("app");
                RpcServer echo = lite.rpc().serve("echo")) {
            lite.rpc()
                    .register(
                            "standby-counters",
                            1,
                            call -> MemorySegment.ofArray(
                                    StandbyCounters.of(node).encode()));
            System.out.println(node.self().host());
            RpcCall call = echo.receive(Duration.ofMinutes(2));
            while (true) {
                call = echo.replyAndReceive(call, call.request(), Duration.ofMinutes(2));
            }
        }
    }
}
