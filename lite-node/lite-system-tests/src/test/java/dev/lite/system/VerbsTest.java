package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Extent;
import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.cli.CommandLineHere;
import dev.lite.cli.CommandLineHere.Result;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The commands that show what nodes do, change data and cancel orders, with real processes. */
@ExtendWith(SharedClusters.Resolver.class)
class VerbsTest {
    private static final Duration SOON = Waits.seconds(60);
    private static final int LMRS = 300;
    private static final int LMR_BYTES = 64 << 10;
    private static final JsonMapper JSON = JsonMapper.builder().build();

    @TempDir
    private Path directory;

    private SharedClusters.Borrowed borrowed;
    private LocalCluster cluster;

    @BeforeEach
    void borrow(SharedClusters clusters) {
        borrowed = clusters.borrow("shm");
        cluster = borrowed.cluster();
    }

    @AfterEach
    void giveBack() {
        borrowed.close();
    }

    private Result ask(String... arguments) {
        String url = cluster.manager().property("url").orElseThrow();
        return CommandLineHere.run(Stream.concat(Arrays.stream(arguments), Stream.of("--manager", url))
                .toArray(String[]::new));
    }

    private JsonNode json(String... arguments) {
        Result result =
                ask(Stream.concat(Arrays.stream(arguments), Stream.of("--json")).toArray(String[]::new));
        assertThat(result.status()).as(result.err()).isZero();
        return JSON.readTree(result.out());
    }

    private String[] atNode(String... arguments) {
        return Stream.concat(
                        Arrays.stream(arguments),
                        Stream.of("--socket", cluster.socket(1).toString()))
                .toArray(String[]::new);
    }

    private Result data(byte[] input, String... arguments) {
        return CommandLineHere.run(input, atNode(arguments));
    }

    private Result done(byte[] input, String... arguments) {
        Result result = data(input, arguments);
        assertThat(result.status())
                .as("%s: %s", List.of(arguments), result.err())
                .isZero();
        return result;
    }

