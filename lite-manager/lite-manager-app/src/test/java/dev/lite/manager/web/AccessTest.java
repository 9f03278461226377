package dev.lite.manager.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.cluster.process.StartException;
import dev.lite.manager.EventReader;
import dev.lite.manager.RunningManager;
import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.testing.Waits;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import tools.jackson.databind.json.JsonMapper;

/** Access control when the manager listens beyond loopback. */
@Isolated("it captures the output of its process")
@ExtendWith(OutputCaptureExtension.class)
class AccessTest {
    private static final String TOKEN = "0123456789abcdef-secret:with/colon";

    @TempDir
    Path work;

    @Test
    void beyondLoopbackEverythingButTheProbesRequiresTheToken(CapturedOutput output)
            throws IOException, InterruptedException {
        Path file = Files.writeString(work.resolve("token"), TOKEN + "\n");
        try (RunningManager manager =
                new RunningManager(work, "--server.address=0.0.0.0", "--lite.manager.token-file=" + file)) {
            for (String path : new String[] {
                "/api/nodes", "/api/events", "/api/openapi.json", "/actuator/health", "/actuator/metrics", "/", "/error"
            }) {
                HttpResponse<String> refused = manager.get(path);
                assertThat(refused.statusCode()).as(path).isEqualTo(401);
                assertThat(refused.headers().allValues("WWW-Authenticate"))
                        .anyMatch(scheme -> scheme.startsWith("Bearer"))
                        .anyMatch(scheme -> scheme.startsWith("Basic"));
                assertThat(refused.headers().firstValue("Content-Type")).hasValue("application/problem+json");
            }
            assertThat(manager.get("/actuator/health/liveness").statusCode()).isEqualTo(200);
            assertThat(manager.get("/actuator/health/readiness").body()).doesNotContain("nodes");
            assertThat(manager.get("/actuator/health/liveness/../../../api/nodes")
                            .statusCode())
                    .isIn(400, 401);
            assertThat(manager.get("/actuator/health/liveness;x").statusCode()).isEqualTo(401);

            assertThat(status(manager, "Bearer " + TOKEN)).isEqualTo(200);
            assertThat(status(manager, "bearer  " + TOKEN)).isEqualTo(200);
            assertThat(status(manager, "Basic " + base64("anybody:" + TOKEN))).isEqualTo(200);
            for (String wrong : new String[] {
                "Bearer",
                "Bearer " + TOKEN + "x",
                "Bearer " + TOKEN.substring(1),
                "Basic " + base64(TOKEN),
                "Basic " + base64(":"),
                "Basic !!!",
                "Digest " + TOKEN,
                TOKEN
            }) {
                assertThat(status(manager, wrong)).as(wrong).isEqualTo(401);
            }
        }
        assertThat(output.getAll())
                .contains("clients send the token unencrypted over the network")
                .doesNotContain(TOKEN);
    }

