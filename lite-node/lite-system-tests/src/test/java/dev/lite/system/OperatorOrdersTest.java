package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Orders of an operator, by the command {@code lite} and by REST, executed by real nodes while an application uses its handles. */
class OperatorOrdersTest {
    private static final String MAIN_LMR = "shop/counters";
    private static final int BYTES = 4 << 20;
    private static final Duration SOON = Waits.seconds(60);
    private static final long SEED = Long.getLong("lite.test.seed", System.nanoTime());

    @TempDir
    private Path directory;

    private String manager = "";

    @Test
    void moveDrainRebalanceAndLeaveAreExecutedWithoutLosingAByte() throws IOException, InterruptedException {
        System.out.println("seed " + SEED);
        // A separate cluster, because drains and moves must not involve a node that another test embedded.
        Path work = directory.resolve("c");
        try (LocalCluster cluster = Clusters.builder("OperatorOrdersTest")
                .directory(work)
                .property(
                        "lite.manager.client-socket",
                        work.resolve("run/node-1/node.sock").toString())
                .build()) {
            cluster.startManager();
            cluster.startNodes();
            manager = cluster.manager().property("url").orElseThrow();
            try (Lite lite = Clusters.attach(cluster, 1)) {
                Waits.until(
                        "the nodes are connected",
                        SOON,
                        () -> lite.nodes().stream()
                                        .filter(node -> !node.fabric().equals("none"))
                                        .count()
                                == 3);
                readAndChangeByRest();
                byte[] content = new byte[BYTES];
                new Random(SEED).nextBytes(content);
                List<LmrHandle> handles = new ArrayList<>();
                for (String name : List.of(MAIN_LMR, "shop/one", "shop/two", "shop/three")) {
                    LmrHandle made = lite.memory()
                            .malloc(LmrSpec.of(BYTES)
                                    .withName(name)
                                    .withPlacement(Placement.on("node-1"))
                                    .withDefaultPermissions(Permission.READ));
                    made.write(0, content);
                    handles.add(made);
                }

                lite("move", MAIN_LMR, "node-2");
                assertThat(nodes(handles.getFirst())).containsExactly("node-2");
                assertThat(lite("lmrs", "shop/")).contains(MAIN_LMR, "node-2");

                lite("drain", "node-2");
                assertThat(nodes(handles.getFirst())).doesNotContain("node-2");
                assertThat(lite("status")).contains("1 draining");
                lite("undrain", "node-2");

                lite("rebalance");
                Set<String> used = new HashSet<>();
                handles.forEach(handle -> used.addAll(nodes(handle)));
                assertThat(used)
                        .as("the nodes of the LMRs afterwards")
                        .containsExactlyInAnyOrder("node-1", "node-2", "node-3");

                orderByRest("/api/lmrs/shop%2Fcounters/move", "{\"node\": \"node-3\"}");
                Waits.until(
                        "it has moved", SOON, () -> nodes(handles.getFirst()).equals(Set.of("node-3")));

                lite("drain", "node-3", "--leave");
                Waits.until("its process ends", SOON, () -> !cluster.node(3).isAlive());
                for (LmrHandle handle : handles) {
                    assertThat(nodes(handle)).doesNotContain("node-3");
                    byte[] found = new byte[BYTES];
                    handle.read(0, found);
                    assertThat(Arrays.equals(found, content))
                            .as("every byte of " + handle)
                            .isTrue();
                    handle.free();
                }
                cluster.startNode(3);
                lite("undrain", "node-3");
            }
        }
    }

