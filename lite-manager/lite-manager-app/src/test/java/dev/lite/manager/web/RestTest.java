package dev.lite.manager.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Permission;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeAdvert;
import dev.lite.cluster.NodeRecord;
import dev.lite.manager.RunningManager;
import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerMapping;
import tools.jackson.databind.JsonNode;

/** The REST interface over real HTTP, with a real ZooKeeper, on a loopback address without a token. */
class RestTest {
    @TempDir
    static Path work;

    private static RunningManager manager;
    private static NodeRecord node;

    @BeforeAll
    static void start() {
        manager = new RunningManager(work);
        ClusterDirectory directory = manager.directory();
        node = directory.register(
                new NodeAdvert("node-a", NodeAdvert.NO_ID, "host/boot", 1L << 40, Map.of("tcp", "127.0.0.1:1")),
                RunningManager.DEADLINE);
        Waits.until(
                "the manager sees the node",
                () -> !manager.bean(ClusterDirectory.class).nodes().isEmpty());
        for (String name : List.of("shop/counters", "shop/stock", "shop/users", "umlaut ü;+%", "zoo")) {
            directory.create(name, lmr(node.id()).encode(), RunningManager.DEADLINE);
        }
        for (String name : List.of("first", "second")) {
            directory.create(
                    ClusterDirectory.INTERNAL_PREFIX + "lock/" + name,
                    lmr(name.equals("first") ? node.id() : 77).encode(),
                    RunningManager.DEADLINE);
        }
        directory.create(
                ClusterDirectory.INTERNAL_PREFIX + "barrier/x", lmr(node.id()).encode(), RunningManager.DEADLINE);
    }

    private static LmrRecord lmr(int nodeId) {
        UUID arena = new UUID(1, 2);
        return new LmrRecord(
                Long.MAX_VALUE - 7,
                LmrRecord.State.LIVE,
                12_000,
                22,
                Permission.READ.bit(),
                Map.of("shop", Permission.READ.bit() | Permission.MASTER.bit()),
                List.of(new LmrRecord.Share(
                        nodeId, arena, List.of(new LmrRecord.Run(0, 8192, 0), new LmrRecord.Run(16_384, 4096, 1)))));
    }

    @AfterAll
    static void stop() {
        manager.close();
    }

    @Test
    void theNodesAreListedWithTheirMemoryAndFabrics() throws IOException, InterruptedException {
        JsonNode nodes = manager.json("/api/nodes");
        assertThat(nodes.size()).isEqualTo(1);
        assertThat(nodes.get(0).get("name").asString()).isEqualTo("node-a");
        assertThat(nodes.get(0).get("arenaBytes").asLong()).isEqualTo(1L << 40);
        assertThat(nodes.get(0).get("fabrics").get("tcp").asString()).isEqualTo("127.0.0.1:1");
        assertThat(manager.json("/api/nodes/node-a")).isEqualTo(nodes.get(0));
        assertProblem(manager.get("/api/nodes/node-b"), 404, "there is no node \"node-b\"");
    }

    @Test
    void theManagerReportsTheLeader() throws IOException, InterruptedException {
        Waits.until(
                "it leads",
                () -> manager.bean(dev.lite.cluster.Leadership.class).isLeader());
        JsonNode view = manager.json("/api/manager");
        assertThat(view.get("cluster").asString()).isEqualTo("lite");
        assertThat(view.get("name").asString()).isEqualTo("the manager");
        assertThat(view.get("leads").asBoolean()).isTrue();
        assertThat(view.get("leader").asString()).isEqualTo("the manager");
        assertThat(view.get("directoryAvailable").asBoolean()).isTrue();
    }

    @Test
    void anLmrIsShownWithItsSharesAndPermissions() throws IOException, InterruptedException {
        JsonNode lmr = manager.json("/api/lmrs/shop%2Fcounters");
        assertThat(lmr.get("name").asString()).isEqualTo("shop/counters");
        assertThat(lmr.get("id").asString()).isEqualTo("9223372036854775800");
        assertThat(lmr.get("state").asString()).isEqualTo("LIVE");
        assertThat(lmr.get("bytes").asLong()).isEqualTo(12_000);
        assertThat(lmr.get("shares").get(0).get("node").asString()).isEqualTo("node-a");
        assertThat(lmr.get("shares").get(0).get("bytes").asLong()).isEqualTo(12_288);
        assertThat(lmr.get("shares").get(0).get("runs").asInt()).isEqualTo(2);
        assertThat(lmr.get("grants").get("shop").get(1).asString()).isEqualTo("MASTER");
        assertThat(lmr.has("movingTo")).isFalse();
        assertThat(manager.json("/api/lmrs/umlaut%20%C3%BC%3B+%25").get("name").asString())
                .isEqualTo("umlaut ü;+%");
    }