    @Test
    void inKubernetesHeadersOfAProxyDoNotChangeWhomARequestIsForAndWhereItComesFrom(CapturedOutput output)
            throws IOException {
        try (RunningManager manager = new RunningManager(work, "--spring.main.cloud-platform=kubernetes");
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), manager.port())) {
            socket.setSoTimeout(Math.toIntExact(RunningManager.DEADLINE.toMillis()));
            socket.getOutputStream().write("""
                            POST /api/rebalance HTTP/1.1\r
                            Host: rebound.example\r
                            X-Forwarded-For: 10.9.8.7, 127.0.0.1\r
                            X-Forwarded-Host: localhost\r
                            Connection: close\r
                            \r
                            """.getBytes(StandardCharsets.US_ASCII));
            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                    .startsWith("HTTP/1.1 403")
                    .contains("rebound.example");
        }
        assertThat(output.getAll()).containsPattern("lite.audit .*refused client=local address=127.0.0.1 POST");
    }

    @Test
    void aManagementPortOfItsOwnRequiresTheTokenForEverythingButTheProbes() throws IOException, InterruptedException {
        try (RunningManager manager = new RunningManager(
                work,
                "--management.server.port=0",
                "--management.server.address=0.0.0.0",
                "--lite.manager.token=" + TOKEN)) {
            int port = manager.property("local.management.port", Integer.class);
            assertThat(port).isNotEqualTo(manager.port());
            URI actuator = URI.create("http://127.0.0.1:" + port + "/actuator/");
            for (String path : new String[] {"health", "metrics", "prometheus", "info"}) {
                assertThat(manager.send(HttpRequest.newBuilder(actuator.resolve(path)))
                                .statusCode())
                        .as(path)
                        .isEqualTo(401);
            }
            assertThat(manager.send(HttpRequest.newBuilder(actuator.resolve("health/liveness")))
                            .statusCode())
                    .isEqualTo(200);
            assertThat(manager.send(HttpRequest.newBuilder(actuator.resolve("prometheus"))
                                    .header("Authorization", "Bearer " + TOKEN))
                            .body())
                    .contains("lite_manager_leads ");
        }
    }

    @Test
    void aManagementPortOfItsOwnListensWhereTheManagerDoes() throws IOException, InterruptedException {
        try (RunningManager manager = new RunningManager(work, "--management.server.port=0")) {
            int port = manager.property("local.management.port", Integer.class);

            assertThat(manager.send(HttpRequest.newBuilder(
                                    URI.create("http://127.0.0.1:%d/actuator/health".formatted(port))))
                            .statusCode())
                    .isEqualTo(200);
            assertThatThrownBy(() -> new Socket("127.0.0.2", port).close())
                    .as("another address of this host")
                    .isInstanceOf(ConnectException.class);
        }
    }

    @Test
    void theProbesNeedNoTokenBelowAnotherPath() throws IOException, InterruptedException {
        try (RunningManager manager = new RunningManager(
                work,
                "--server.servlet.context-path=/lite",
                "--management.endpoints.web.base-path=/ops/",
                "--lite.manager.token=" + TOKEN)) {
            for (String probe : new String[] {"liveness", "readiness"}) {
                assertThat(manager.get("/lite/ops/health/" + probe).statusCode())
                        .as(probe)
                        .isEqualTo(200);
            }
            assertThat(manager.get("/lite/ops/health").statusCode()).isEqualTo(401);
            assertThat(manager.get("/lite/ops/health/liveness;x").statusCode()).isEqualTo(401);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/", "/ops/"})
    void aReaderSeesNoSecretsAtAnotherPathOfTheActuator(String base)
            throws IOException, InterruptedException, NoSuchAlgorithmException {
        String reader = "the-token-of-the-reader";
        try (RunningManager manager = new RunningManager(
                work,
                "--management.endpoints.web.base-path=" + base,
                "--management.endpoints.web.exposure.include=*",
                "--lite.manager.token=" + TOKEN,
                "--lite.manager.tokens[0].name=wall",
                "--lite.manager.tokens[0].sha256=" + sha256(reader))) {
            assertThat(status(manager, base + "env", TOKEN)).isEqualTo(200);
            assertThat(status(manager, base + "env", reader)).isEqualTo(403);
            assertThat(status(manager, base + "health", reader)).isEqualTo(200);
            assertThat(status(manager, "/api/nodes", reader)).isEqualTo(200);
            assertThat(manager.get(base + "health/liveness").statusCode()).isEqualTo(200);
        }
    }

    @Test
    void aRequestThatFailsIsAuditedAsFailed() {
        List<Audit.Entry> entries = new ArrayList<>();
        Audit audit = new Audit();
        audit.setListener(entries::add);
        AccessFilter filter = new AccessFilter(
                AccessTokens.of(properties(null, null)),
                audit,
                "/actuator",
                JsonMapper.builder().build());
        assertThatThrownBy(() -> filter.doFilterInternal(
                        fake(HttpServletRequest.class, "PUT"),
                        fake(HttpServletResponse.class, ""),
                        (request, response) -> {
                            throw new IOException("the client is gone");
                        }))
                .hasMessage("the client is gone");
        assertThat(entries).extracting(Audit.Entry::status).containsExactly(500);
    }

    /** A request with this method, or an answer, which has the status 200. */
    private static <T> T fake(Class<T> type, String method) {
        return type.cast(Proxy.newProxyInstance(
                AccessTest.class.getClassLoader(),
                new Class<?>[] {type},
                (proxy, called, arguments) -> switch (called.getName()) {
                    case "getMethod" -> method;
                    case "getServerName", "getRemoteAddr" -> "127.0.0.1";
                    case "getRequestURI" -> "/api/lmrs/a/content";
                    case "getContextPath" -> "";
                    case "getContentLengthLong" -> 1L;
                    case "getStatus" -> 200;
                    default -> null;
                }));
    }

    private static String sha256(String token) throws NoSuchAlgorithmException {
        return HexFormat.of()
                .formatHex(MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void aReaderSeesTheStateButChangesNothingAndReadsNoMemoryAndEachOrderIsAudited(CapturedOutput output)
            throws IOException, InterruptedException, NoSuchAlgorithmException {
        String reader = "the-token-of-the-reader";
        String operator = "the-token-of-the-operator";
        try (RunningManager manager = new RunningManager(
                work,
                "--lite.manager.token=" + TOKEN,
                "--lite.manager.tokens[0].name=wall",
                "--lite.manager.tokens[0].sha256=" + sha256(reader),
                "--lite.manager.tokens[1].name=alice",
                "--lite.manager.tokens[1].role=operator",
                "--lite.manager.tokens[1].sha256=" + sha256(operator),
                "--management.endpoints.web.exposure.include=*",
                "--management.endpoint.heapdump.access=unrestricted")) {
            for (String path : new String[] {"/api/nodes", "/api/orders", "/actuator/health", "/actuator/metrics"}) {
                assertThat(status(manager, path, reader)).as(path).isEqualTo(200);
            }
            for (String path : new String[] {
                "/api/lmrs/a/content", "/api/lmrs/a/%63ontent", "/api/lmrs/a/content;x", "/actuator/heapdump",
                "/%61ctuator/heapdump", "/actuator/heapdump;x", "/api/../actuator/env", "/actuator/env"
            }) {
                assertThat(status(manager, path, reader)).as(path).isIn(400, 403);
            }
            HttpResponse<String> refused = post(manager, "/api/rebalance", reader);
            assertThat(refused.statusCode()).isEqualTo(403);
            assertThat(refused.body())
                    .contains(
                            "the token \\\"wall\\\" may only read the state of the cluster; this request needs the role operator");
            assertThat(post(manager, "/api/rebalance", "the-token-of-nobody").statusCode())
                    .isEqualTo(401);

            try (EventReader events =
                    EventReader.open(manager.uri("/api/events"), null, "Authorization", "Bearer " + reader)) {
                assertThat(events.next().type()).isEqualTo("state");
                assertThat(post(manager, "/api/rebalance", operator).statusCode())
                        .isEqualTo(202);
                assertThat(events.nextOf("audit", entry -> true).data().toString())
                        .contains("\"client\":\"alice\"")
                        .contains("\"path\":\"/api/rebalance\"")
                        .contains("\"status\":202");
                assertThat(post(manager, "/api/nodes/no-such-node/drain", TOKEN).statusCode())
                        .isEqualTo(404);
                assertThat(events.nextOf("audit", entry -> true).data().toString())
                        .contains("\"client\":\"token\"");
            }
        }
        assertThat(output.getAll())
                .containsPattern(
                        "lite.audit .*client=alice role=operator address=127.0.0.1 POST /api/rebalance .* status=202")
                .containsPattern("lite.audit .*refused client=wall address=127.0.0.1 POST /api/rebalance status=403")
                .containsPattern("lite.audit .*refused client=unknown address=127.0.0.1 POST /api/rebalance status=401")
                .doesNotContain(reader, operator, TOKEN);
    }

    @Test
    void theAuditLogHasTheAddressOfTheConnectionAlsoOnKubernetes(CapturedOutput output)
            throws IOException, InterruptedException {
        // There, Spring Boot would believe the headers of a proxy.
        try (RunningManager manager =
                new RunningManager(work, "--lite.manager.token=" + TOKEN, "--spring.main.cloud-platform=kubernetes")) {
            HttpResponse<String> refused = manager.send(HttpRequest.newBuilder(manager.uri("/api/rebalance"))
                    .header("X-Forwarded-For", "203.0.113.7 client=alice")
                    .POST(HttpRequest.BodyPublishers.noBody()));
            assertThat(refused.statusCode()).isEqualTo(401);
        }
        assertThat(output.getAll())
                .containsPattern(
                        "lite.audit .*refused client=unknown address=127.0.0.1 POST /api/rebalance status=401");
    }

    @Test
    void theTokenOfTheNodesThatOthersOnTheNetworkCanReadIsSentWithOneWarning(CapturedOutput output)
            throws IOException, InterruptedException {
        String secret = "0123456789abcdef-of-the-nodes";
        try (RunningManager manager = new RunningManager(work, "--lite.manager.node-token=" + secret)) {
            try (CuratorDirectory local = node(manager, "local", "http://127.0.0.1:1");
                    CuratorDirectory encrypted = node(manager, "encrypted", "https://0.0.0.0:1")) {
                assertThat(List.of(local, encrypted)).doesNotContainNull();
                statesOf(manager, 2);
                assertThat(output.getAll()).doesNotContain("node-token is sent");
                // This host, but no loopback address.
                try (CuratorDirectory exposed = node(manager, "exposed", "http://0.0.0.0:1")) {
                    assertThat(exposed).isNotNull();
                    statesOf(manager, 3);
                    statesOf(manager, 3);
                }
            }
        }
        assertThat(output.getAll())
                .containsOnlyOnce(
                        "lite.manager.node-token is sent to node exposed at http://0.0.0.0:1/lite unencrypted; others on the network can read it")
                .doesNotContain(secret);
    }

    private static CuratorDirectory node(RunningManager manager, String name, String managementUrl) {
        CuratorDirectory directory = CuratorDirectory.open(
                CuratorConfig.of(manager.bean(EmbeddedZooKeeper.class).connectString(), "lite"));
        Object unused = directory.register(
                new NodeAdvert(name, NodeAdvert.NO_ID, "host/boot", 100, Map.of()), RunningManager.DEADLINE);
        directory.publishManagementUrl(managementUrl);
        return directory;
    }

    private static void statesOf(RunningManager manager, int nodes) throws IOException, InterruptedException {
        ClusterDirectory seen = manager.bean(ClusterDirectory.class);
        Waits.until(
                "the manager sees the nodes",
                () -> seen.nodes().size() == nodes && seen.managementUrls().size() == nodes);
        assertThat(manager.json("/api/nodes?state=true").size()).isEqualTo(nodes);
    }

    private static int status(RunningManager manager, String path, String token)
            throws IOException, InterruptedException {
        return manager.get(path, "Authorization", "Bearer " + token).statusCode();
    }

    private static HttpResponse<String> post(RunningManager manager, String path, String token)
            throws IOException, InterruptedException {
        return manager.send(HttpRequest.newBuilder(manager.uri(path))
                .header("Authorization", "Bearer " + token)
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{}")));
    }

    @Test
    void aRefusedRequestWhoseBodyArrivesAfterTheAnswerLeavesItsConnectionUsable() throws IOException {
        try (RunningManager manager = new RunningManager(work, "--lite.manager.token=" + TOKEN);
                Socket socket = new Socket(InetAddress.getLoopbackAddress(), manager.port())) {
            socket.setSoTimeout(Math.toIntExact(Waits.seconds(5).toMillis()));
            for (int request = 0; request < 3; request++) {
                socket.getOutputStream().write("""
                                POST /api/rebalance HTTP/1.1\r
                                Host: 127.0.0.1\r
                                Content-Type: application/json\r
                                Content-Length: 2\r
                                \r
                                """.getBytes(StandardCharsets.US_ASCII));
                StringBuilder answer = new StringBuilder();
                while (!answer.toString().endsWith("\r\n\r\n")) {
                    int next = socket.getInputStream().read();
                    assertThat(next)
                            .as("request %d: the connection is open after \"%s\"", request, answer)
                            .isNotNegative();
                    answer.append((char) next);
                }
                assertThat(answer).startsWith("HTTP/1.1 401");
                int length = Integer.parseInt(answer.toString().replaceAll("(?s).*Content-Length: (\\d+).*", "$1"));
                socket.getInputStream().readNBytes(length);
                socket.getOutputStream().write("{}".getBytes(StandardCharsets.US_ASCII));
            }
        }
    }

    @Test
    void aWrongNameOrHashOfATokenIsRefused() {
        String hash = "ab".repeat(32);
        assertThatThrownBy(() -> AccessTokens.of(named("a b", hash)))
                .hasMessageContaining("lite.manager.tokens[0].name");
        assertThatThrownBy(() -> AccessTokens.of(named("a", "secret")))
                .hasMessageContaining("lite.manager.tokens[0].sha256")
                .hasMessageNotContaining("secret");
        assertThatThrownBy(() -> AccessTokens.of(named("token", hash))).hasMessageContaining("another token");
        assertThat(named("a", hash).toString()).doesNotContain(hash);
    }

    /** A shell makes that hash when the variable of the token is not set: then an empty password would be the token. */
    @Test
    void theHashOfAnEmptyTokenIsRefused() throws NoSuchAlgorithmException {
        String empty = sha256("");
        assertThatThrownBy(() -> AccessTokens.of(named("alice", empty)))
                .isInstanceOf(StartException.class)
                .hasMessageContaining("lite.manager.tokens[0].sha256, of \"alice\", is the SHA-256 of an empty text");
    }

    /** Otherwise it would be open whose role the client has. */
    @Test
    void aTokenWithTwoNamesIsRefused() throws NoSuchAlgorithmException {
        String hash = sha256("the-token-of-two");
        var reader = new WebProperties.NamedToken("wall", Role.READER, hash);
        var operator = new WebProperties.NamedToken("alice", Role.OPERATOR, hash.toUpperCase(Locale.ROOT));
        assertThatThrownBy(() -> AccessTokens.of(named(null, List.of(reader, operator))))
                .isInstanceOf(StartException.class)
                .hasMessageContaining("lite.manager.tokens[1].sha256, of \"alice\", is also that of \"wall\"")
                .hasMessageNotContaining(hash);
        assertThatThrownBy(() -> AccessTokens.of(named("the-token-of-two", List.of(reader))))
                .isInstanceOf(StartException.class)
                .hasMessageContaining("lite.manager.tokens[0].sha256, of \"wall\", is also that of \"token\"");
    }

    @Test
    void theAuditLogHasNoControlCharactersOfBodies() {
        Object[] kept = new Object[1];
        HttpServletRequest request = (HttpServletRequest) Proxy.newProxyInstance(
                AccessTest.class.getClassLoader(),
                new Class<?>[] {HttpServletRequest.class},
                (proxy, setAttribute, arguments) -> {
                    kept[0] = arguments[1];
                    return null;
                });
        Audit.body(request, "a\nb\u0085c\u009bd\u2028e\u2029f\u007fg");
        assertThat(kept[0]).isEqualTo("a?b?c?d?e?f?g");
    }

    private static WebProperties named(String name, String sha256) {
        return named(null, List.of(new WebProperties.NamedToken(name, Role.READER, sha256)));
    }

    private static WebProperties named(@Nullable String token, List<WebProperties.NamedToken> tokens) {
        Duration second = Duration.ofSeconds(1);
        return new WebProperties(token, null, tokens, second, new WebProperties.Events(1, 1, 1, second, second));
    }

    @ParameterizedTest
    @ValueSource(strings = {"short", "a token with a blank in it", "täken-of-16-bytes-or-more"})
    void anInvalidTokenIsRefusedWithoutBeingPrinted(String token) {
        assertThatThrownBy(() -> AccessTokens.of(properties(token, null)))
                .isInstanceOf(StartException.class)
                .hasMessageContaining("lite.manager.token")
                .hasMessageNotContaining(token);
    }

    @Test
    void aTokenFileThatOtherUsersMayWriteIsRefused() throws IOException {
        Path file = Files.writeString(work.resolve("token"), TOKEN);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw----"));
        assertThatThrownBy(() -> AccessTokens.of(properties(null, file)))
                .isInstanceOf(StartException.class)
                .hasMessageContaining("other users may write to %s (lite.manager.token-file)".formatted(file));
    }

    @Test
    void anUnreadableOrSuperfluousTokenFileIsReported() {
        Path missing = work.resolve("missing");
        assertThatThrownBy(() -> AccessTokens.of(properties(null, missing)))
                .isInstanceOf(StartException.class)
                .hasMessageContaining(missing.toString());
        assertThatThrownBy(() -> AccessTokens.of(properties(TOKEN, missing)))
                .isInstanceOf(StartException.class)
                .hasMessageContaining("both set");
        assertThat(properties(TOKEN, null).toString()).doesNotContain(TOKEN);
    }

    private static WebProperties properties(@Nullable String token, @Nullable Path file) {
        Duration second = Duration.ofSeconds(1);
        return new WebProperties(token, file, List.of(), second, new WebProperties.Events(1, 1, 1, second, second));
    }

    private static int status(RunningManager manager, String authorization) throws IOException, InterruptedException {
        return manager.get("/api/nodes", "Authorization", authorization).statusCode();
    }

    private static String base64(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