    /** Creates, writes, reads, grants and frees an LMR by the manager's own session. */
    private void readAndChangeByRest() throws IOException, InterruptedException {
        byte[] content = new byte[2_000_000];
        new Random(SEED).nextBytes(content);
        String create =
                "{\"name\":\"rest/data\",\"bytes\":3000000,\"nodes\":[\"node-2\"],\"defaultPermissions\":[\"READ\"]}";
        assertThat(rest("POST", "/api/lmrs", create.getBytes(StandardCharsets.UTF_8), 201)
                        .headers()
                        .firstValue("Location"))
                .hasValue("/api/lmrs/rest%2Fdata");
        String lmr = "/api/lmrs/rest%2Fdata";
        assertThat(text(rest("POST", "/api/lmrs", create.getBytes(StandardCharsets.UTF_8), 409)))
                .contains("rest/data");
        rest("PUT", lmr + "/content?offset=1000", content, 204);
        HttpResponse<byte[]> read = rest("GET", lmr + "/content?offset=1000&length=2000000", new byte[0], 200);
        assertThat(read.body()).isEqualTo(content);
        assertThat(read.headers().firstValue("Content-Type")).hasValue("application/octet-stream");
        assertThat(rest("GET", lmr + "/content", new byte[0], 200).body()).hasSize(3_000_000);

        assertThat(text(rest("GET", lmr + "/content?length=3000001", new byte[0], 400)))
                .contains("length is 3000001; it must be 0 to 3000000");
        assertThat(text(rest("PUT", lmr + "/content?offset=2000000", content, 400)))
                .contains("0 to 1000000");
        assertThat(text(rest("GET", lmr + "/content?offset=-1", new byte[0], 400)))
                .contains("offset is -1");
        assertThat(text(rest("GET", "/api/lmrs/none/content", new byte[0], 404)))
                .contains("none");
        byte[] grant = "{\"principal\":\"shop\",\"permissions\":[\"READ\",\"WRITE\"]}".getBytes(StandardCharsets.UTF_8);
        rest("POST", lmr + "/grants", grant, 204);
        assertThat(text(rest("GET", lmr, new byte[0], 200))).contains("\"shop\":[\"READ\",\"WRITE\"]");
        assertThat(text(rest("POST", lmr + "/grants", "{\"principals\":1}".getBytes(StandardCharsets.UTF_8), 400)))
                .contains("unknown field");
        rest("DELETE", lmr, new byte[0], 204);
        rest("GET", lmr + "/content", new byte[0], 404);
    }

    private static String text(HttpResponse<byte[]> response) {
        return new String(response.body(), StandardCharsets.UTF_8);
    }

    private HttpResponse<byte[]> rest(String method, String path, byte[] body, int status)
            throws IOException, InterruptedException {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(manager + path))
                    .header("Content-Type", method.equals("PUT") ? "application/octet-stream" : "application/json")
                    .method(method, HttpRequest.BodyPublishers.ofByteArray(body))
                    .timeout(Waits.seconds(20))
                    .build();
            HttpResponse<byte[]> response = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
            assertThat(response.statusCode())
                    .as("%s %s: %s", method, path, status < 300 ? text(response) : "")
                    .isEqualTo(status);
            return response;
        }
    }

    private static Set<String> nodes(LmrHandle handle) {
        Set<String> nodes = new HashSet<>();
        handle.extents().stream().map(Extent::node).forEach(nodes::add);
        return nodes;
    }

    /** Runs the command, which must succeed; returns its output. */
    private String lite(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx128m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                "dev.lite.cli.LiteMain"));
        command.addAll(List.of(arguments));
        Path output = directory.resolve("output");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().put("LITE_MANAGER", manager);
        Process process = builder.start();
        try {
            assertThat(process.waitFor(Waits.seconds(60).toMillis(), TimeUnit.MILLISECONDS))
                    .as("lite " + String.join(" ", arguments) + " ends")
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }
        String printed = Files.readString(output);
        assertThat(process.exitValue())
                .as("%s: %s", List.of(arguments), printed)
                .isZero();
        return printed;
    }

    private void orderByRest(String path, String body) throws IOException, InterruptedException {
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(manager + path))
                    .header("Content-Type", "application/json")
                    .POST(HttpRequest.BodyPublishers.ofString(body))
                    .timeout(Waits.seconds(20))
                    .build();
            HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
            assertThat(response.statusCode()).as(response.body()).isEqualTo(202);
            URI order = URI.create(manager)
                    .resolve(response.headers().firstValue("Location").orElseThrow());
            Waits.until("the order is done", SOON, () -> state(client, order).contains("\"DONE\""));
        }
    }

    private static String state(HttpClient client, URI order) {
        try {
            return client.send(HttpRequest.newBuilder(order).build(), HttpResponse.BodyHandlers.ofString())
                    .body();
        } catch (IOException e) {
            return "";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}
