package dev.lite.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.manager.zookeeper.EmbeddedZooKeeperConfig;
import dev.lite.testing.TrickledRequest;
import dev.lite.testing.Waits;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The node as a process: two nodes, a real ZooKeeper, and applications that attach by the Unix socket. */
@Execution(ExecutionMode.CONCURRENT)
class LiteNodeProcessTest {
    private static final int SIGTERM_STATUS = 128 + 15;
    /** More than the heap of a node, with what an object costs for each of its fields. */
    private static final long LONG_BODY_BYTES = 256L << 20;

    private static final Duration SESSION_TIMEOUT = Waits.seconds(6);

    private static final Duration STOP = Waits.seconds(15);

    private static final String STORE_PASSWORD = "changeit";

    @TempDir
    Path directory;

    private Path arenas;
    private EmbeddedZooKeeper zooKeeper;

    @BeforeEach
    void start() throws IOException {
        arenas = Files.createTempDirectory(Path.of("/dev/shm"), "lite-node-app-test-");
        zooKeeper = startZooKeeper(0);
    }

    @AfterEach
    void stop() throws IOException {
        zooKeeper.close();
        try (Stream<Path> files = Files.walk(arenas)) {
            files.sorted((one, other) -> other.compareTo(one)).forEach(LiteNodeProcessTest::delete);
        }
    }

