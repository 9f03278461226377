package dev.lite.manager.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.manager.RunningManager;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests that read or change LMRs while the node of the manager's session does not run. */
@Isolated("it starts a manager in its process")
class DataWithoutNodeTest {
    @TempDir
    static Path work;

    private static RunningManager manager;

    @BeforeAll
    static void start() {
        manager = new RunningManager(
                work,
                "--lite.manager.client-socket=" + work.resolve("node.sock"),
                "--lite.manager.client-deadline=200ms");
    }

    @AfterAll
    static void stop() {
        manager.close();
    }

    private static HttpResponse<String> send(String method, String path, String body)
            throws IOException, InterruptedException {
        return manager.send(HttpRequest.newBuilder(manager.uri(path))
                .header("Content-Type", path.endsWith("/content") ? "application/octet-stream" : "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(body.replace('\'', '"'))));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "/api/lmrs|{'name': 'a', 'bytes': 1, 'nodes': [null]}|nodes is [null]; it must be",
                "/api/lmrs|{'name': 'a', 'bytes': 1, 'nodes': ['a b']}|a b",
                "/api/lmrs|{'name': 'a', 'bytes': 1, 'defaultPermissions': [null]}|the field \"defaultPermissions\" of the request",
                "/api/lmrs/a/grants|{'principal': 'p', 'permissions': [null]}|the field \"permissions\" of the request",
                "/api/lmrs/a/grants|{'principal': ' ', 'permissions': []}|principal",
            })
    void aBadValueIsRefused(String path, String body, String message) throws IOException, InterruptedException {
        HttpResponse<String> answer = send("POST", path, body);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(400);
        assertThat(RunningManager.tree(answer.body()).get("detail").asString()).contains(message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "GET|/api/lmrs/a/content|``",
                "PUT|/api/lmrs/a/content|bytes",
                "DELETE|/api/lmrs/a|``",
                "POST|/api/lmrs/a/grants|{'principal': 'p', 'permissions': ['READ']}",
                "POST|/api/lmrs|{'name': 'a', 'bytes': 1}",
            })
    void anLmrThatCannotBeReachedIsNotReportedAsMissing(String method, String path, String body)
            throws IOException, InterruptedException {
        HttpResponse<String> answer = send(method, path, body);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(503);
    }
}
