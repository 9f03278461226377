package dev.lite.cli;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
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
    private static final int ERROR_BYTES_MAX = 65_536;

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
     * Sends a DELETE request, which must be safe to repeat.
     *
     * @throws CommandFailedException when no manager responds, or one responds with an error
     */
    JsonNode delete(String path) {
        return send(path, HttpRequest.newBuilder().DELETE());
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
     * Sends a PUT request, which must be safe to repeat.
     *
     * @param body JSON
     * @throws CommandFailedException when no manager responds, or one responds with an error
     */
    JsonNode put(String path, String body) {
        return send(
                path,
                HttpRequest.newBuilder()
                        .header("Content-Type", "application/json")
                        .PUT(HttpRequest.BodyPublishers.ofString(body)));
    }

    /**
     * Polls an order until it is done, also while no manager answers for some time: the order continues then.
     *
     * @param progress receives a line for each new state or note
     * @param warnings receives a line when no manager answers
     * @return the final state of the order
     * @throws CommandFailedException when the order failed, or is not done by the deadline
     */
    JsonNode follow(JsonNode order, Duration deadline, Consumer<String> progress, Consumer<String> warnings) {
        long endNs = System.nanoTime() + deadline.toNanos();
        String id = order.path("id").asString();
        boolean away = false;
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
                        "order %s failed: %s".formatted(id, now.path("note").asString()));
            }
            if (System.nanoTime() - endNs >= 0) {
                throw new CommandFailedException(
                        ExitStatus.NOT_YET,
                        "order %s is %s after %d s and still running; see: lite orders"
                                .formatted(id, state, deadline.toSeconds()));
            }
            LockSupport.parkNanos(this, FOLLOW_NS);
            try {
                now = get("/api/orders/" + id);
                away = false;
            } catch (AwayException e) {
                if (!away) {
                    warnings.accept("lite: cannot ask for order %s; trying again: %s".formatted(id, e.getMessage()));
                    away = true;
                }
            }
        }
    }

    /** No manager could be reached, or none that reaches ZooKeeper: the same request may succeed later. */
    private static final class AwayException extends CommandFailedException {
        private static final long serialVersionUID = 1L;

        AwayException(int exitStatus, String message) {
            super(exitStatus, message);
        }
    }

    /** One line for people: its state and progress. */
    static String describe(JsonNode order) {
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

    /**
     * Opens a stream of server-sent events.
     *
     * @param lastId the last event that the caller has, or null
     * @return the stream, which the caller closes
     * @throws CommandFailedException when no manager responds, or one responds with an error
     */
    InputStream stream(String path, @Nullable String lastId) {
        HttpRequest.Builder request = HttpRequest.newBuilder().GET();
        if (lastId != null) {
            request.header("Last-Event-ID", lastId);
        }
        HttpResponse<InputStream> answer = send(path, request, "text/event-stream", BodyHandlers.ofInputStream());
        if (answer.statusCode() >= ERRORS) {
            try (InputStream body = answer.body()) {
                throw failure(
                        answer.statusCode(), new String(body.readNBytes(ERROR_BYTES_MAX), StandardCharsets.UTF_8));
            } catch (IOException e) {
                throw failure(answer.statusCode(), "");
            }
        }
        return answer.body();
    }

    private JsonNode send(String path, HttpRequest.Builder request) {
        HttpResponse<String> answer = send(path, request, "application/json", head -> new AnswerText());
        if (answer.statusCode() >= ERRORS) {
            throw failure(answer.statusCode(), answer.body());
        }
        try {
            return JSON.readTree(answer.body());
        } catch (JacksonException e) {
            throw new CommandFailedException(
                    ExitStatus.FAILED,
                    "%s answered %d without JSON; is it a manager?".formatted(manager(), answer.statusCode()),
                    e);
        }
    }

    /** Sends a request to the first manager that responds, which becomes the first of the list. */
    private <T> HttpResponse<T> send(
            String path, HttpRequest.Builder request, String accepted, HttpResponse.BodyHandler<T> body) {
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        request.header("Accept", accepted + ", application/problem+json").timeout(timeout);
        StringBuilder failures = new StringBuilder();
        HttpResponse<T> away = null;
        for (URI manager : List.copyOf(managers)) {
            try {
                HttpResponse<T> answer =
                        exchange(request.copy().uri(URI.create(manager + path)).build(), body);
                if (answer.statusCode() != UNAVAILABLE) {
                    managers.remove(manager);
                    managers.addFirst(manager);
                    closeBody(away);
                    return answer;
                }
                closeBody(away);
                away = answer;
            } catch (AnswerText.TooLongException e) {
                throw new CommandFailedException(ExitStatus.FAILED, "%s: %s".formatted(manager, e.getMessage()), e);
            } catch (IOException e) {
                failures.append("%n  %s: %s".formatted(manager, IoReasons.of(e)));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new CommandFailedException(ExitStatus.FAILED, "interrupted", e);
            }
        }
        if (away != null) {
            return away;
        }
        throw new AwayException(ExitStatus.UNREACHABLE, "no manager could be reached:" + failures);
    }

    /** Nobody reads the answer, if there is one: an open stream would keep its connection. */
    private static void closeBody(@Nullable HttpResponse<?> answer) throws IOException {
        if (answer != null && answer.body() instanceof InputStream unread) {
            unread.close();
        }
    }

    /** The timeout of a request ends with the headers of its answer, so this also limits the wait for the body. */
    private <T> HttpResponse<T> exchange(HttpRequest request, HttpResponse.BodyHandler<T> body)
            throws IOException, InterruptedException {
        CompletableFuture<HttpResponse<T>> answer = client.sendAsync(request, body);
        try {
            return answer.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new HttpTimeoutException("the answer was not complete within %d s".formatted(timeout.toSeconds()));
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException cause) {
                throw cause;
            }
            throw new IllegalStateException("a request failed", e.getCause());
        } finally {
            boolean unused = answer.cancel(true); // closes the connection of an answer that is not complete
        }
    }

    private CommandFailedException failure(int status, String body) {
        String detail;
        try {
            detail = JSON.readTree(body).path("detail").asString("");
        } catch (JacksonException e) {
            return new CommandFailedException(
                    ExitStatus.FAILED, "%s answered %d without JSON; is it a manager?".formatted(manager(), status), e);
        }
        String message = detail.isEmpty() ? "%s answered %d".formatted(manager(), status) : detail;
        if (status == UNAVAILABLE) {
            return new AwayException(ExitStatus.FAILED, message);
        }
        return new CommandFailedException(
                status == UNAUTHORIZED || status == FORBIDDEN ? ExitStatus.DENIED : ExitStatus.FAILED, message);
    }

    @Override
    public void close() {
        client.shutdownNow(); // not close(), which would wait for a stream
    }
}