    @Test
    void listingsArePagedAndOmitLitesInternalRecords() throws IOException, InterruptedException {
        List<String> names = new ArrayList<>();
        String after = "";
        int parts = 0;
        while (after != null) {
            JsonNode page = manager.json("/api/lmrs?limit=2&after=" + encoded(after));
            page.get("items").forEach(item -> names.add(item.get("name").asString()));
            after = page.has("next") ? page.get("next").asString() : null;
            parts++;
        }
        assertThat(names).containsExactly("shop/counters", "shop/stock", "shop/users", "umlaut ü;+%", "zoo");
        assertThat(parts).isEqualTo(3);
        JsonNode shop = manager.json("/api/lmrs?prefix=shop/s");
        assertThat(shop.get("items").size()).isEqualTo(1);
        assertThat(shop.has("next")).isFalse();
        assertThat(manager.json("/api/lmrs?prefix=%01lock").get("items").size()).isZero();
    }

    /** Somebody else may have written it. */
    @Test
    void aRecordThatCannotBeReadIsOmittedFromListings() throws IOException, InterruptedException, KeeperException {
        String connectString = manager.bean(EmbeddedZooKeeper.class).connectString();
        ZooKeeper stranger = new ZooKeeper(connectString, 10_000, event -> {});
        try {
            Waits.until("the stranger's connection", () -> stranger.getState() == ZooKeeper.States.CONNECTED);
            manager.directory().create("shop/damaged", lmr(node.id()).encode(), RunningManager.DEADLINE);
            String damaged = znode(stranger, "shop%2Fdamaged");
            stranger.setData(damaged, new byte[] {1}, -1);

            JsonNode shop = manager.json("/api/lmrs?prefix=shop/");
            HttpResponse<String> itself = manager.get("/api/lmrs/shop%2Fdamaged");

            stranger.delete(damaged, -1);
            assertThat(shop.get("items").size()).isEqualTo(3);
            assertProblem(itself, 503, "is not a record");
        } finally {
            stranger.close();
        }
    }

    private static String znode(ZooKeeper client, String element) throws InterruptedException, KeeperException {
        for (String bucket : client.getChildren("/lite/lite/names", false)) {
            String path = "/lite/lite/names/%s/%s".formatted(bucket, element);
            if (client.exists(path, false) != null) {
                return path;
            }
        }
        throw new AssertionError("there is no znode " + element);
    }

    @Test
    void theLocksAreListedWithTheirHomes() throws IOException, InterruptedException {
        JsonNode locks = manager.json("/api/locks");
        assertThat(locks.get("items").size()).isEqualTo(2);
        assertThat(locks.get("items").get(0).get("name").asString()).isEqualTo("first");
        assertThat(locks.get("items").get(0).get("node").asString()).isEqualTo("node-a");
        assertThat(locks.get("items").get(1).has("node")).isFalse();
        assertThat(locks.get("items").get(1).get("nodeId").asInt()).isEqualTo(77);
        JsonNode first = manager.json("/api/locks?limit=1");
        assertThat(first.get("next").asString()).isEqualTo("first");
        assertThat(manager.get("/api/locks?after=%ff").statusCode()).isEqualTo(400);
        assertThat(manager.json("/api/locks?limit=1&after=first")
                        .get("items")
                        .get(0)
                        .get("name")
                        .asString())
                .isEqualTo("second");
        assertThat(manager.json("/api/locks?prefix=sec").get("items").size()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "1001", "-1"})
    void aLimitOutOfRangeIsReported(String limit) throws IOException, InterruptedException {
        HttpResponse<String> answer = manager.get("/api/lmrs?limit=" + limit);
        assertProblem(answer, 400, "limit is " + limit + "; it must be 1 to 1000");
        JsonNode problem = RunningManager.tree(answer.body());
        assertThat(problem.get("parameter").asString()).isEqualTo("limit");
        assertThat(problem.get("value").asString()).isEqualTo(limit);
        assertThat(problem.get("limit").asString()).isEqualTo("1 to 1000");
    }

    @ParameterizedTest
    @CsvSource({
        "/api/lmrs/none, 404, 'there is no LMR \"none\"'",
        "/api/lmrs/a%01b, 400, the LMR name has a control character",
        "/api/lmrs?limit=many, 400, limit",
        "/api/none, 404, api/none",
    })
    void errorsAreProblemDetails(String path, int status, String detail) throws IOException, InterruptedException {
        assertProblem(manager.get(path), status, detail);
    }

