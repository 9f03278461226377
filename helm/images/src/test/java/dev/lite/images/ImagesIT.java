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
        Pod nodePod =
                new Pod(USER, "", List.of(run + ":/run/lite", arenas + ":/var/lib/lite/arena"), List.of(REQUIRE_CACHE));
        try (Container managers = Container.start(
                manager,
                managerPod,
                work.resolve("manager.log"),
                "--server.port=0",
                "--lite.manager.zookeeper.embedded=true",
                "--lite.manager.zookeeper.port=0",
                "--lite.manager.zookeeper.data-directory=/tmp/zookeeper",
                "--lite.ready-file=/tmp/ready")) {
            var managerReady = managers.awaitReady("/tmp/ready");
            try (Container nodes = Container.start(
                    node,
                    nodePod,
                    work.resolve("node.log"),
                    "--server.port=0",
                    "--lite.cluster.zookeeper=" + managerReady.getProperty("zookeeper"),
                    "--lite.node.name=node-1",
                    "--lite.node.arena.size=64MB",
                    "--lite.node.arena.directory=/var/lib/lite/arena",
                    "--lite.ready-file=/tmp/ready")) {
                String health = nodes.awaitReady("/tmp/ready").getProperty("health");
                System.out.printf("the node was ready after %d ms%n", nodes.millis());
                for (String group : List.of("/liveness", "/readiness")) {
                    awaitStatus(health + group);
                    awaitStatus(managerReady.getProperty("health") + group);
                }
                runCommandLine(managerReady.getProperty("url"));
                runSample(run);
                nodes.requireAlive();
            }
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
