package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.api.Priority;
import dev.lite.cli.CommandLineHere;
import dev.lite.local.LocalCluster;
import dev.lite.local.LocalProcess;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The policy for quality of service of real processes over TCP: two nodes, a manager, and a ZooKeeper of its own. */
class QosClusterTest {
    private static final Duration SESSION_TIMEOUT = Waits.seconds(4);
    private static final Duration SOON = Waits.seconds(60);
    private static final String LOW_TOKEN = "the token of the batch job";
    private static final String HIGH_TOKEN = "the token of the shop";
    private static final int OPERATIONS = 50;
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private static ZooKeepers zooKeepers;
    private static LocalCluster cluster;

    @BeforeAll
    static void start() throws IOException {
        Path logs = Path.of(System.getProperty("lite.system.logs"), "QosClusterTest");
        zooKeepers = ZooKeepers.start(Files.createTempDirectory(Files.createDirectories(logs), "zookeepers"), 1);
        cluster = Clusters.builder("QosClusterTest")
                .zookeeper(zooKeepers.connectString())
                .nodes(2)
                .fabrics("tcp")
                .property("lite.cluster.session-timeout", SESSION_TIMEOUT.toMillis() + "ms")
                .nodeProperty("lite.node.principals[0].name", "batch")
                .nodeProperty("lite.node.principals[0].token", LOW_TOKEN)
                .nodeProperty("lite.node.principals[0].priority", "low")
                .nodeProperty("lite.node.principals[1].name", "shop")
                .nodeProperty("lite.node.principals[1].token", HIGH_TOKEN)
                .build();
        cluster.startManager();
        cluster.startNodes();
    }

    @AfterAll
    static void stop() {
        cluster.close();
        zooKeepers.close();
    }

    private static JsonNode qos(int node) {
        LocalProcess process = cluster.node(node);
        String health = process.health().orElseThrow();
        return json(get(health.replaceAll("/health.*$", "/liteqos")));
    }

    private static HttpResponse<String> get(String url) {
        return send(HttpRequest.newBuilder(URI.create(url)).GET());
    }

