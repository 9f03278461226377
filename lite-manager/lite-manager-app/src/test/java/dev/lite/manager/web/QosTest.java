package dev.lite.manager.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.qos.QosPolicy;
import dev.lite.cluster.qos.QosPolicy.Mode;
import dev.lite.cluster.qos.QosRecord;
import dev.lite.manager.EventReader;
import dev.lite.manager.RunningManager;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** The policy for quality of service by REST, as nodes find it in the directory. */
class QosTest {
    @TempDir
    static Path work;

    private static RunningManager manager;

    @BeforeAll
    static void start() {
        manager = new RunningManager(work);
    }

    @AfterAll
    static void stop() {
        manager.close();
    }

    private static HttpResponse<String> put(String body) throws IOException, InterruptedException {
        return manager.send(HttpRequest.newBuilder(manager.uri("/api/qos"))
                .header("Content-Type", "application/json")
                .PUT(HttpRequest.BodyPublishers.ofString(body)));
    }

    @Test
    void aChangeIsKeptInTheDirectoryAndAnnounced() throws IOException, InterruptedException {
        try (EventReader events = EventReader.open(manager.uri("/api/events"), null)) {
            long before = manager.json("/api/qos").get("revision").asLong();
            HttpResponse<String> answer = put("""
                    {"mode": "sw-pri", "quotas": {"batch": {"bytesPerSecond": 1048576}}}""");
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
            JsonNode changed = RunningManager.tree(answer.body());
            assertThat(changed.get("revision").asLong()).isEqualTo(before + 1);
            assertThat(manager.json("/api/qos")).isEqualTo(changed);
            events.nextOf("qos", event -> event.equals(changed));
            QosRecord.Revision kept = new QosRecord(manager.directory()).read(RunningManager.DEADLINE);
            assertThat(kept.policy().mode()).isEqualTo(Mode.SW_PRI);
            assertThat(kept.policy().quotas()).containsEntry("batch", new QosPolicy.Quota(1L << 20, null));
            assertThat(put("{\"mode\": \"SW_PRI\"}").body())
                    .as("it changes nothing")
                    .isEqualTo(answer.body());
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{'mode': 'fast'}|mode is \"fast\"; it must be one of [OFF, HW_SEP, SW_PRI]",
                "{'highShare': 80, 'lowShare': 30}|together 110; they must add up to 100",
                "{'heavyLoad': -1}|heavyLoad is -1.0; it must be 0.0 to 1000000.0",
                "{'quotas': {'batch': {'operationsPerSecond': 0}}}|operationsPerSecond of \"batch\" is 0; it must be 1",
                "{'quotas': {'batch': {'opsPerSecond': 5}}}|unknown field \"opsPerSecond\"",
                "{'quotas': {'batch': null}}|the quota of \"batch\" is empty; it must have bytesPerSecond",
                "{'mod': 'OFF'}|unknown field \"mod\"",
                "{'highShare': 'many'}|highShare",
                "{}|it must be an object with one of [mode, highShare,",
                "[|no valid JSON"
            })
    void aBadPolicyIsRefusedAndTheOldOneStays(String body, String message) throws IOException, InterruptedException {
        JsonNode before = manager.json("/api/qos");
        HttpResponse<String> answer = put(body.replace('\'', '"'));
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(400);
        assertThat(RunningManager.tree(answer.body()).get("detail").asString()).contains(message);
        assertThat(manager.json("/api/qos")).isEqualTo(before);
    }
}
