package dev.lite.images;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.images.Container.Pod;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The images start as their users start them, as a user that is not root, and use their class cache. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ImagesIT {
    private static final long BYTES_MAX = 250_000_000;
    private static final String USER = "10001:10001";
    private static final Map<String, Integer> LAYERS = Map.of("lite-node", 5, "lite-manager", 5, "lite-price-board", 4);

    private static final String TOKEN = "0123456789abcdef";

    /** A JVM that cannot use its class cache does not start. That shows as well that this variable is free. */
    private static final String REQUIRE_CACHE = "JAVA_TOOL_OPTIONS=-XX:AOTMode=on";

    private Path work;
    private Path arenas;
    private Image node;
    private Image manager;
    private Image sample;

    @BeforeAll
    void unpack(@TempDir Path temporary) throws IOException {
        work = temporary;
        node = Image.unpack("lite-node", work);
        manager = Image.unpack("lite-manager", work);
        sample = Image.unpack("lite-price-board", work);
        arenas = Files.createTempDirectory(Path.of("/dev/shm"), "lite-images-");
        Image.run("chown", USER, arenas.toString());
        Image.run("chmod", "755", work.toString());
    }

    @AfterAll
    void remove() {
        Image.run("rm", "-rf", arenas.toString());
        // Directories of the images' user.
        for (Image image : List.of(node, manager, sample)) {
            Image.run("rm", "-rf", image.root().toString());
        }
    }

    @Test
    void everyImageHasUserLabelsLayersAndAListOfItsParts() throws IOException {
        for (Image image : List.of(node, manager, sample)) {
            String name = String.valueOf(image.root().getFileName());
            assertThat(Files.size(image.tarball())).as(name).isLessThan(BYTES_MAX);
            System.out.printf("%s: %,d bytes, %d layers%n", name, Files.size(image.tarball()), image.layers());
            assertThat(image.config().path("User").asString()).isEqualTo(USER);
            assertThat(image.config()
                            .path("Labels")
                            .path("org.opencontainers.image.version")
                            .asString())
                    .isEqualTo(System.getProperty("lite.image.version"));
            // Those of LITE above those of the base.
            assertThat(image.layers()).as(name).isGreaterThanOrEqualTo(LAYERS.get(name));
            assertThat(image.environment()).noneMatch(variable -> variable.startsWith("JAVA_TOOL_OPTIONS"));
            JsonNode parts = JsonMapper.shared().readTree(image.root().resolve("opt/lite/sbom/bom.json"));
            assertThat(parts.path("bomFormat").asString()).isEqualTo("CycloneDX");
            assertThat(parts.path("components").size()).isGreaterThan(20);
        }
    }

    @Test
    void managerNodeAndSampleRunInRootsOfTheirOwn() throws IOException, InterruptedException {
        Path run = Files.createDirectories(work.resolve("run-lite"));
        Image.run("chown", USER, run.toString());
        Image.run("chmod", "750", run.toString());
        Pod managerPod = new Pod(USER, "", List.of(), List.of(REQUIRE_CACHE));
        Pod nodePod = new Pod(
                USER,
                "",
                List.of(run + ":/run/lite", arenas + ":/var/lib/lite/arena"),
                List.of(REQUIRE_CACHE, "LITE_NODE_MANAGEMENT_TOKEN=" + TOKEN));
        try (Container managers = Container.start(
                manager,
                managerPod,
                work.resolve("manager.log"),
                "--server.port=0",
                "--lite.manager.zookeeper.embedded=true",
                "--lite.manager.zookeeper.port=0",
                "--lite.manager.zookeeper.data-directory=/tmp/zookeeper",
                "--lite.ready-file=/tmp/ready")) {
            Properties managerReady = managers.awaitReady("/tmp/ready");
            String zooKeeper = managerReady.getProperty("zookeeper");
            try (Container nodes = startNode(nodePod, "node-1", zooKeeper)) {
                String health = nodes.awaitReady("/tmp/ready").getProperty("health");
                System.out.printf("the node was ready after %d ms%n", nodes.millis());
                for (String group : List.of("/liveness", "/readiness")) {
                    awaitStatus(health + group);
                    awaitStatus(managerReady.getProperty("health") + group);
                }
                runCommandLine(managerReady.getProperty("url"));
                runSample(run);
                refuseBadHosts(zooKeeper, run);
                nodes.requireAlive();
                runHook(nodePod, health);
            }
        }
    }

    private Container startNode(Pod pod, String name, String zooKeeper) {
        return Container.start(
                node,
                pod,
                work.resolve(name + ".log"),
                "--server.port=0",
                "--lite.cluster.zookeeper=" + zooKeeper,
                "--lite.node.name=" + name,
                "--lite.node.arena.size=64MB",
                "--lite.node.arena.directory=/var/lib/lite/arena",
                "--lite.ready-file=/tmp/ready");
    }

    /** What is wrong with a host is in the message of the container's end, which "kubectl describe pod" shows. */
    private void refuseBadHosts(String zooKeeper, Path run) throws IOException {
        Path foreign = Files.createDirectories(work.resolve("run-of-root"));
        Image.run("chmod", "755", foreign.toString());
        assertEndsWith(
                zooKeeper,
                List.of(foreign + ":/run/lite", arenas + ":/var/lib/lite/arena"),
                "the directory /run/lite of lite.node.run-directory is not writable",
                "Let this user write there");
        // A second release that was given the directory of the first one.
        assertEndsWith(
                zooKeeper,
                List.of(run + ":/run/lite", arenas + ":/var/lib/lite/arena"),
                "/run/lite/shm.sock",
                "give this node another lite.node.run-directory");
        Path small = Files.createDirectories(work.resolve("small"));
        Image.run("mount", "-t", "tmpfs", "-o", "size=16m,mode=777", "none", small.toString());
        try {
            assertEndsWith(
                    zooKeeper,
                    List.of(run + ":/run/lite", small + ":/var/lib/lite/arena"),
                    "/other/arena",
                    "Free space",
                    "67108864");
        } finally {
            Image.run("umount", small.toString());
        }
    }

    private void assertEndsWith(String zooKeeper, List<String> mounts, String... message) throws IOException {
        Path file = Files.writeString(node.root().resolve("tmp/message"), "");
        Image.run("chown", USER, file.toString());
        // As the chart sets it, for the kubelet's file.
        Pod pod = new Pod(USER, "", mounts, List.of(REQUIRE_CACHE, "LITE_EXITMESSAGEFILE=/tmp/message"));
        try (Container bad = startNode(pod, "other", zooKeeper)) {
            assertThat(bad.awaitEnd()).as(bad.log()).isEqualTo(1);
        }
        assertThat(file).content().contains(message);
    }

    /** The chart's preStop hook, in the environment of the node. There is no other node for the memory, and the hook says so. */
    private void runHook(Pod pod, String health) {
        String url = health.substring(0, health.lastIndexOf('/')) + "/litedrain";
        try (Container hook = Container.startCommand(
                node, pod, work.resolve("hook.log"), List.of("/opt/lite/bin/drain", url, "60"))) {
            assertThat(hook.awaitEnd()).as(hook.log()).isEqualTo(1);
            assertThat(hook.log()).contains("no other live node takes memory").doesNotContain("JAVA_TOOL_OPTIONS");
            System.out.printf("the hook took %d ms%n", hook.millis());
        }
    }

    private void runCommandLine(String url) {
        Pod pod = new Pod(USER, "", List.of(), List.of("LITE_MANAGER=" + url));
        try (Container command = Container.startCommand(
                manager, pod, work.resolve("lite.log"), List.of("/opt/lite/bin/lite", "nodes"))) {
            assertThat(command.awaitEnd()).as(command.log()).isZero();
            assertThat(command.log()).contains("node-1");
        }
    }

    /** As in another pod: another user, another root, and of the node only the directory of its socket. */
    private void runSample(Path run) {
        List<Container> containers = new ArrayList<>();
        try {
            for (String role : List.of("publisher", "viewer")) {
                Pod pod = new Pod(
                        "20001:20001",
                        "10001",
                        List.of(run + ":/run/lite"),
                        List.of(
                                "LITE_CLIENT_SOCKET=/run/lite/node.sock",
                                "LITE_CLIENT_STARTDEADLINE=60s",
                                // The node is neither root nor this user.
                                "JDK_JAVA_OPTIONS=-Dlite.client.node-uid=10001",
                                "SPRING_PROFILES_ACTIVE=" + role));
                containers.add(Container.start(sample, pod, work.resolve(role + ".log")));
            }
            Waits.until("the viewer reads what the publisher writes", Waits.seconds(60), () -> {
                containers.forEach(Container::requireAlive);
                return containers.getLast().log().contains("TEA ");
            });
        } catch (AssertionError e) {
            containers.forEach(container -> System.out.println(container.log()));
            throw e;
        } finally {
            containers.forEach(Container::close);
        }
    }

    private static void awaitStatus(String url) throws IOException, InterruptedException {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpResponse<String> response = client.send(
                    HttpRequest.newBuilder(URI.create(url))
                            .timeout(Waits.seconds(20))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            assertThat(response.statusCode()).as(url + ": " + response.body()).isEqualTo(200);
        }
    }
}
