package dev.lite.cli;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Sends REST requests to the managers. All managers give the same answers, so if one does not respond, the next one is
 * asked. Used by one thread.
 */
final class ManagerClient implements AutoCloseable {
    static final JsonMapper JSON = JsonMapper.builder().build();

    private static final int UNAUTHORIZED = 401;
    private static final int FORBIDDEN = 403;
    private static final int UNAVAILABLE = 503;
    private static final int ERRORS = 400;

    /** The poll interval for orders. Clients that need faster updates use the manager's event stream. */
    private static final long FOLLOW_NS = TimeUnit.MILLISECONDS.toNanos(200);

    private final List<URI> managers;
    private final @Nullable String token;
    private final Duration timeout;
    private final HttpClient client;

    /** @param timeout the limit for one request to one manager */
    ManagerClient(List<URI> managers, @Nullable String token, Duration timeout) {
        if (managers.isEmpty()) {
            throw new IllegalArgumentException("no manager URL is given");
        }
        this.managers = new ArrayList<>(managers);
        this.token = token;
        this.timeout = timeout;
        client = HttpClient.newBuilder().connectTimeout(timeout).build();
    }

    /** Encodes a name as a path element or a query parameter. */
    static String encoded(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** The manager that answered the last request. */
    URI manager() {
        return managers.getFirst();
    }

    /**
     * Sends a GET request.
     *
     * @throws CommandFailedException when no manager responds, or one responds with an error
     */
    JsonNode get(String path) {
        return send(path, HttpRequest.newBuilder().GET());
    }

    /**
     * Submits an order. Repeating is safe, so if one manager does not respond, the next one gets the order.
     *
     * @param body JSON
     * @return the current state of the order
     * @throws CommandFailedException when no manager responds, or one rejects the order
     */
    JsonNode order(String path, String body) {
        return send(
                path,
                HttpRequest.newBuilder()
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(body)));
    }

    /**
     * Polls an order until it is done.
     *
     * @param progress receives a line for each new state or note
     * @return the final state of the order
     * @throws CommandFailedException when the order failed, or is not done by the deadline
     */
    JsonNode follow(JsonNode order, Duration deadline, Consumer<String> progress) {
        long endNs = System.nanoTime() + deadline.toNanos();
        String printed = "";
        JsonNode now = order;
        while (true) {
            String state = now.path("state").asString();
            String line = describe(now);
            if (!line.equals(printed)) {
                progress.accept(line);
                printed = line;
            }
            if (state.equals("DONE")) {
                return now;
            }
            if (state.equals("FAILED")) {
                throw new CommandFailedException(
                        ExitStatus.FAILED,
                        "order %s failed: %s"
                                .formatted(
                                        now.path("id").asString(),
                                        now.path("note").asString()));
            }
            if (System.nanoTime() - endNs >= 0) {
                throw new CommandFailedException(
                        ExitStatus.NOT_YET,
                        "order %s is %s after %d s and still running; see: lite orders"
                                .formatted(now.path("id").asString(), state, deadline.toSeconds()));
            }
            LockSupport.parkNanos(this, FOLLOW_NS);
            now = get("/api/orders/" + order.path("id").asString());
        }
    }

    private static String describe(JsonNode order) {
        StringBuilder line = new StringBuilder("order %s %s"
                .formatted(order.path("id").asString(), order.path("state").asString()));
        if (order.has("executor")) {
            line.append(" by ").append(order.path("executor").asString());
        }
        if (order.path("total").asLong() > 0) {
            line.append(", %d of %d"
                    .formatted(order.path("done").asLong(), order.path("total").asLong()));
        }
        String note = order.path("note").asString();
        return note.isEmpty() ? line.toString() : line + ": " + note;
    }

    private JsonNode send(String path, HttpRequest.Builder request) {
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        request.header("Accept", "application/json, application/problem+json").timeout(timeout);
        StringBuilder failures = new StringBuilder();
        HttpResponse<String> away = null;
        for (URI manager : List.copyOf(managers)) {
            try {
                HttpResponse<String> answer = client.send(
                        request.copy().uri(URI.create(manager + path)).build(), HttpResponse.BodyHandlers.ofString());
                if (answer.statusCode() != UNAVAILABLE) {
                    managers.remove(manager);
                    managers.addFirst(manager);
                    return checked(manager, answer);
                }
                away = answer;
            } catch (IOException e) {
                failures.append("%n  %s: %s".formatted(manager, reason(e)));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new CommandFailedException(ExitStatus.FAILED, "interrupted", e);
            }
        }
        if (away != null) {
            return checked(manager(), away);
        }
        throw new CommandFailedException(ExitStatus.UNREACHABLE, "no manager could be reached:" + failures);
    }

    private static String reason(IOException e) {
        String message = e.getMessage();
        return message == null ? e.getClass().getSimpleName() : message;
    }

    private static JsonNode checked(URI manager, HttpResponse<String> answer) {
        int status = answer.statusCode();
        JsonNode body;
        try {
            body = JSON.readTree(answer.body());
        } catch (JacksonException e) {
            throw new CommandFailedException(
                    ExitStatus.FAILED, "%s answered %d without JSON; is it a manager?".formatted(manager, status), e);
        }
        if (status >= ERRORS) {
            String detail = body.path("detail").asString();
            throw new CommandFailedException(
                    status == UNAUTHORIZED || status == FORBIDDEN ? ExitStatus.DENIED : ExitStatus.FAILED,
                    detail.isEmpty() ? "%s answered %d".formatted(manager, status) : detail);
        }
        return body;
    }

    @Override
    public void close() {
        client.close();
    }
}
