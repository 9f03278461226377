package dev.lite.manager.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.manager.RunningManager;
import dev.lite.manager.data.SessionWithLostMemory;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests for LMRs of which a part is on a node that is lost or cannot be reached. */
@Isolated("it starts a manager in its process")
class LostMemoryTest {
    @TempDir
    static Path work;

    private static RunningManager manager;

    @BeforeAll
    static void start() {
        manager = new RunningManager(work, "--spring.main.sources=" + SessionWithLostMemory.class.getName());
    }

    @AfterAll
    static void stop() {
        manager.close();
    }

    @Test
    void theAnswerToAReadThatFailsSaysWhy() throws IOException, InterruptedException {
        HttpResponse<String> answer = manager.get("/api/lmrs/a/content");

        assertThat(answer.statusCode()).isEqualTo(503);
        assertThat(RunningManager.tree(answer.body()).get("detail").asString()).isEqualTo("a node is lost");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "GET|/content|``",
                "PUT|/content|bytes",
                "DELETE|``|``",
                "POST|/grants|{'principal': 'p', 'permissions': ['READ']}",
            })
    void anLmrWhoseNodeCannotBeReachedIsNotReportedAsMissing(String method, String path, String body)
            throws IOException, InterruptedException {
        HttpResponse<String> answer = manager.send(HttpRequest.newBuilder(
                        manager.uri("/api/lmrs/" + SessionWithLostMemory.AWAY + path))
                .header("Content-Type", path.equals("/content") ? "application/octet-stream" : "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(body.replace('\'', '"'))));

        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(503);
        assertThat(RunningManager.tree(answer.body()).get("detail").asString()).isEqualTo("a node is away");
    }
}