    private static void delete(Path file) {
        try {
            Files.delete(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private EmbeddedZooKeeper startZooKeeper(int port) {
        return EmbeddedZooKeeper.start(
                new EmbeddedZooKeeperConfig("127.0.0.1", port, directory.resolve("zookeeper"), NodeProcess.START));
    }

    private NodeProcess node(String name, String... more) throws IOException {
        return node(name, name, arenas, more);
    }

    /** @param process names its files, which differ from those of another process of the same node */
    private NodeProcess node(String process, String name, Path arenaDirectory, String... more) throws IOException {
        List<String> options = Stream.concat(
                        Stream.of(
                                "--lite.cluster.zookeeper=" + zooKeeper.connectString(),
                                "--lite.cluster.session-timeout=" + SESSION_TIMEOUT.toMillis() + "ms",
                                "--lite.node.name=" + name,
                                "--lite.node.arena.size=16MB",
                                "--lite.node.arena.directory=" + arenaDirectory,
                                "--lite.node.run-directory=" + directory.resolve(process),
                                "--lite.node.deadline=30s"),
                        Stream.of(more))
                .toList();
        return new NodeProcess(directory, process, options.toArray(String[]::new));
    }

    private static Lite attach(NodeProcess node) {
        return Lite.attach(Lite.AttachOptions.to(Path.of(node.ready().getProperty("socket")), "test"));
    }

    @Test
    void twoNodesServeTheirApplicationsWithAndWithoutZooKeeperUntilTheyAreStopped()
            throws IOException, InterruptedException {
        try (NodeProcess a = node("a");
                NodeProcess b = node("b")) {
            String healthOfA = a.ready().getProperty("health");
            assertThat(a.ready().getProperty("pid"))
                    .isEqualTo(Long.toString(a.process().pid()));
            String healthOfB = b.ready().getProperty("health");
            NodeProcess.awaitHealth(healthOfA, "\"b\":\"shm\"");
            NodeProcess.awaitHealth(healthOfB, "\"a\":\"shm\"");

            try (Lite atA = attach(a);
                    Lite atB = attach(b)) {
                LmrHandle written = atA.memory()
                        .malloc(LmrSpec.of(64)
                                .withName("greeting")
                                .withPlacement(Placement.on("b"))
                                .withDefaultPermissions(Permission.READ));
                written.write(0, "hello".getBytes(StandardCharsets.UTF_8));
                LmrHandle read = atB.memory().map("greeting", EnumSet.of(Permission.READ));
                assertGreeting(read, "hello");

                int port = Integer.parseInt(zooKeeper.connectString().replaceFirst(".*:", ""));
                zooKeeper.close();
                NodeProcess.awaitHealth(healthOfA, "\"directory\":\"unreachable\"");
                assertThat(NodeProcess.get(healthOfA + "/readiness").statusCode())
                        .isEqualTo(503);
                assertThat(NodeProcess.get(healthOfA + "/liveness").statusCode())
                        .isEqualTo(200);
                written.write(0, "still".getBytes(StandardCharsets.UTF_8));
                assertGreeting(read, "still");
                assertThatThrownBy(() -> atB.memory().map("another", EnumSet.of(Permission.READ)))
                        .isInstanceOf(ClusterUnavailableException.class);

                zooKeeper = startZooKeeper(port);
                NodeProcess.awaitHealth(healthOfA, "\"directory\":\"available\"");
                NodeProcess.awaitHealth(healthOfB, "\"directory\":\"available\"");
                NodeProcess.awaitHealth(healthOfA, "\"b\":\"shm\"");
                written.free();
            }

            b.process().destroy();
            assertThat(b.awaitExit(STOP)).isEqualTo(SIGTERM_STATUS);
            assertThat(b.hasReadyFile()).isFalse();
            assertThat(directory.resolve("b/node.sock")).doesNotExist();
            assertThat(NodeProcess.get(healthOfA).body()).contains("\"status\":\"UP\"");
            assertThat(a.log() + b.log()).doesNotContain("\tat ");
        }
    }

    @Test
    void theEndpointsTellWhatTheNodeDid() throws IOException, InterruptedException {
        String[] options = {
            "--lite.node.fabrics=tcp",
            "--lite.node.tcp.secret=0123456789abcdef0123456789abcdef",
            "--server.tomcat.connection-timeout=500ms"
        };
        try (NodeProcess a = node("a", options);
                NodeProcess b = node("b", options)) {
            String health = a.ready().getProperty("health");
            b.ready();
            TrickledRequest.awaitEnd(URI.create(health).getPort());
            NodeProcess.awaitHealth(health, "\"b\":\"tcp\"");
            String actuator = health.substring(0, health.lastIndexOf('/'));
            try (Lite lite = attach(a)) {
                LmrHandle handle = lite.memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("b")));
                handle.write(0, new byte[64]);
                handle.write(0, new byte[64]);
                assertThat(handle.fetchAdd(0, 1)).isZero();
                assertThat(NodeProcess.get(actuator + "/lite").body())
                        .contains("\"name\":\"a\"")
                        .contains("\"application\":\"test\"")
                        .contains("\"handles\":1")
                        .contains("{\"node\":\"b\",\"fabric\":\"tcp\",\"lanes\":2,\"trouble\":\"\"}")
                        .contains("\"transfers\":{\"tcp\":{\"atomic\":{\"operations\":1,\"bytes\":8}")
                        .contains("\"write\":{\"operations\":2,\"bytes\":128}");
            }
            Waits.until("the session has ended", () -> text(actuator + "/lite").contains("\"sessions\":[]"));
            String metrics = text(actuator + "/prometheus");
            assertThat(metrics)
                    .contains("lite_node_operations_total{kind=\"write\"} 2.0")
                    .contains("lite_node_transfer_size_bytes_total{fabric=\"tcp\",kind=\"write\"} 128.0")
                    .contains("lite_node_links{fabric=\"tcp\"} 1.0")
                    .contains("lite_node_qos_low_limit_bytes_per_second{of=\"fabric\"} 0.0")
                    .contains("lite_node_sessions 0.0");
            checkWithPromtool(metrics);
        }
    }

    @Test
    void theHookOfAContainerDrainsTheNodeOnceAndSaysWhyMemoryStays() throws IOException, InterruptedException {
        String token = "0123456789abcdef";
        String[] options = {"--lite.node.management.token=" + token, "--lite.node.drain-timeout=40s"};
        try (NodeProcess a = node("a", options);
                NodeProcess b = node("b", options)) {
            String health = b.ready().getProperty("health");
            NodeProcess.awaitHealth(a.ready().getProperty("health"), "\"b\":\"shm\"");
            NodeProcess.awaitHealth(health, "\"a\":\"shm\"");
            String url = drainUrl(health);
            try (Lite lite = attach(a)) {
                LmrHandle handle = lite.memory().malloc(LmrSpec.of(4 << 20).withPlacement(Placement.on("b")));
                handle.write(0, "hello".getBytes(StandardCharsets.UTF_8));
                // Without the token no process of this host may drain the node.
                assertThat(drain(url, null)).startsWith("1 ").contains("is not set");
                assertThat(drain(url, token + "x"))
                        .startsWith("1 ")
                        .contains("a change needs the token of lite.node.management.token");
                assertThat(b.log()).doesNotContain("drain begins");
                assertThat(drain(url, token)).isEqualTo("0 ");
                assertGreeting(handle, "hello");
                b.process().destroy();
                assertThat(b.awaitExit(STOP)).isEqualTo(SIGTERM_STATUS);
                assertThat(b.log()).containsOnlyOnce("drain begins").containsOnlyOnce("memory=empty");
                assertGreeting(handle, "hello");
                Waits.until(
                        "b has left",
                        () -> !text(a.ready().getProperty("health")).contains("\"b\":\""));
                assertThat(drain(drainUrl(a.ready().getProperty("health")), token))
                        .startsWith("1 ")
                        .contains("409", "no other live node takes memory");
            }
        }
    }

    /** It could lift its own quota. */
    @Test
    void aProcessOfThisHostWithoutTheTokenReadsTheQualityOfServiceAndCannotChangeIt()
            throws IOException, InterruptedException {
        String token = "0123456789abcdef";
        try (NodeProcess node = node("a", "--lite.node.management.token=" + token);
                HttpClient client = HttpClient.newHttpClient()) {
            String health = node.ready().getProperty("health");
            String url = health.substring(0, health.lastIndexOf('/')) + "/liteqos";
            for (String wrong : List.of("", "Bearer " + token + "x")) {
                HttpResponse<String> refused = changeQos(client, url, wrong, 3);
                assertThat(refused.statusCode()).as(wrong).isEqualTo(403);
                assertThat(refused.body()).contains("a change needs the token of lite.node.management.token");
            }
            assertThat(text(url)).contains("\"heavyLoad\":").doesNotContain("\"heavyLoad\":3.0");
            assertThat(changeQos(client, url, "Bearer " + token, 3).statusCode())
                    .isEqualTo(200);
            assertThat(text(url)).contains("\"heavyLoad\":3.0");
        }
    }

    private static HttpResponse<String> changeQos(HttpClient client, String url, String authorization, int heavyLoad)
            throws IOException, InterruptedException {
        return client.send(
                HttpRequest.newBuilder(URI.create(url))
                        .header("Content-Type", "application/json")
                        .header("Authorization", authorization)
                        .POST(HttpRequest.BodyPublishers.ofString("{\"heavyLoad\": %d}".formatted(heavyLoad)))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    private static String drainUrl(String health) {
        return health.substring(0, health.lastIndexOf('/')) + "/litedrain";
    }

    /** The status of the hook's command, and what it prints. */
    private static String drain(String url, @Nullable String token) {
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        int status = DrainCommand.run(
                new String[] {url, Long.toString(Waits.seconds(60).toSeconds())},
                token,
                new PrintStream(errors, true, StandardCharsets.UTF_8));
        return status + " " + errors.toString(StandardCharsets.UTF_8);
    }

    private static String text(String url) {
        try {
            return NodeProcess.get(url).body();
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Checks names and format as Prometheus' own tool does; without it, prints that this was not checked. */
    private void checkWithPromtool(String metrics) throws IOException, InterruptedException {
        Path file = Files.writeString(directory.resolve("metrics.txt"), metrics);
        Process promtool;
        try {
            promtool = new ProcessBuilder("promtool", "check", "metrics")
                    .redirectErrorStream(true)
                    .redirectInput(file.toFile())
                    .start();
        } catch (IOException e) {
            System.out.println("not checked with promtool: " + e.getMessage());
            return;
        }
        String output = new String(promtool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        promtool.waitFor();
        assertThat(output.lines().filter(line -> line.startsWith("lite_")))
                .as(output)
                .isEmpty();
    }

    @Test
    void aNodeThatCannotStartWritesTheReasonToAFile() throws IOException, InterruptedException {
        Path reason = Files.createFile(directory.resolve("reason"));
        try (NodeProcess node =
                node("a", "--lite.exit-message-file=" + reason, "--lite.node.socket=/proc/none/node.sock")) {
            assertThat(node.awaitExit(NodeProcess.START)).isEqualTo(1);
        }
        assertThat(reason)
                .content()
                .startsWith("cannot create the directory /proc/none of lite.node.socket")
                .endsWith("Set lite.node.socket to a path that this user may write to.");
        try (NodeProcess node = node("b", "--lite.exit-message-file=" + reason, "--lite.node.tcp.port=much")) {
            assertThat(node.awaitExit(NodeProcess.START)).isEqualTo(1);
        }
        assertThat(reason).content().contains("lite.node.tcp.port").contains("\"much\"");
    }

    @Test
    void twoNodesOverTcpEncryptWithAnSslBundle() throws IOException, InterruptedException {
        makeStores();
        String[] options = {
            "--lite.node.fabrics=tcp",
            "--lite.node.tcp.ssl-bundle=cluster",
            "--spring.ssl.bundle.jks.cluster.keystore.location=file:" + directory.resolve("keys.p12"),
            "--spring.ssl.bundle.jks.cluster.keystore.password=" + STORE_PASSWORD,
            "--spring.ssl.bundle.jks.cluster.truststore.location=file:" + directory.resolve("trusted.p12"),
            "--spring.ssl.bundle.jks.cluster.truststore.password=" + STORE_PASSWORD
        };
        try (NodeProcess a = node("a", options);
                NodeProcess b = node("b", options)) {
            NodeProcess.awaitHealth(a.ready().getProperty("health"), "\"b\":\"tcp\"");
            NodeProcess.awaitHealth(b.ready().getProperty("health"), "\"a\":\"tcp\"");
            try (Lite atA = attach(a);
                    Lite atB = attach(b)) {
                atA.memory()
                        .malloc(LmrSpec.of(64)
                                .withName("secret")
                                .withPlacement(Placement.on("b"))
                                .withDefaultPermissions(Permission.READ))
                        .write(0, "hello".getBytes(StandardCharsets.UTF_8));
                assertGreeting(atB.memory().map("secret", EnumSet.of(Permission.READ)), "hello");
            }
        }
    }

    @Test
    void theActuatorMayHaveAPortOfItsOwnThatExposesMoreAndEndsTrickledHeaders()
            throws IOException, InterruptedException {
        try (NodeProcess node = node(
                "a",
                "--server.tomcat.connection-timeout=500ms",
                "--management.server.port=0",
                "--management.endpoints.web.base-path=/manage",
                "--management.endpoints.web.exposure.include=*",
                "--management.endpoint.health.show-details=never")) {
            String health = node.ready().getProperty("health");
            assertThat(NodeProcess.get(health).body())
                    .contains("\"status\":\"UP\"")
                    .doesNotContain("fabric");
            String manage = health.substring(0, health.lastIndexOf('/'));
            assertThat(manage).endsWith("/manage");
            assertThat(text(manage + "/prometheus"))
                    .contains("lite_node_sessions", "jvm_memory_used_bytes", "process_cpu_usage");
            for (String endpoint : List.of("info", "lite", "metrics", "env", "loggers", "threaddump")) {
                assertThat(NodeProcess.get(manage + "/" + endpoint).statusCode())
                        .as(endpoint)
                        .isEqualTo(200);
            }
            TrickledRequest.awaitEnd(URI.create(health).getPort());
            int port = URI.create(health).getPort();
            assertThatThrownBy(() -> new Socket("127.0.0.2", port).close())
                    .as("an address of this host that is not server.address")
                    .isInstanceOf(ConnectException.class);
            assertThat(statusFor("rebound.example", port, "/manage/lite"))
                    .as("a page of another site")
                    .isEqualTo("403");
            assertThat(statusFor("localhost", port, "/manage/lite")).isEqualTo("200");
            assertThat(statusFor("10.1.2.3", port, "/manage/health/liveness"))
                    .as("a probe of another host")
                    .isEqualTo("200");
        }
    }

    /** The status of a GET for a host that is another one than that of the connection. */
    private static String statusFor(String host, int port, String path) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout((int) STOP.toMillis());
            socket.getOutputStream()
                    .write("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"
                            .formatted(path, host)
                            .getBytes(StandardCharsets.US_ASCII));
            String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return answer.split(" ", 3)[1];
        }
    }

    @Test
    void aProcessWhoseNameAnotherOneHasTakenEndsWithoutDrainingThatOne() throws IOException, InterruptedException {
        try (NodeProcess other = node("b");
                NodeProcess paused = node("a")) {
            NodeProcess.awaitHealth(other.ready().getProperty("health"), "\"a\":\"shm\"");
            NodeProcess.awaitHealth(paused.ready().getProperty("health"), "\"b\":\"shm\"");
            signal("-STOP", paused);
            try (NodeProcess newer = node("newer", "a", Files.createDirectory(arenas.resolve("newer")))) {
                NodeProcess.awaitHealth(newer.ready().getProperty("health"), "\"b\":"); // another one to drain to
                signal("-CONT", paused);
                assertThat(paused.awaitExit(NodeProcess.START)).isEqualTo(1);
                assertThat(paused.log())
                        .contains("stopping because this process is no longer a node of the cluster")
                        .doesNotContain("node leaves");
                assertThat(newer.log()).doesNotContain("kind=DRAIN");
                assertThat(newer.process().isAlive()).isTrue();
            }
        }
    }

    private static void signal(String signal, NodeProcess node) throws IOException, InterruptedException {
        Process kill =
                new ProcessBuilder("kill", signal, Long.toString(node.process().pid())).start();
        assertThat(kill.waitFor()).isZero();
    }

    /** Fields of an object of JSON that never ends, each with a name of its own. */
    private static void writeLongBody(OutputStream out, boolean isChunked) throws IOException {
        int count = 0;
        StringBuilder piece = new StringBuilder("{");
        for (long sent = 0; sent < LONG_BODY_BYTES; sent += piece.length()) {
            piece.setLength(sent == 0 ? 1 : 0);
            while (piece.length() < 1 << 16) {
                piece.append("\"field").append(count++).append("\":\"value\",");
            }
            String text = isChunked ? "%x\r\n%s\r\n".formatted(piece.length(), piece) : piece.toString();
            out.write(text.getBytes(StandardCharsets.US_ASCII));
        }
    }

    @Test
    void theEndpointsBelieveNoHeaderOfAProxyAndReadNoLongBody() throws IOException, InterruptedException {
        // On Kubernetes, Spring Boot would believe them.
        try (NodeProcess node = node("a", "--spring.main.cloud-platform=kubernetes");
                HttpClient client = HttpClient.newHttpClient()) {
            String health = node.ready().getProperty("health");
            URI endpoint = URI.create(health.substring(0, health.lastIndexOf('/')) + "/lite");
            assertThat(client.send(
                                    HttpRequest.newBuilder(endpoint)
                                            .header("X-Forwarded-For", "203.0.113.7")
                                            .build(),
                                    HttpResponse.BodyHandlers.ofString())
                            .statusCode())
                    .as("the address is that of the connection")
                    .isEqualTo(200);
            // A process of this host needs no token, but must not use up the heap of the node.
            String head = "POST /actuator/liteqos HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
            for (String length :
                    List.of("Content-Length: %d".formatted(LONG_BODY_BYTES), "Transfer-Encoding: chunked")) {
                try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), endpoint.getPort())) {
                    socket.getOutputStream().write((head + length + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
                    writeLongBody(socket.getOutputStream(), length.endsWith("chunked"));
                } catch (IOException closed) {
                    // The node did not read it all.
                }
                assertThat(NodeProcess.get(health).statusCode()).as(length).isEqualTo(200);
            }
            assertThat(node.process().isAlive()).isTrue();
        }
    }

    @Test
    void theWebServerEncryptsWithAnSslBundle() throws IOException, InterruptedException, GeneralSecurityException {
        makeStores();
        try (NodeProcess node = node(
                "a",
                "--server.ssl.bundle=web",
                "--spring.ssl.bundle.jks.web.keystore.location=file:" + directory.resolve("keys.p12"),
                "--spring.ssl.bundle.jks.web.keystore.password=" + STORE_PASSWORD)) {
            URI health = URI.create(node.ready().getProperty("health"));
            assertThat(health.getScheme()).isEqualTo("https");
            try (SSLSocket socket =
                    (SSLSocket) trusting().getSocketFactory().createSocket(health.getHost(), health.getPort())) {
                socket.setSoTimeout((int) STOP.toMillis());
                socket.startHandshake();
                assertThat(socket.getSession().getPeerPrincipal().getName()).isEqualTo("CN=node");
            }
        }
    }

    private SSLContext trusting() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance(directory.resolve("trusted.p12").toFile(), STORE_PASSWORD.toCharArray());
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }

    @Test
    void aMissingSslBundleIsReported() throws IOException, InterruptedException {
        try (NodeProcess node = node("a", "--lite.node.fabrics=tcp", "--lite.node.tcp.ssl-bundle=cluster")) {
            assertThat(node.awaitExit(NodeProcess.START)).isEqualTo(1);
            assertThat(node.log())
                    .contains("there is no SSL bundle \"cluster\"", "lite.node.tcp.ssl-bundle")
                    .doesNotContain("\tat ");
        }
    }

    private void makeStores() throws IOException, InterruptedException {
        keytool(
                "-genkeypair -alias node -keyalg EC -dname CN=node -ext SAN=dns:a,dns:b -validity 2 -storetype PKCS12 -keystore keys.p12");
        keytool("-exportcert -alias node -file node.crt -keystore keys.p12");
        keytool("-importcert -noprompt -alias node -file node.crt -storetype PKCS12 -keystore trusted.p12");
    }

    private void keytool(String arguments) throws IOException, InterruptedException {
        String tool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
        Process process = new ProcessBuilder((tool + " " + arguments + " -storepass " + STORE_PASSWORD).split(" "))
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
    }

    private static void assertGreeting(LmrHandle handle, String text) {
        byte[] bytes = new byte[text.length()];
        handle.read(0, bytes);
        assertThat(new String(bytes, StandardCharsets.UTF_8)).isEqualTo(text);
    }

    @Test
    void anUnknownFabricIsReportedWithTheKnownOnes() throws IOException, InterruptedException {
        try (NodeProcess node = node("a", "--lite.node.fabrics=carrier-pigeon")) {
            assertThat(node.awaitExit(NodeProcess.START)).isEqualTo(1);
            assertThat(node.log())
                    .contains("APPLICATION FAILED TO START")
                    .contains("lite.node.fabrics is \"carrier-pigeon\"; it must list one or more of shm, rdma and tcp")
                    .contains("lite.node.fabrics")
                    .doesNotContain("\tat ");
        }
    }

    @Test
    void anUnusableRequiredFabricIsReportedWithTheReason() throws IOException, InterruptedException {
        try (NodeProcess node = node("a", "--lite.fabric=auto", "--lite.fabric.require=rdma")) {
            assertThat(node.awaitExit(NodeProcess.START)).isEqualTo(1);
            assertThat(node.log())
                    .contains("APPLICATION FAILED TO START")
                    .contains("the fabric rdma is required, and it cannot be used: it needs the cluster's secret")
                    .contains("lite.fabric.require")
                    .doesNotContain("\tat ");
        }
    }
}
