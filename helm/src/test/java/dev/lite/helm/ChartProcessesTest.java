package dev.lite.helm;

import static dev.lite.helm.KubernetesObject.list;
import static dev.lite.helm.KubernetesObject.map;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * A manager and a node start with exactly what the chart gives them: the files of its ConfigMaps, the variables of its containers and
 * the keys of its Secrets. Only directories, addresses and ports are others. Then they answer the chart's probes.
 */
@Isolated("starts processes")
class ChartProcessesTest {
    private static final String PASSWORD = "the password of ZooKeeper";
    private static final String MANAGER_TOKEN = "0123456789abcdef0123456789abcdef";
    /** Their hashes are in the set of values. */
    private static final String READER_TOKEN = "the-token-of-the-reader";

    private static final String OPERATOR_TOKEN = "the-token-of-the-operator";
    private static final String STORE_PASSWORD = "changeit";

    @TempDir
    Path directory;

    private final List<Process> processes = new ArrayList<>();
    private Path arenas;

    @BeforeEach
    void createArenas() throws IOException {
        arenas = Files.createTempDirectory(Path.of("/dev/shm"), "lite-chart-");
    }

    @AfterEach
    void end() throws IOException, InterruptedException {
        for (Process process : processes) {
            process.destroyForcibly().waitFor();
        }
        try (var files = Files.walk(arenas)) {
            for (Path file : files.sorted((one, other) -> other.compareTo(one)).toList()) {
                Files.delete(file);
            }
        }
    }

