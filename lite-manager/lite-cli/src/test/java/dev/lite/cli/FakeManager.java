package dev.lite.cli;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** A fake manager with configured answers: a path's answers are sent one after the other, and the last one repeatedly. */
final class FakeManager implements AutoCloseable {
    private final HttpServer server;
    private final Map<String, ArrayDeque<Answer>> answers = new ConcurrentHashMap<>();
    private final List<String> requests = new CopyOnWriteArrayList<>();
    private final List<String> lastEventIds = new CopyOnWriteArrayList<>();
    private volatile @Nullable String token;

    private record Answer(int status, String body) {}

    FakeManager() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::answer);
        server.start();
    }

    FakeManager with(String request, int status, String body) {
        answers.computeIfAbsent(request, path -> new ArrayDeque<>()).add(new Answer(status, body.replace('\'', '"')));
        return this;
    }

    FakeManager withToken(String newToken) {
        token = newToken;
        return this;
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** Method, path and body of each request. */
    List<String> requests() {
        return requests;
    }

    /** The last event that each request for events names; empty if none. */
    List<String> lastEventIds() {
        return lastEventIds;
    }

    private void answer(HttpExchange exchange) throws IOException {
        String request = exchange.getRequestMethod() + " " + exchange.getRequestURI();
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        requests.add(body.isEmpty() ? request : request + " " + body);
        if (request.endsWith("/api/events")) {
            lastEventIds.add(
                    Objects.requireNonNullElse(exchange.getRequestHeaders().getFirst("Last-Event-ID"), ""));
        }
        Answer answer = new Answer(404, "{\"detail\":\"the fake has no " + request + "\"}");
        ArrayDeque<Answer> known = answers.get(request);
        if (token != null
                && !("Bearer " + token).equals(exchange.getRequestHeaders().getFirst("Authorization"))) {
            answer = new Answer(401, "{\"detail\":\"this manager requires a token\"}");
        } else if (known != null) {
            synchronized (known) {
                answer = known.size() == 1 ? known.getFirst() : known.removeFirst();
            }
        }
        byte[] bytes = answer.body().getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(answer.status(), bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
