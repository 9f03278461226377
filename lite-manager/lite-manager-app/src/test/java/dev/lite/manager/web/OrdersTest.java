package dev.lite.manager.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeAdvert;
import dev.lite.cluster.NodeRecord;
import dev.lite.cluster.Order;
import dev.lite.cluster.Orders;
import dev.lite.manager.EventReader;
import dev.lite.manager.RunningManager;
import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** Requests become orders in the directory, which the test executes in place of a node. */
class OrdersTest {
    @TempDir
    static Path work;

    private static RunningManager manager;
    private static Orders orders;
    private static NodeRecord node;

    @BeforeAll
    static void start() {
        manager = new RunningManager(work);
        ClusterDirectory directory = manager.directory();
        node = directory.register(
                new NodeAdvert("node-a", NodeAdvert.NO_ID, "host/boot", 1, Map.of()), RunningManager.DEADLINE);
        orders = new Orders(directory);
        LmrRecord lmr = new LmrRecord(
                7,
                LmrRecord.State.LIVE,
                4096,
                12,
                0,
                Map.of(),
                List.of(new LmrRecord.Share(node.id(), new UUID(1, 2), List.of(new LmrRecord.Run(0, 4096, 0)))));
        directory.create("shop/counters", lmr.encode(), RunningManager.DEADLINE);
    }

    @AfterAll
    static void stop() {
        manager.close();
    }

    @Test
    void aDrainBecomesAnOrderThatCanBeFollowed() throws IOException, InterruptedException {
        try (EventReader events = EventReader.open(manager.uri("/api/events"), null)) {
            HttpResponse<String> answer = post("/api/nodes/node-a/drain", "{\"leave\":true}");
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(202);
            String url = answer.headers().firstValue("Location").orElseThrow();
            JsonNode order = RunningManager.tree(answer.body());
            assertThat(url).isEqualTo("/api/orders/" + order.get("id").asLong());
            assertThat(order.get("kind").asString()).isEqualTo("DRAIN");
            assertThat(order.get("node").asString()).isEqualTo("node-a");
            assertThat(order.get("leave").asBoolean()).isTrue();
            assertThat(order.get("state").asString()).isEqualTo("WANTED");
            assertThat(order.has("executor")).isFalse();
            events.nextOf("orders", event -> isDraining(event) && state(event).equals("WANTED"));
            Waits.until("the node is marked", () -> isMarked("node-a"));
            assertThat(post("/api/nodes/node-a/drain", "{\"leave\":true}")
                            .headers()
                            .firstValue("Location"))
                    .hasValue(url);

            Order seen = orders.find(order.get("id").asLong(), RunningManager.DEADLINE)
                    .orElseThrow();
            seen = orders.claim(seen, "node-a", node.incarnation(), RunningManager.DEADLINE)
                    .orElseThrow();
            seen = orders.progress(seen, 1, 2, "bytes", RunningManager.DEADLINE).orElseThrow();
            JsonNode running = manager.json(url);
            assertThat(running.get("state").asString()).isEqualTo("RUNNING");
            assertThat(running.get("executor").asString()).isEqualTo("node-a");
            assertThat(running.get("done").asLong()).isEqualTo(1);
            orders.finish(seen, "no room: \"node-b\" has 3 bytes", RunningManager.DEADLINE);
            events.nextOf("orders", event -> !isDraining(event) && state(event).equals("FAILED"));
            assertThat(manager.json(url).get("note").asString()).contains("no room");
            assertThat(post("/api/nodes/node-a/undrain", "").statusCode()).isEqualTo(202);
        }
    }

    private static boolean isDraining(JsonNode event) {
        return event.get("draining").size() == 1;
    }

    private static String state(JsonNode event) {
        return event.get("changed").get(0).get("state").asString();
    }

