package dev.lite.manager.nodes;

import dev.lite.api.LiteTimeoutException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.NodeRecord;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.stereotype.Component;
import tools.jackson.core.JacksonException;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/**
 * Asks nodes for their state, all at once, at the URLs that they published. Any thread; blocks up to the deadline {@code
 * lite.manager.node-deadline}, also when a node is paused, and as long for its turn. Limits: {@value #CALLERS_MAX}
 * callers at a time, with one request to each node; {@value #BYTES_MAX} bytes of an answer; and a 32nd of the heap,
 * but at least as much as for one answer, for all answers to a caller.
 */
@Component
@EnableConfigurationProperties(NodeAccessProperties.class)
public class NodeStates implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(NodeStates.class);

    private static final int BYTES_MAX = 4 << 20;
    private static final int HEAP_PART = 32;
    private static final int CALLERS_MAX = 4;
    private static final int OK = 200;
    private static final String AUTHORIZATION = "Authorization";
    private static final TypeReference<Map<String, Object>> OBJECT = new TypeReference<>() {};
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final ClusterDirectory directory;
    private final Duration deadline;
    private final @Nullable String token;
    private final long callerBytesMax;
    private final Semaphore turns = new Semaphore(CALLERS_MAX, true);
    private final AtomicBoolean exposureReported = new AtomicBoolean();
    private final HttpClient client;

    @Autowired
    NodeStates(ClusterDirectory directory, NodeAccessProperties properties) {
        this(directory, properties, Math.max(BYTES_MAX, Runtime.getRuntime().maxMemory() / HEAP_PART));
    }

    /** @param callerBytesMax the limit for all answers to a caller */
    NodeStates(ClusterDirectory directory, NodeAccessProperties properties, long callerBytesMax) {
        this.directory = directory;
        this.callerBytesMax = callerBytesMax;
        deadline = properties.nodeDeadline();
        token = properties.nodeToken();
        client = HttpClient.newBuilder().connectTimeout(deadline).build();
    }

    /**
     * The states of nodes, by name, in the order of the nodes.
     *
     * @throws LiteTimeoutException if {@value #CALLERS_MAX} other callers do not end in time
     */
    public Map<String, NodeState> ask(List<NodeRecord> nodes) {
        try {
            if (!turns.tryAcquire(deadline.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new LiteTimeoutException(
                        "%d requests for the states of nodes are under way, which is the limit; none ended within %d ms (lite.manager.node-deadline)"
                                .formatted(CALLERS_MAX, deadline.toMillis()));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LiteTimeoutException(
                    "interrupted while other requests for the states of nodes were under way", e);
        }
        try {
            return answers(nodes);
        } finally {
            turns.release();
        }
    }

    private Map<String, NodeState> answers(List<NodeRecord> nodes) {
        Map<String, String> urls = directory.managementUrls();
        Map<String, CompletableFuture<NodeState>> asked = new LinkedHashMap<>();
        AtomicLong bytesLeft = new AtomicLong(callerBytesMax);
        for (NodeRecord node : nodes) {
            asked.put(node.name(), ask(node.name(), urls.get(node.name()), bytesLeft));
        }
        Map<String, NodeState> states = new LinkedHashMap<>();
        asked.forEach((name, answer) -> states.put(name, answer.join())); // each ends at the deadline
        return states;
    }

    private CompletableFuture<NodeState> ask(String node, @Nullable String published, AtomicLong bytesLeft) {
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
        if (request.headers().firstValue(AUTHORIZATION).isPresent()) {
            warnIfExposed(node, request.uri());
        }
        String hint = isLoopback(request.uri())
                ? "; other hosts cannot reach a loopback address: if the node is on another host, set lite.node.management-url"
                : "";
        CompletableFuture<HttpResponse<byte[]>> sent = client.sendAsync(request, head -> new CountedBody(bytesLeft));
        return sent.thenApply(response -> read(node, response, hint))
                .orTimeout(deadline.toNanos(), TimeUnit.NANOSECONDS)
                .exceptionally(failure -> {
                    boolean unused = sent.cancel(true); // a response may have begun
                    return NodeState.missing("no answer from %s: %s%s".formatted(request.uri(), reason(failure), hint));
                });
    }

    /** Once: every request would repeat it. */
    private void warnIfExposed(String node, URI url) {
        if (url.getScheme().equalsIgnoreCase("http") && exposureReported.compareAndSet(false, true)) {
            log.warn(
                    "lite.manager.node-token is sent to node {} at {} unencrypted; others on the network can read it: set server.ssl.bundle of the nodes",
                    node,
                    url);
        }
    }

    static HttpRequest request(String published, Duration deadline, @Nullable String token) {
        URI url = URI.create(published + "/lite");
        HttpRequest.Builder request =
                HttpRequest.newBuilder(url).timeout(deadline).header("Accept", "application/json");
        // A loopback address may be that of any process of this host, and nodes require no token from their own host.
        if (token != null && !isLoopback(url)) {
            request.header(AUTHORIZATION, "Bearer " + token);
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
        if (cause instanceof ConnectException && message == null) {
            return "the connection was refused";
        }
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

    /** The body of an answer, as far as the other nodes leave bytes for it. Used by one thread at a time. */
    private final class CountedBody implements BodySubscriber<byte[]> {
        private final BodySubscriber<byte[]> body = BodySubscribers.limiting(BodySubscribers.ofByteArray(), BYTES_MAX);
        private final AtomicLong bytesLeft;
        private Flow.@Nullable Subscription connection;
        private long taken;
        private boolean refused;

        CountedBody(AtomicLong bytesLeft) {
            this.bytesLeft = bytesLeft;
        }

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            connection = subscription;
            body.onSubscribe(subscription);
        }

        @Override
        public void onNext(List<ByteBuffer> part) {
            if (refused) {
                return;
            }
            long bytes = part.stream().mapToLong(ByteBuffer::remaining).sum();
            taken += bytes;
            if (bytesLeft.addAndGet(-bytes) >= 0) {
                body.onNext(part);
                return;
            }
            refused = true;
            bytesLeft.addAndGet(taken); // the answers of other nodes may fit
            if (connection != null) {
                connection.cancel();
            }
            body.onError(new IOException(
                    "the states of all nodes exceed %d bytes, a %dnd of the manager's heap; request the state of this node alone"
                            .formatted(callerBytesMax, HEAP_PART)));
        }

        @Override
        public void onError(Throwable failure) {
            body.onError(failure);
        }

        @Override
        public void onComplete() {
            body.onComplete();
        }

        @Override
        public CompletionStage<byte[]> getBody() {
            return body.getBody();
        }
    }

    @Override
    public void close() {
        client.shutdownNow();
    }
}