    private static HttpResponse<String> post(String url, String body) {
        return send(HttpRequest.newBuilder(URI.create(url))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body)));
    }

    private static HttpResponse<String> send(HttpRequest.Builder request) {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(request.timeout(Waits.seconds(20)).build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    private static JsonNode json(HttpResponse<String> answer) {
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return JSON.readTree(answer.body());
    }

    private static void awaitMode(int node, String mode) {
        Waits.until(
                "node %d has the mode %s".formatted(node, mode),
                SOON,
                () -> mode(node).equals(mode));
    }

    private static String mode(int node) {
        return qos(node).path("status").path("policy").path("mode").asString();
    }

    private static CommandLineHere.Result lite(String... arguments) {
        String[] all = Arrays.copyOf(arguments, arguments.length + 2);
        all[arguments.length] = "--manager";
        all[arguments.length + 1] = cluster.manager().property("url").orElseThrow();
        return CommandLineHere.run(all);
    }

    private static CommandLineHere.Result changed(String... arguments) {
        CommandLineHere.Result result = lite(arguments);
        assertThat(result.status()).as(result.err()).isZero();
        return result;
    }

    private static Lite attach(String token) {
        return Lite.attach(Lite.AttachOptions.to(cluster.socket(1), "qos-test")
                .withToken(token)
                .withDeadline(Waits.seconds(20)));
    }

    private static long operations(String priority) {
        return qos(1).path("status").path(priority).path("operations").asLong();
    }

    private static void use(LmrHandle handle) {
        for (int operation = 0; operation < OPERATIONS; operation++) {
            handle.write(0, new byte[64]);
        }
    }

    @Test
    void anApplicationCannotRaiseItsPriorityButLowerIt() {
        changed("qos", "--mode", "sw-pri");
        awaitMode(1, "SW_PRI");
        LmrSpec spec = LmrSpec.of(4096).withPlacement(Placement.on("node-2"));
        try (Lite batch = attach(LOW_TOKEN);
                Lite shop = attach(HIGH_TOKEN)) {
            LmrHandle low = batch.memory().malloc(spec);
            LmrHandle high = shop.memory().malloc(spec);
            long highBefore = operations("high");
            long lowBefore = operations("low");
            use(low.withPriority(Priority.HIGH));
            assertThat(operations("high")).as("of the batch job").isEqualTo(highBefore);
            assertThat(operations("low")).isGreaterThanOrEqualTo(lowBefore + OPERATIONS);

            lowBefore = operations("low");
            use(high.withPriority(Priority.LOW));
            assertThat(operations("high")).as("of a view of low priority").isEqualTo(highBefore);
            assertThat(operations("low")).isGreaterThanOrEqualTo(lowBefore + OPERATIONS);

            use(high);
            assertThat(operations("high")).isGreaterThanOrEqualTo(highBefore + OPERATIONS);
            assertThat(qos(1).path("status").path("low").path("sessions").asInt())
                    .isEqualTo(1);
        }
    }

    @Test
    void lanesAreReservedOverTcpAndEveryOperationWorks() {
        changed("qos", "--mode", "hw-sep", "--high-share", "60");
        awaitMode(1, "HW_SEP");
        awaitMode(2, "HW_SEP");
        LmrSpec spec = LmrSpec.of(8 << 20).withPlacement(Placement.on("node-2"));
        try (Lite batch = attach(LOW_TOKEN);
                Lite shop = attach(HIGH_TOKEN)) {
            for (Lite lite : List.of(batch, shop)) {
                LmrHandle handle = lite.memory().malloc(spec);
                byte[] bytes = new byte[4 << 20];
                new Random(1).nextBytes(bytes);
                handle.write(100, bytes);
                byte[] read = new byte[bytes.length];
                handle.read(100, read);
                assertThat(read).isEqualTo(bytes);
                assertThat(handle.fetchAdd(0, 1)).isZero();
            }
        }
    }

    @Test
    void aNodeThatMissedAChangeFollowsItWithoutTheManagerThatMadeIt() {
        changed("qos", "--mode", "off", "--bytes-quota", "batch=1000000");
        awaitMode(2, "OFF");

        cluster.node(2).pause();
        try {
            changed("qos", "--mode", "sw-pri", "--no-quotas", "--heavy-load", "3");
            awaitMode(1, "SW_PRI");
            cluster.killManager();
            // Its session with ZooKeeper ends meanwhile, so the change is no news on it.
            Waits.pass(SESSION_TIMEOUT.multipliedBy(2));
        } finally {
            cluster.node(2).resume();
        }

        awaitMode(2, "SW_PRI");
        JsonNode followed = qos(2);
        assertThat(followed.path("status").path("policy").path("heavyLoad").asDouble())
                .isEqualTo(3);
        assertThat(followed.path("status").path("policy").path("quotas")).isEmpty();
        assertThat(followed.path("clusterRevision")).isEqualTo(qos(1).path("clusterRevision"));

        CommandLineHere.Result away = CommandLineHere.run("qos", "--mode", "off", "--manager", "http://127.0.0.1:1");
        assertThat(away.status()).as("a change while the manager is away").isEqualTo(3);
        cluster.startManager();
        Waits.until(
                "the manager knows the policy", SOON, () -> lite("qos").out().contains("SW_PRI"));
    }

    @Test
    void aChangeWhileZooKeeperIsAwayIsRefusedAndTheOldPolicyStays() {
        changed("qos", "--mode", "sw-pri");
        awaitMode(1, "SW_PRI");
        zooKeepers.killAll();
        CommandLineHere.Result refused;
        try {
            refused = lite("qos", "--mode", "off");
        } finally {
            zooKeepers.startAll();
        }
        assertThat(refused.status()).isEqualTo(1);
        assertThat(refused.err()).isNotBlank();
        assertThat(mode(1)).isEqualTo("SW_PRI");
        Waits.until(
                "changes work again", SOON, () -> lite("qos", "--mode", "off").status() == 0);
        awaitMode(1, "OFF");
        awaitMode(2, "OFF");
    }

    @Test
    void aNodesOwnEndpointChangesItUntilTheClustersPolicyChanges() {
        changed("qos", "--mode", "off", "--heavy-load", "7");
        awaitMode(1, "OFF");
        Waits.until(
                "it follows",
                SOON,
                () -> qos(1).path("status").path("policy").path("heavyLoad").asDouble() == 7);
        String url = cluster.node(1).health().orElseThrow().replaceAll("/health.*$", "/liteqos");

        HttpResponse<String> bad = post(url, "{\"highShare\": 90, \"lowShare\": 20}");
        assertThat(bad.statusCode()).isEqualTo(400);
        assertThat(bad.body()).contains("together 110; they must add up to 100");
        assertThat(post(url, "{\"mode\": \"fast\"}").body()).contains("mode is \\\"fast\\\"; it must be one of");
        assertThat(post(url, "{\"lowBytesPerSecond\": \"much\"}").body())
                .contains("lowBytesPerSecond is \\\"much\\\"; it must be a number");
        assertThat(post(url, "{\"operationsQuotas\": \"batch=0\"}").body())
                .contains("operationsPerSecond of \\\"batch\\\" is 0; it must be 1");
        assertThat(post(url, "{\"bytesQuotas\": \"batch\"}").body())
                .contains("bytesQuotas is \\\"batch\\\"; it must be PRINCIPAL=RATE,PRINCIPAL=RATE");
        assertThat(post(url, "{\"bytesQuotas\": \"batch=x\"}").body())
                .contains("bytesQuotas of \\\"batch\\\" is \\\"x\\\"; it must be a number");
        assertThat(post(url, "{\"mod\": \"SW_PRI\"}").body()).contains("the request changes nothing");
        assertThat(mode(1)).isEqualTo("OFF");

        JsonNode changed = json(post(url, "{\"mode\": \"SW_PRI\", \"operationsQuotas\": \"batch=5\"}"));
        assertThat(changed.path("status").path("policy").path("mode").asString())
                .isEqualTo("SW_PRI");
        assertThat(mode(2)).isEqualTo("OFF");
        changed("qos", "--mode", "off", "--heavy-load", "8");
        awaitMode(1, "OFF");
    }
}
