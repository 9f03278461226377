package dev.lite.manager.nodes;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.NodeRecord;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.stereotype.Component;
import tools.jackson.core.JacksonException;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/**
 * Asks nodes for their state, all at once, at the URLs that they published. Any thread; blocks up to the deadline {@code
 * lite.manager.node-deadline}, also when a node is paused. Limits: {@value #BYTES_MAX} bytes of an answer, and one request to
 * each node for every caller.
 */
@Component
@EnableConfigurationProperties(NodeAccessProperties.class)
public class NodeStates implements AutoCloseable {
    private static final int BYTES_MAX = 4 << 20;
    private static final int OK = 200;
    private static final TypeReference<Map<String, Object>> OBJECT = new TypeReference<>() {};
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final ClusterDirectory directory;
    private final Duration deadline;
    private final @Nullable String token;
    private final HttpClient client;

    NodeStates(ClusterDirectory directory, NodeAccessProperties properties) {
        this.directory = directory;
        deadline = properties.nodeDeadline();
        token = properties.nodeToken();
        client = HttpClient.newBuilder().connectTimeout(deadline).build();
    }

    /** The states of nodes, by name, in the order of the nodes. */
    public Map<String, NodeState> ask(List<NodeRecord> nodes) {
        Map<String, String> urls = directory.managementUrls();
        Map<String, CompletableFuture<NodeState>> asked = new LinkedHashMap<>();
        for (NodeRecord node : nodes) {
            asked.put(node.name(), ask(node.name(), urls.get(node.name())));
        }
        Map<String, NodeState> states = new LinkedHashMap<>();
        asked.forEach((name, answer) -> states.put(name, answer.join())); // each ends at the deadline
        return states;
    }

    private CompletableFuture<NodeState> ask(String node, @Nullable String published) {
        if (published == null) {
            return CompletableFuture.completedFuture(
                    NodeState.missing("it publishes no management URL: it is starting, embedded, or an older version"));
        }
        HttpRequest request;
        try {
            request = request(published, deadline, token);
        } catch (IllegalArgumentException e) {
            return CompletableFuture.completedFuture(
                    NodeState.missing("its management URL \"%s\" is invalid: %s".formatted(published, e.getMessage())));
        }
        String hint = isLoopback(request.uri())
                ? "; other hosts cannot reach a loopback address: if the node is on another host, set lite.node.management-url"
                : "";
        CompletableFuture<HttpResponse<byte[]>> sent =
                client.sendAsync(request, BodyHandlers.limiting(BodyHandlers.ofByteArray(), BYTES_MAX));
        return sent.thenApply(response -> read(node, response, hint))
                .orTimeout(deadline.toNanos(), TimeUnit.NANOSECONDS)
                .exceptionally(failure -> {
                    boolean unused = sent.cancel(true); // a response may have begun
                    return NodeState.missing("no answer from %s: %s%s".formatted(request.uri(), reason(failure), hint));
                });
    }

    static HttpRequest request(String published, Duration deadline, @Nullable String token) {
        URI url = URI.create(published + "/lite");
        HttpRequest.Builder request =
                HttpRequest.newBuilder(url).timeout(deadline).header("Accept", "application/json");
        // A loopback address may be that of any process of this host, and nodes require no token from their own host.
        if (token != null && !isLoopback(url)) {
            request.header("Authorization", "Bearer " + token);
        }
        return request.build();
    }

    private static NodeState read(String node, HttpResponse<byte[]> response, String hint) {
        URI url = response.uri();
        if (response.statusCode() != OK) {
            String what = switch (response.statusCode()) {
                case 401, 403 -> "it requires a token: set lite.manager.node-token";
                case 404 -> "it has no such endpoint: is it an older version?";
                default -> "";
            };
            return NodeState.missing(
                    "%s answered %d%s".formatted(url, response.statusCode(), what.isEmpty() ? "" : "; " + what));
        }
        try {
            Map<String, Object> state = JSON.readValue(response.body(), OBJECT);
            Object name = state.get("name");
            return name == null || name.equals(node)
                    ? NodeState.answered(state)
                    : NodeState.missing("%s is the node \"%s\"%s".formatted(url, name, hint));
        } catch (JacksonException e) {
            return NodeState.missing("%s answered no JSON object: %s".formatted(url, e.getOriginalMessage()));
        }
    }

    private String reason(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (cause instanceof TimeoutException || cause instanceof java.net.http.HttpTimeoutException) {
            return "not within %d ms (lite.manager.node-deadline)".formatted(deadline.toMillis());
        }
        String message = cause.getMessage();
        return cause instanceof IOException && message != null
                ? message
                : cause.getClass().getSimpleName();
    }

    /** Only for numeric addresses and "localhost", so that no name service is asked. */
    private static boolean isLoopback(URI url) {
        String host = url.getHost();
        if (host.equalsIgnoreCase("localhost")) {
            return true;
        }
        try {
            return InetAddress.ofLiteral(host).isLoopbackAddress();
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    @Override
    public void close() {
        client.shutdownNow();
    }
}
