package dev.lite.manager;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.manager.zookeeper.EmbeddedZooKeeperConfig;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Two manager processes on a ZooKeeper that outlives them. */
class TwoManagersTest {
    private static final Duration SESSION_TIMEOUT = Waits.seconds(4);

    @TempDir
    Path directory;

    @Test
    void theOtherManagerTakesOverWhenTheLeaderIsKilledAndClientsContinueThere()
            throws IOException, InterruptedException {
        try (EmbeddedZooKeeper zooKeeper = EmbeddedZooKeeper.start(new EmbeddedZooKeeperConfig(
                        "127.0.0.1", 0, directory.resolve("zookeeper"), RunningManager.DEADLINE));
                ManagerProcess one = manager("one", zooKeeper)) {
            ManagerProcess.awaitHealth(one.ready().getProperty("health"), "\"leader\":true");
            CuratorDirectory node = CuratorDirectory.open(CuratorConfig.of(zooKeeper.connectString(), "lite"));
            try (ManagerProcess other = manager("other", zooKeeper)) {
                node.register(
                        new NodeAdvert("node-a", NodeAdvert.NO_ID, "host/boot", 1, Map.of()), RunningManager.DEADLINE);
                String otherUrl = other.ready().getProperty("url");
                standbyAnswersAndTakesOrders(otherUrl);
                try (EventReader events = EventReader.open(URI.create(otherUrl + "/api/events"), null)) {
                    assertThat(events.next().type()).isEqualTo("state");

                    long killedNs = System.nanoTime();
                    one.process().destroyForcibly();
                    events.nextOf("leadership", event -> event.get("leads").asBoolean());
                    Duration took = Duration.ofNanos(System.nanoTime() - killedNs);

                    System.out.printf(
                            "the other manager leads after %d ms, %.1f session time-outs%n",
                            took.toMillis(), (double) took.toNanos() / SESSION_TIMEOUT.toNanos());
                    assertThat(took).isLessThan(SESSION_TIMEOUT.multipliedBy(2));
                    // It acts as the leader: it creates a new epoch.
                    node.close();
                    events.nextOf("epoch", event -> event.get("members").asInt() == 0);
                    JsonNode view = json(otherUrl + "/api/manager");
                    assertThat(view.get("leader").asString()).isEqualTo("other");
                    assertThat(view.get("managers").size()).isEqualTo(1);
                    assertThat(json(otherUrl + "/api/orders").size()).isEqualTo(1);
                }
            }
        }
    }

    private static void standbyAnswersAndTakesOrders(String url) throws IOException, InterruptedException {
        ManagerProcess.awaitHealth(url + "/api/nodes", "node-a");
        JsonNode view = json(url + "/api/manager");
        assertThat(view.get("leads").asBoolean()).isFalse();
        assertThat(view.get("leader").asString()).isEqualTo("one");
        assertThat(view.get("managers").get(1).asString()).isEqualTo("other");
        try (HttpClient client = HttpClient.newHttpClient()) {
            HttpResponse<String> order = client.send(
                    HttpRequest.newBuilder(URI.create(url + "/api/rebalance"))
                            .timeout(RunningManager.DEADLINE)
                            .POST(HttpRequest.BodyPublishers.noBody())
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
            assertThat(order.statusCode()).as(order.body()).isEqualTo(202);
        }
    }

    private static JsonNode json(String url) throws IOException, InterruptedException {
        HttpResponse<String> answer = ManagerProcess.get(url);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return RunningManager.tree(answer.body());
    }

    private ManagerProcess manager(String name, EmbeddedZooKeeper zooKeeper) throws IOException {
        return new ManagerProcess(
                directory,
                name,
                "--lite.cluster.zookeeper=" + zooKeeper.connectString(),
                "--lite.cluster.session-timeout=" + SESSION_TIMEOUT.toMillis() + "ms",
                "--lite.manager.name=" + name);
    }
}