    private static boolean isMarked(String name) {
        try {
            return manager.json("/api/nodes/" + name).get("draining").asBoolean();
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void movesRebalancesAndFreeingOrphansBecomeOrders() throws IOException, InterruptedException {
        HttpResponse<String> move = post("/api/lmrs/shop%2Fcounters/move", "{\"node\":\"node-a\"}");
        assertThat(move.statusCode()).as(move.body()).isEqualTo(202);
        assertThat(RunningManager.tree(move.body()).get("lmr").asString()).isEqualTo("shop/counters");
        assertThat(RunningManager.tree(move.body()).get("target").asString()).isEqualTo("node-a");
        assertThat(post("/api/rebalance", "").statusCode()).isEqualTo(202);
        assertThat(post("/api/orphans/node-a/free", "").statusCode()).isEqualTo(202);
        assertThat(orders.list(RunningManager.DEADLINE))
                .extracting(Order::kind)
                .contains(Order.Kind.MOVE, Order.Kind.REBALANCE, Order.Kind.FREE_ORPHANS);
        assertThat(manager.json("/api/orders").size()).isGreaterThanOrEqualTo(3);
        Waits.until("they are counted", () -> manager.bean(OrderWatch.class).open() >= 3);
        assertThat(manager.json("/actuator/metrics/lite.manager.orders.open")
                        .get("measurements")
                        .get(0)
                        .get("value")
                        .asDouble())
                .isGreaterThanOrEqualTo(3);
        assertThat(manager.json("/actuator/metrics/lite.manager.nodes")
                        .get("measurements")
                        .get(0)
                        .get("value")
                        .asDouble())
                .isEqualTo(1);
    }

    @Test
    void theEpochShowsTheMembership() throws IOException, InterruptedException {
        Waits.until(
                "there is an epoch",
                () -> manager.bean(ClusterDirectory.class).epoch().number() > 0);
        JsonNode epoch = manager.json("/api/epochs");
        assertThat(epoch.get("members").get(0).get("name").asString()).isEqualTo("node-a");
        assertThat(manager.json("/api/manager").get("epoch").asLong())
                .isEqualTo(epoch.get("number").asLong());
    }

    @ParameterizedTest
    @CsvSource({
        "/api/nodes/none/drain, '', 404, 'node \"none\" is not live; the live nodes are [node-a]'",
        "/api/nodes/a b/drain, '', 400, 'the node name \"a b\" is not 1 to 63'",
        "/api/orphans/none/free, '', 404, 'node \"none\" is not live'",
        "/api/lmrs/none/move, '{\"node\":\"node-a\"}', 404, 'there is no LMR \"none\"'",
        "/api/lmrs/shop%2Fcounters/move, '{\"node\":\"none\"}', 404, 'node \"none\" is not live'",
        "/api/lmrs/shop%2Fcounters/move, '{}', 400, 'node is missing; it must be the name of a node'",
        "/api/lmrs/shop%2Fcounters/move, '', 400, 'request'",
        "/api/lmrs/shop%2Fcounters/move, '{', 400, 'the request''s body is no valid JSON'",
        "/api/lmrs/shop%2Fcounters/move, '{\"node\":[]}', 400, 'the field \"node\" of the request''s body is invalid'",
        "/api/lmrs/shop%2Fcounters/move, '{\"note\":\"x\"}', 400, 'the unknown field \"note\"; the known fields are [node]'",
        "/api/nodes/node-a/drain, '{\"leaf\":true}', 400, 'the unknown field \"leaf\"; the known fields are [leave]'",
        "/api/nodes/node-a/drain, '{\"leave\":\"oh\"}', 400, 'the field \"leave\" of the request''s body is invalid'",
        "/api/nodes/node-a/undrain, '{\"now\":1}', 400, 'the unknown field \"now\"; it has no fields'",
        "/api/rebalance, '{\"now\":1}', 400, 'the unknown field \"now\"'",
        "/api/orphans/node-a/free, '{\"now\":1}', 400, 'the unknown field \"now\"'",
    })
    void anInvalidOrderIsRefusedWithTheReason(String path, String body, int status, String detail)
            throws IOException, InterruptedException {
        HttpResponse<String> answer = post(path.replace(" ", "%20"), body);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
        assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/problem+json");
        assertThat(RunningManager.tree(answer.body()).get("detail").asString()).contains(detail);
    }

    @ParameterizedTest
    @CsvSource({
        "/api/nodes/former/drain, ''",
        "/api/orphans/former/free, ''",
        "/api/lmrs/shop%2Fcounters/move, '{\"node\":\"former\"}'",
    })
    void anOrderForANodeThatIsAwayIsNotRefusedAsOneForAnUnknownNode(String path, String body)
            throws IOException, InterruptedException {
        String zookeeper = manager.bean(EmbeddedZooKeeper.class).connectString();
        try (CuratorDirectory former = CuratorDirectory.open(CuratorConfig.of(zookeeper, "lite"))) {
            Object unused = former.register(
                    new NodeAdvert("former", NodeAdvert.NO_ID, "host/boot", 100, Map.of()), RunningManager.DEADLINE);
        }
        ClusterDirectory seen = manager.bean(ClusterDirectory.class);
        Waits.until(
                "the manager sees that it left",
                () -> seen.nodes().size() == 1
                        && seen.epoch().removals().stream()
                                .anyMatch(removal -> removal.name().equals("former")));

        HttpResponse<String> answer = post(path, body);

        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(503);
        assertThat(RunningManager.tree(answer.body()).get("detail").asString())
                .contains("node \"former\" is not live; the live nodes are [node-a]");
    }

    @Test
    void anOpenOrderIsCancelledAndAnEndedOneIsNot() throws IOException, InterruptedException {
        Order open = orders.move("shop/to cancel", "node-a", RunningManager.DEADLINE);
        HttpRequest.Builder cancel =
                HttpRequest.newBuilder(manager.uri("/api/orders/" + open.id())).DELETE();
        HttpResponse<String> answer = manager.send(cancel.copy());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        assertThat(RunningManager.tree(answer.body()).get("state").asString()).isEqualTo("FAILED");
        assertThat(RunningManager.tree(answer.body()).get("note").asString()).isEqualTo("cancelled");
        assertThat(manager.send(cancel).body()).as("repeated").isEqualTo(answer.body());

        Order done = orders.undrain("node-a", RunningManager.DEADLINE);
        HttpResponse<String> refused = manager.send(
                HttpRequest.newBuilder(manager.uri("/api/orders/" + done.id())).DELETE());
        assertThat(refused.statusCode()).isEqualTo(409);
        assertThat(RunningManager.tree(refused.body()).get("detail").asString())
                .isEqualTo("order %d has ended already: it is DONE".formatted(done.id()));
        assertThat(manager.send(HttpRequest.newBuilder(manager.uri("/api/orders/4711"))
                                .DELETE())
                        .statusCode())
                .isEqualTo(404);
    }

    @Test
    void anUnknownOrderIsNotFound() throws IOException, InterruptedException {
        assertThat(manager.get("/api/orders/4711").statusCode()).isEqualTo(404);
        assertThat(manager.get("/api/orders/x").statusCode()).isEqualTo(400);
    }

    private static HttpResponse<String> post(String path, String body) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(manager.uri(path));
        if (body.isEmpty()) {
            request.POST(HttpRequest.BodyPublishers.noBody());
        } else {
            request.header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(body));
        }
        return manager.send(request);
    }
}