    @Test
    void theHardenedReleaseStartsAndAnswersItsProbesOverTls()
            throws IOException, InterruptedException, GeneralSecurityException {
        List<KubernetesObject> release = Chart.render("lite", "hardened", Map.of("node.arena.size", "64Mi"));
        writeSecrets();
        try (LocalCluster other = LocalCluster.builder()
                .name("chart-" + ProcessHandle.current().pid())
                .jars(jar("lite-manager/lite-manager-app"), jar("lite-node/lite-node-app"))
                .property("lite.cluster.auth.password", PASSWORD)
                .startDeadline(Waits.seconds(90))
                .build()) {
            other.startManager(); // for its ZooKeeper
            KubernetesObject managers = ValueSets.object(release, "Deployment", "-manager");
            KubernetesObject nodes = ValueSets.object(release, "DaemonSet", "-node");
            Properties manager = start(release, managers, "lite-manager/lite-manager-app", other.zookeeper());
            Properties node = start(release, nodes, "lite-node/lite-node-app", other.zookeeper());
            try (HttpClient client =
                    HttpClient.newBuilder().sslContext(trusting()).build()) {
                assertThat(probe(client, managers, manager)).isEqualTo("https");
                assertThat(probe(client, nodes, node)).isEqualTo("http");
                URI rest = URI.create(manager.getProperty("url") + "/api/nodes");
                Waits.until(
                        "the manager has the node",
                        Waits.seconds(60),
                        () -> get(client, rest).body().contains("\"host-1\""));
                checkTokens(client, rest);
            }
            assertThat(Text.of(directory.resolve(nodes.name()).resolve("log")))
                    .as("the only principal without names of its own")
                    .containsPattern("may use every name .*: batch \\(");
            Path socket = Path.of(node.getProperty("socket"));
            assertThat(socket).isEqualTo(directory.resolve("run/node.sock"));
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)))
                    .isEqualTo("rw-rw----");
        }
    }

    /** The chart's tokens have the roles that its values give them. */
    private static void checkTokens(HttpClient client, URI rest) {
        URI act = rest.resolve("/api/nodes/nobody/undrain");
        assertThat(send(client, rest, "GET", READER_TOKEN).statusCode()).isEqualTo(200);
        assertThat(send(client, act, "POST", READER_TOKEN).statusCode()).isEqualTo(403);
        assertThat(send(client, act, "POST", OPERATOR_TOKEN).statusCode()).isNotIn(401, 403);
        assertThat(send(client, rest, "GET", "a-token-that-nobody-has").statusCode())
                .isEqualTo(401);
    }

    /** Checks all probes, and returns their scheme. */
    private static String probe(HttpClient client, KubernetesObject pods, Properties ready) {
        Map<String, Object> container = pods.containers().getLast();
        URI health = URI.create(ready.getProperty("health"));
        for (String name : List.of("startupProbe", "livenessProbe", "readinessProbe")) {
            Map<String, Object> probe = map(container, name, "httpGet");
            assertThat(String.valueOf(probe.get("scheme"))).as(name).isEqualToIgnoringCase(health.getScheme());
            URI uri = health.resolve(String.valueOf(probe.get("path")));
            Waits.until(
                    name + " of " + pods,
                    Waits.seconds(30),
                    () -> get(client, uri).statusCode() == 200);
        }
        return health.getScheme();
    }

    private static HttpResponse<String> get(HttpClient client, URI uri) {
        return send(client, uri, "GET", MANAGER_TOKEN);
    }

    private static HttpResponse<String> send(HttpClient client, URI uri, String method, String token) {
        try {
            return client.send(
                    HttpRequest.newBuilder(uri)
                            .method(method, HttpRequest.BodyPublishers.noBody())
                            .header("Authorization", "Bearer " + token)
                            .timeout(Waits.seconds(20))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new AssertionError(uri.toString(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    /** Starts what a pod would, and returns its ready file. */
    private Properties start(List<KubernetesObject> release, KubernetesObject pods, String module, String zooKeeper)
            throws IOException {
        Path own = Files.createDirectories(directory.resolve(pods.name()));
        Path config = Files.createDirectories(own.resolve("config"));
        String text = String.valueOf(
                ValueSets.object(release, "ConfigMap", pods.name()).map("data").get("application.properties"));
        Files.writeString(
                config.resolve("application.properties"),
                here(text, own)
                        .replaceAll("(?m)^(lite\\.cluster\\.zookeeper)=.*$", "$1=" + zooKeeper)
                        .replaceAll("(?m)^((?:management\\.)?server\\.port|lite\\.node\\.tcp\\.port)=.*$", "$1=0"));
        Path ready = own.resolve("ready");
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "--enable-native-access=ALL-UNNAMED",
                        "-jar",
                        jar(module).toString(),
                        "--lite.exit-with-pid=" + ProcessHandle.current().pid(),
                        "--lite.ready-file=" + ready)
                .redirectErrorStream(true)
                .redirectOutput(own.resolve("log").toFile());
        Map<String, String> environment = builder.environment();
        variables(pods.containers().getLast()).forEach((name, value) -> environment.put(name, here(value, own)));
        Process process = builder.start();
        processes.add(process);
        Waits.until(pods + " is ready", Waits.seconds(90), () -> {
            if (!process.isAlive()) {
                throw new AssertionError(Text.of(own.resolve("log")));
            }
            return Files.exists(ready);
        });
        Properties properties = new Properties();
        properties.load(new StringReader(Files.readString(ready)));
        return properties;
    }

    private static Map<String, String> variables(Map<String, Object> container) {
        Map<String, String> variables = new TreeMap<>();
        for (Map<String, Object> variable : list(container, "env")) {
            Object value = variable.get("value");
            Object field = map(variable, "valueFrom", "fieldRef").get("fieldPath");
            String text = value != null
                    ? value.toString()
                    : switch (String.valueOf(field)) {
                        case "spec.nodeName" -> "host-1";
                        case "status.podIP" -> "127.0.0.1";
                        case "metadata.name" -> "lite-manager-0";
                        default -> "the-value-of-" + variable.get("name");
                    };
            variables.put(String.valueOf(variable.get("name")), text.replace("$(LITE_NODE_TCP_BIND)", "127.0.0.1"));
        }
        // Both have the token of the nodes.
        variables.computeIfPresent("LITE_NODE_MANAGEMENT_TOKEN", (name, value) -> "the-token-of-nodes");
        variables.computeIfPresent("LITE_MANAGER_NODETOKEN", (name, value) -> "the-token-of-nodes");
        return variables;
    }

    /** A text of the chart, with directories and addresses of this test. */
    private String here(String text, Path own) {
        return text.replace("/etc/lite/config", own.resolve("config").toString())
                .replace("/etc/lite", directory.toString())
                .replace("/run/lite", directory.resolve("run").toString())
                .replace("/var/lib/lite/arena", arenas.toString())
                .replace("/dev/termination-log", own.resolve("message").toString())
                .replace("0.0.0.0", "127.0.0.1");
    }

    private static Path jar(String module) {
        return Chart.ROOT.resolve("%s/target/extracted/%s-%s-exec.jar"
                .formatted(module, module.substring(module.indexOf('/') + 1), System.getProperty("lite.helm.version")));
    }

    private void writeSecrets() throws IOException, GeneralSecurityException, InterruptedException {
        Path secret = Files.createDirectories(directory.resolve("secret"));
        secretFile(secret.resolve("cluster-secret"), "the secret of the nodes");
        secretFile(secret.resolve("manager-token"), MANAGER_TOKEN);
        secretFile(secret.resolve("zookeeper-password"), PASSWORD);
        Path tls = Files.createDirectories(directory.resolve("tls"));
        keytool("-genkeypair -alias lite -keyalg EC -dname CN=lite -validity 2 -storetype PKCS12"
                + " -ext san=ip:127.0.0.1,dns:lite-manager -keystore keys.p12");
        keytool("-exportcert -rfc -alias lite -file tls/tls.crt -keystore keys.p12");
        Files.copy(tls.resolve("tls.crt"), tls.resolve("ca.crt"));
        byte[] key = store().getKey("lite", STORE_PASSWORD.toCharArray()).getEncoded();
        secretFile(
                tls.resolve("tls.key"),
                "-----BEGIN PRIVATE KEY-----\n"
                        + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(key)
                        + "\n-----END PRIVATE KEY-----\n");
    }

    private static void secretFile(Path file, String text) throws IOException {
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("r--r-----"));
    }

    private void keytool(String arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString()));
        command.addAll(Arrays.asList(arguments.split(" ", -1)));
        command.addAll(List.of("-storepass", STORE_PASSWORD));
        Process process = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
    }

    private KeyStore store() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream file = Files.newInputStream(directory.resolve("keys.p12"))) {
            store.load(file, STORE_PASSWORD.toCharArray());
        }
        return store;
    }

    private SSLContext trusting() throws IOException, GeneralSecurityException {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("lite", store().getCertificate("lite"));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }
}