    private Result unwritten(String reason, String... arguments) {
        OutputStream failing = new OutputStream() {
            @Override
            public void write(int value) throws IOException {
                throw new IOException(reason);
            }
        };
        return CommandLineHere.runInto(failing, atNode(arguments));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void dataIsCreatedWrittenReadGrantedAndFreed() throws IOException {
        byte[] none = {};
        byte[] content = new byte[3 << 20];
        new Random(7).nextBytes(content);
        assertThat(done(none, "create", "verbs/data", "9MB", "--nodes", "node-2,node-3", "--others-may", "read")
                        .out())
                .contains("has 9437184 bytes at node-2, node-3");
        assertThat(done(content, "put", "verbs/data", "-", "--offset", "3MB").out())
                .isEqualTo("3145728 bytes written\n");
        assertThat(done(none, "get", "verbs/data", "--offset", "3MB", "--length", "3MB")
                        .bytes())
                .isEqualTo(content);
        assertThat(done(none, "get", "verbs/data").bytes()).hasSize(9 << 20);
        Path file = Files.write(directory.resolve("file"), bytes("Hello, world."));
        done(none, "put", "verbs/data", file.toString());
        assertThat(done(none, "dump", "verbs/data", "--length", "32").out()).isEqualTo("""
                00000000  48 65 6c 6c 6f 2c 20 77  6f 72 6c 64 2e 00 00 00  |Hello, world....|
                00000010  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
                00000020
                """);

        for (String command : List.of("get", "dump")) {
            Result unwritten = unwritten("No space left on device", command, "verbs/data");
            assertThat(unwritten.status()).isEqualTo(1);
            assertThat(unwritten.err()).isEqualTo("lite: cannot write to standard output: No space left on device\n");
            Result enough = unwritten("Broken pipe", command, "verbs/data");
            assertThat(enough.status()).as(command + " | head").isZero();
            assertThat(enough.err()).isEmpty();
        }

        Result unread = data(none, "put", "verbs/data", "/proc/self/mem");
        assertThat(unread.status()).isEqualTo(1);
        assertThat(unread.err()).isEqualTo("lite: cannot read the file /proc/self/mem: Input/output error\n");

        Result tooLong = data(none, "put", "verbs/data", file.toString(), "--offset", "9437180");
        assertThat(tooLong.status()).isEqualTo(1);
        assertThat(tooLong.err())
                .isEqualTo(
                        "lite: LMR \"verbs/data\" has 9437184 bytes, 4 of them from offset 9437180; the input has 13 bytes\n");
        assertThat(data(content, "put", "verbs/data", "--offset", "8MB").err())
                .contains("the input has more; 1048576 were written");
        assertThat(data(none, "get", "verbs/data", "--offset", "10MB").status()).isEqualTo(2);
        assertThat(data(none, "create", "verbs/data", "1KB").err()).contains("verbs/data");

        done(none, "grant", "verbs/data", "somebody", "read,write");
        assertThat(ask("lmr", "verbs/data").out())
                .contains("others may   READ\n", "somebody     READ, WRITE\n", "share at     node-2");
        done(none, "free", "verbs/data");
        Result freed = data(none, "get", "verbs/data");
        assertThat(freed.status()).isEqualTo(1);
        assertThat(freed.err()).contains("verbs/data").hasLineCount(1);
    }

    @Test
    void aCancelledDrainLeavesEveryLmrWholeAndItsNodeInUse() {
        try (Lite lite = Clusters.attach(cluster, 1)) {
            byte[] content = new byte[LMR_BYTES];
            new Random(3).nextBytes(content);
            List<LmrHandle> handles = IntStream.range(0, LMRS)
                    .parallel()
                    .mapToObj(number -> {
                        LmrHandle handle = lite.memory()
                                .malloc(LmrSpec.of(LMR_BYTES)
                                        .withName("drained/" + number)
                                        .withPlacement(Placement.on("node-2")));
                        handle.write(0, content);
                        return handle;
                    })
                    .toList();
            long id = json("drain", "node-2", "--no-wait").path("id").asLong();
            Waits.until("some are moved", SOON, () -> handles.stream().anyMatch(handle -> !isAt(handle, "node-2")));

            JsonNode cancelled = json("orders", "cancel", Long.toString(id));

            assertThat(cancelled.path("state").asString()).isEqualTo("FAILED");
            assertThat(cancelled.path("note").asString()).isEqualTo("cancelled");
            assertThat(ask("orders", "cancel", "1000000").status()).isEqualTo(1);
            Waits.until(
                    "no move is under way",
                    SOON,
                    () -> json("lmrs", "drained/")
                            .valueStream()
                            .allMatch(lmr -> lmr.path("state").asString().equals("LIVE")));
            List<String> places = new ArrayList<>();
            for (LmrHandle handle : handles) {
                byte[] found = new byte[LMR_BYTES];
                handle.read(0, found);
                assertThat(Arrays.equals(found, content)).as(handle.toString()).isTrue();
                assertThat(handle.extents()).hasSize(1);
                places.add(handle.extents().getFirst().node());
            }
            assertThat(places).contains("node-2").containsAnyOf("node-1", "node-3");
            Waits.until("new LMRs are placed on the node again", SOON, () -> {
                assertThat(json("nodes")
                                .valueStream()
                                .noneMatch(node -> node.path("draining").asBoolean()))
                        .isTrue();
                try (LmrHandle made = lite.memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("node-2")))) {
                    return isAt(made, "node-2");
                } catch (dev.lite.api.NodeUnreachableException e) {
                    return false; // the nodes learn of it a little later
                }
            });
            handles.parallelStream().forEach(LmrHandle::free);
        }
    }

    private static boolean isAt(LmrHandle handle, String node) {
        return handle.extents().stream().map(Extent::node).allMatch(node::equals);
    }

    @Test
    void nodesReportTheirMemorySessionsAndLocksAndAPausedOneDelaysNobody() {
        try (Lite lite = Clusters.attach(cluster, 1);
                HeldLock held = lite.sync().lock("verbs/lock").acquire(SOON)) {
            assertThat(held.isHeld()).isTrue();
            LmrHandle handle = lite.memory().malloc(LmrSpec.of(1 << 20));
            Waits.until(
                    "all nodes report", SOON, () -> json("nodes").valueStream().allMatch(node -> node.has("state")));
            Waits.until("they are shown with their memory", SOON, () -> {
                String nodes = ask("nodes").out();
                return nodes.contains("USED") && nodes.contains("node-3") && !nodes.contains("?");
            });
            Waits.until(
                    "the session is shown",
                    SOON,
                    () -> json("sessions")
                            .path("sessions")
                            .valueStream()
                            .anyMatch(session ->
                                    session.path("application").asString().equals("system-test")
                                            && session.path("node").asString().equals("node-1")));
            Waits.until("the lock's holder is shown", SOON, () -> {
                JsonNode lock = json("locks", "verbs/").get(0);
                return lock.path("holder").path("application").asString("").equals("system-test")
                        && lock.path("waiters").asLong(-1) == 0
                        && ask("locks", "verbs/").out().contains("system-test at node-1");
            });
            assertThat(json("epochs").path("members").size()).isGreaterThanOrEqualTo(3);

            handle.write(0, new byte[1 << 16]);
            assertThat(json("top", "--count", "1", "--every", "200ms").get(0).has("read"))
                    .isTrue();
            JsonNode bench = JSON.readTree(
                    done(new byte[0], "bench", "--count", "50", "--json").out());
            assertThat(bench.size()).isGreaterThanOrEqualTo(3);
            bench.forEach(row ->
                    assertThat(row.path("medianNs").asLong()).as(row.toString()).isPositive());

            long pid = cluster.node(3).pid();
            Signals.send(pid, "STOP");
            try {
                Result nodes = ask("nodes");
                assertThat(nodes.status()).isZero();
                assertThat(nodes.err())
                        .contains("node-3: no answer from http://127.0.0.1")
                        .contains("not within 2000 ms");
                assertThat(nodes.out()).contains("node-3", "?");
            } finally {
                Signals.send(pid, "CONT");
            }
            handle.free();
        }
    }

    @Test
    void watchPrintsOrdersAsTheyAreExecuted() {
        AtomicBoolean stop = new AtomicBoolean();
        Thread orders = Thread.ofPlatform().start(() -> {
            while (!stop.get()) {
                ask("rebalance");
            }
        });
        Result watched = ask("watch", "--for", Waits.seconds(3).toMillis() + "ms");
        stop.set(true);
        Waits.join(orders);
        assertThat(watched.status()).as(watched.err()).isZero();
        assertThat(watched.out()).contains("node-1", "ZooKeeper is available", "(REBALANCE)");
    }
}
