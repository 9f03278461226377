package dev.lite.manager.nodes;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.lite.api.LiteTimeoutException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeAdvert;
import dev.lite.cluster.NodeRecord;
import dev.lite.manager.RunningManager;
import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** What nodes report about themselves by real HTTP, and nodes that do not answer. */
class NodeStatesTest {
    private static final String STATE = """
            {"name":"answers","arena":{"bytes":100,"usedBytes":30,"freeBytes":70,"largestFreeBytes":60},
             "sessions":[{"id":7,"application":"shop","principal":"uid:0","pid":1,"since":"2026-01-01T00:00:00Z","locks":["a lock"]}],
             "lockWaiters":{"77":3}}""";

    /** Long enough for the nodes that answer. */
    private static final Duration NODE_DEADLINE = Waits.seconds(4);

    @TempDir
    static Path work;

    private static final List<AutoCloseable> resources = new ArrayList<>();
    private static RunningManager manager;

    @BeforeAll
    static void start() throws IOException {
        manager = new RunningManager(work, "--lite.manager.node-deadline=%dms".formatted(NODE_DEADLINE.toMillis()));
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Thread::startVirtualThread); // one answer waits for no other
        resources.add(() -> server.stop(0));
        answer(server, "/ok/lite", 200, STATE);
        answer(server, "/token/lite", 401, "");
        answer(server, "/old/lite", 404, "");
        answer(server, "/text/lite", 200, "hello");
        answer(server, "/long/lite", 200, "[" + " ".repeat(5 << 20) + "]");
        server.start();
        String base = "http://127.0.0.1:" + server.getAddress().getPort();
        // It accepts connections and never answers, as a paused process does.
        ServerSocket paused = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        resources.add(paused);
        ServerSocket closed = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        closed.close();
        node("answers", base + "/ok");
        node("other", base + "/ok");
        node("protected", base + "/token");
        node("old", base + "/old");
        node("text", base + "/text");
        node("long", base + "/long");
        node("paused", "http://127.0.0.1:" + paused.getLocalPort());
        node("refuses", "http://127.0.0.1:" + closed.getLocalPort());
        node("silly", "no url");
        node("embedded", null);
        ClusterDirectory seen = manager.bean(ClusterDirectory.class);
        Waits.until(
                "the manager sees the nodes",
                () -> seen.managementUrls().size() == 9 && seen.nodes().size() == 10);
    }

    private static void answer(HttpServer server, String path, int status, String body) {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        server.createContext(path, exchange -> {
            exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
    }

    private static void node(String name, @Nullable String url) {
        CuratorDirectory directory = CuratorDirectory.open(
                CuratorConfig.of(manager.bean(EmbeddedZooKeeper.class).connectString(), "lite"));
        resources.add(directory);
        directory.register(new NodeAdvert(name, NodeAdvert.NO_ID, "host/boot", 100, Map.of()), RunningManager.DEADLINE);
        if (url != null) {
            directory.publishManagementUrl(url);
        }
    }

    @AfterAll
    static void stop() throws Exception {
        for (AutoCloseable resource : resources) {
            resource.close();
        }
        manager.close();
    }

    @Test
    void nodesAreShownWithTheirStateAndTheOthersWithTheReason() throws IOException, InterruptedException {
        JsonNode nodes = manager.json("/api/nodes?state=true");
        assertThat(nodes.size()).isEqualTo(10);
        for (JsonNode node : nodes) {
            String name = node.get("name").asString();
            if (name.equals("answers")) {
                assertThat(node.get("state").get("arena").get("usedBytes").asLong())
                        .isEqualTo(30);
                assertThat(node.has("problem")).isFalse();
                continue;
            }
            assertThat(node.has("state")).as(name).isFalse();
            assertThat(node.get("problem").asString())
                    .contains(
                            switch (name) {
                                case "other" -> "is the node \"answers\"; other hosts cannot reach a loopback address";
                                case "protected" -> "answered 401; it requires a token: set lite.manager.node-token";
                                case "old" -> "answered 404; it has no such endpoint: is it an older version?";
                                case "text" -> "answered no JSON object";
                                case "long" -> "no answer from http://127.0.0.1";
                                case "paused" ->
                                    "not within %d ms (lite.manager.node-deadline)".formatted(NODE_DEADLINE.toMillis());
                                case "refuses" -> "/lite: the connection was refused; other hosts cannot reach";
                                case "silly" -> "its management URL \"no url\" is invalid";
                                case "embedded" -> "it publishes no management URL";
                                default -> throw new AssertionError(name);
                            });
        }
        assertThat(manager.json("/api/nodes/answers?state=true").has("state")).isTrue();
        assertThat(manager.json("/api/nodes/answers").has("state")).isFalse();
    }

    @Test
    void sessionsAreShownWithTheNodesThatDidNotAnswer() throws IOException, InterruptedException {
        JsonNode view = manager.json("/api/sessions");
        assertThat(view.get("sessions").size()).isEqualTo(1);
        assertThat(view.get("sessions").get(0).get("node").asString()).isEqualTo("answers");
        assertThat(view.get("sessions").get(0).get("application").asString()).isEqualTo("shop");
        assertThat(view.get("silent").size()).isEqualTo(9);
    }

    @Test
    void locksAreShownWithTheirHolderAndWaitersAsFarAsKnown() throws IOException, InterruptedException {
        int home = manager.json("/api/nodes/answers").get("id").asInt();
        int paused = manager.json("/api/nodes/paused").get("id").asInt();
        lock("a lock", 77, home);
        lock("another", 78, paused);
        JsonNode locks = manager.json("/api/locks?state=true").get("items");
        JsonNode held = locks.get(0);
        assertThat(held.has("taken")).as(locks.toString()).isTrue();
        assertThat(held.get("taken").asBoolean()).isTrue();
        assertThat(held.get("waiters").asLong()).isEqualTo(3);
        assertThat(held.get("holder").get("application").asString()).isEqualTo("shop");
        assertThat(held.get("holder").get("node").asString()).isEqualTo("answers");
        JsonNode unknown = locks.get(1);
        assertThat(unknown.get("node").asString()).isEqualTo("paused");
        assertThat(unknown.has("taken")).isFalse();
        assertThat(unknown.has("waiters")).isFalse();
        assertThat(manager.json("/api/locks").get("items").get(0).has("holder")).isFalse();
    }

    @Test
    void theAnswersOfAllNodesToOneRequestAreLimitedTogetherAndEachNodeMayBeAskedAlone() {
        ClusterDirectory directory = manager.bean(ClusterDirectory.class);
        List<NodeRecord> two = directory.nodes().stream()
                .filter(node -> List.of("answers", "other").contains(node.name()))
                .toList();
        try (NodeStates states =
                new NodeStates(directory, new NodeAccessProperties(NODE_DEADLINE, null), STATE.length() + 1)) {
            assertThat(states.ask(two).values())
                    .extracting(NodeState::problem)
                    .filteredOn(Objects::nonNull)
                    .anySatisfy(problem -> assertThat(problem)
                            .contains(
                                    "exceed %d bytes".formatted(STATE.length() + 1), "request the state of this node"));
            NodeRecord answers = two.stream()
                    .filter(node -> node.name().equals("answers"))
                    .findFirst()
                    .orElseThrow();
            assertThat(states.ask(List.of(answers)).get("answers"))
                    .extracting(NodeState::problem)
                    .isNull();
        }
    }

    @Test
    void aRequestForStatesIsRefusedIfTooManyOthersWaitForAPausedNode() throws InterruptedException {
        ClusterDirectory directory = manager.bean(ClusterDirectory.class);
        List<NodeRecord> paused = directory.nodes().stream()
                .filter(node -> node.name().equals("paused"))
                .toList();
        Queue<String> refusals = new ConcurrentLinkedQueue<>();
        try (NodeStates states =
                new NodeStates(directory, new NodeAccessProperties(Duration.ofSeconds(2), null), 1 << 20)) {
            List<Thread> callers = new ArrayList<>();
            for (int i = 0; i < 32; i++) {
                callers.add(Thread.startVirtualThread(() -> {
                    try {
                        Object unused = states.ask(paused);
                    } catch (LiteTimeoutException e) {
                        refusals.add(String.valueOf(e.getMessage()));
                    }
                }));
            }
            for (Thread caller : callers) {
                caller.join();
            }
        }
        assertThat(refusals)
                .isNotEmpty()
                .allMatch(refusal -> refusal.startsWith("4 requests for the states of nodes are under way"));
    }

    private static void lock(String name, long id, int home) {
        LmrRecord.Share share = new LmrRecord.Share(home, new UUID(1, 2), List.of(new LmrRecord.Run(0, 4096, 0)));
        LmrRecord record = new LmrRecord(id, LmrRecord.State.LIVE, 8, 12, 0, Map.of(), List.of(share));
        manager.directory()
                .create(ClusterDirectory.INTERNAL_PREFIX + "lock/" + name, record.encode(), RunningManager.DEADLINE);
    }

    @Test
    void theTokenIsSentToOtherHostsOnly() {
        assertThat(authorization("http://10.0.0.1:7410/actuator")).isEqualTo("Bearer secret");
        assertThat(authorization("https://node-1:7410/actuator")).isEqualTo("Bearer secret");
        for (String url : List.of("http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1")) {
            assertThat(authorization(url)).isEmpty();
        }
    }

    private static String authorization(String url) {
        HttpRequest request = NodeStates.request(url, Duration.ofSeconds(1), "secret");
        return request.headers().firstValue("Authorization").orElse("");
    }
}