    @Test
    void aRequestWithAnotherHostNameIsRefused() throws IOException {
        assertThat(raw("GET /api/nodes HTTP/1.1\r\nHost: evil.example:80\r\nConnection: close\r\n\r\n"))
                .startsWith("HTTP/1.1 403")
                .contains("application/problem+json", "evil.example");
        for (String host : List.of("localhost", "127.0.0.1:1", "[::1]:7400")) {
            assertThat(raw("GET /api/nodes HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n".formatted(host)))
                    .startsWith("HTTP/1.1 200");
        }
    }

    @Test
    void aChangeRequestedByAnotherSitesPageIsRefused() throws IOException, InterruptedException {
        HttpRequest.Builder act = HttpRequest.newBuilder(manager.uri("/api/nodes/node-a/drain"))
                .POST(HttpRequest.BodyPublishers.noBody());
        assertProblem(
                manager.send(act.copy().header("Origin", "https://evil.example")),
                403,
                "comes from a page of https://evil.example");
        assertProblem(
                manager.send(act.copy().header("Origin", "null")), 403, "only pages of this manager may make changes");
        assertThat(manager.send(act.copy().header("Origin", "http://127.0.0.1:" + manager.port()))
                        .statusCode())
                .isNotEqualTo(403);
    }

    @ParameterizedTest
    @CsvSource({
        "GET, /api/lmrs/zoo/content, ''",
        "DELETE, /api/lmrs/zoo, ''",
        "POST, /api/lmrs, '{\"name\":\"x\",\"bytes\":1}'",
        "POST, /api/lmrs/zoo/grants, '{\"principal\":\"x\",\"permissions\":[\"READ\"]}'",
    })
    void aManagerWithoutASessionRefusesToReadAndChangeLmrs(String method, String path, String body)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(manager.uri(path))
                .header("Content-Type", "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(body));
        assertProblem(manager.send(request), 501, "set lite.manager.client-socket");
    }

    @Test
    void aBodyThatIsTooLongOrHasNoLengthIsRefusedUnread() throws IOException {
        String head = "POST /api/rebalance HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
        assertThat(raw(head + "Content-Length: 65537\r\n\r\n"))
                .startsWith("HTTP/1.1 413")
                .contains("65537", "65536");
        String put = "PUT /api/lmrs/zoo/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16777217\r\n\r\n";
        assertThat(raw(put)).startsWith("HTTP/1.1 413").contains("16777217", "16777216");
        assertThat(raw(head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")).startsWith("HTTP/1.1 411");
    }

    @Test
    void theOpenApiDocumentListsEveryHandlerAndItsPageExists() throws IOException, InterruptedException {
        JsonNode document = manager.json("/api/openapi.json");
        assertThat(document.get("info").get("title").asString()).isEqualTo("LITE manager");
        assertThat(document.get("info").get("version").asString()).isNotBlank().isNotEqualTo("v0");
        JsonNode paths = document.get("paths");
        Set<String> mapped = new TreeSet<>();
        manager.bean("requestMappingHandlerMapping", RequestMappingHandlerMapping.class)
                .getHandlerMethods()
                .forEach((mapping, handler) -> {
                    if (handler.getBeanType().getPackageName().equals(RestTest.class.getPackageName())) {
                        mapped.addAll(mapping.getPatternValues());
                    }
                });
        assertThat(mapped).contains("/api/nodes", "/api/events");
        assertThat(paths.propertyNames()).containsExactlyInAnyOrderElementsOf(mapped);
        HttpResponse<String> page = manager.get("/api/openapi");
        assertThat(page.statusCode()).isEqualTo(302);
        String location = page.headers().firstValue("Location").orElseThrow();
        assertThat(manager.get(location.replaceFirst("^https?://[^/]*", "")).body())
                .contains("swagger-ui");
    }

    private static String encoded(String text) {
        return java.net.URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    private static void assertProblem(HttpResponse<String> answer, int status, String detail) {
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
        assertThat(answer.headers().firstValue("Content-Type")).hasValue("application/problem+json");
        JsonNode problem = RunningManager.tree(answer.body());
        assertThat(problem.get("status").asInt()).isEqualTo(status);
        assertThat(problem.get("detail").asString()).contains(detail);
    }

    /** Sends headers that the JDK's client does not allow to set. */
    private static String raw(String request) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), manager.port())) {
            socket.setSoTimeout((int) RunningManager.DEADLINE.toMillis());
            socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
            socket.shutdownOutput();
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
