package dev.lite.manager.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.CuratorConfig;
import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.cluster.Order;
import dev.lite.cluster.Orders;
import dev.lite.manager.EventReader;
import dev.lite.manager.RunningManager;
import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Server-sent events over real HTTP. */
class EventStreamTest {
    @TempDir
    Path work;

    private RunningManager manager;

    @BeforeEach
    void start() {
        manager = new RunningManager(
                work, "--lite.manager.events.heartbeat=200ms", "--lite.manager.events.subscribers=3");
        Waits.until(
                "it leads",
                () -> manager.bean(dev.lite.cluster.Leadership.class).isLeader());
    }

    @AfterEach
    void stop() {
        manager.close();
    }

    @Test
    void theStateOfANewStreamSaysWhichNodesAreDrained() throws IOException, InterruptedException {
        try (EventReader events = read(null);
                CuratorDirectory node = join("node-a")) {
            assertThat(events.nextOf("nodes", event -> event.get("joined").size() == 1)
                            .data())
                    .isNotNull();
            Order drain = new Orders(node).drain("node-a", false, RunningManager.DEADLINE);
            assertThat(events.nextOf("orders", event -> event.get("draining").size() == 1)
                            .data())
                    .isNotNull();
            assertThat(isDraining()).isTrue();
            assertThat(new Orders(node).cancel(drain.id(), RunningManager.DEADLINE))
                    .isPresent();
            assertThat(events.nextOf("orders", event -> event.get("draining").isEmpty())
                            .data())
                    .isNotNull();
            assertThat(isDraining()).isFalse();
        }
    }

    private boolean isDraining() throws IOException, InterruptedException {
        try (EventReader events = read(null)) {
            return events.next().data().get("nodes").get(0).get("draining").asBoolean();
        }
    }

    @Test
    void aReaderIsNotifiedOfNodesAndCanResume() throws IOException, InterruptedException {
        String lastId;
        try (EventReader events = read(null)) {
            EventReader.Event state = events.next();
            assertThat(state.type()).isEqualTo("state");
            assertThat(state.data().get("directory").get("available").asBoolean())
                    .isTrue();
            assertThat(state.data().get("leadership").get("leads").asBoolean()).isTrue();
            CuratorDirectory node = join("node-a");
            EventReader.Event joined =
                    events.nextOf("nodes", event -> event.get("joined").size() == 1);
            assertThat(joined.data().get("joined").get(0).get("name").asString())
                    .isEqualTo("node-a");
            node.close();
            EventReader.Event left =
                    events.nextOf("nodes", event -> event.get("left").size() == 1);
            assertThat(left.data().get("joined").isEmpty()).isTrue();
            lastId = left.id();
            assertThat(events.awaitComment()).isEqualTo("alive");
        }
        try (CuratorDirectory node = join("node-b")) {
            Waits.until(
                    "the manager sees it",
                    () -> !manager.bean(dev.lite.cluster.ClusterDirectory.class)
                            .nodes()
                            .isEmpty());
            try (EventReader events = read(lastId)) {
                // The missed events, of which the epoch may come first, and not the current state.
                EventReader.Event missed = events.next();
                assertThat(missed.type()).isNotEqualTo("state");
                JsonNode nodes = missed.type().equals("nodes")
                        ? missed.data()
                        : events.nextOf("nodes", event -> true).data();
                assertThat(nodes.get("joined").get(0).get("name").asString()).isEqualTo("node-b");
            }
            try (EventReader events = read("another-1")) {
                EventReader.Event state = events.next();
                assertThat(state.type()).isEqualTo("state");
                assertThat(state.data().get("nodes").get(0).get("name").asString())
                        .isEqualTo("node-b");
            }
            assertThat(node.isAvailable()).isTrue();
        }
    }

    @Test
    void aReaderOverTheLimitIsRefusedUntilAnotherLeaves() throws IOException, InterruptedException {
        List<EventReader> readers = new ArrayList<>();
        for (int count = 0; count < 3; count++) {
            readers.add(read(null));
            readers.getLast().next();
        }
        HttpResponse<String> refused = manager.get("/api/events", "Accept", "text/event-stream");
        assertThat(refused.statusCode()).isEqualTo(503);
        assertThat(refused.body()).contains("there are 3 subscribers of events; the limit is 3");
        readers.removeFirst().close();
        Waits.until(
                "the number of subscribers has dropped",
                () -> manager.bean(EventStreams.class).subscribers() == 2);
        readers.add(read(null));
        assertThat(readers.getLast().next().type()).isEqualTo("state");
        readers.forEach(EventReader::close);
    }

    @Test
    void stoppingTheManagerEndsTheStreamsAtOnce() throws IOException, InterruptedException {
        try (EventReader events = read(null)) {
            assertThat(events.next().type()).isEqualTo("state");
            long beginNs = System.nanoTime();
            manager.bean(EventStreams.class).stop();
            assertThat(events.awaitEnd()).isTrue();
            assertThat(System.nanoTime() - beginNs).isLessThan(RunningManager.DEADLINE.toNanos() / 4);
        }
    }

    private EventReader read(@Nullable String lastId) throws IOException, InterruptedException {
        return EventReader.open(manager.uri("/api/events"), lastId);
    }

    private CuratorDirectory join(String name) {
        CuratorDirectory node = CuratorDirectory.open(
                CuratorConfig.of(manager.bean(EmbeddedZooKeeper.class).connectString(), "lite"));
        node.register(new NodeAdvert(name, NodeAdvert.NO_ID, "host/boot", 1, Map.of()), RunningManager.DEADLINE);
        return node;
    }
}
