package dev.lite.manager;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Reads server-sent events on a separate thread. */
public final class EventReader implements AutoCloseable {
    private static final String END = "end of the stream";

    private final HttpClient client;
    private final LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();

    private EventReader(HttpClient client, java.io.InputStream body) {
        this.client = client;
        Thread unused = Thread.ofVirtual().start(() -> {
            try (BufferedReader reader = new BufferedReader(new InputStreamReader(body, StandardCharsets.UTF_8))) {
                for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                    lines.add(line);
                }
            } catch (IOException e) {
                lines.add("broken: " + e);
            }
            lines.add(END);
        });
    }

    /** An event. */
    public record Event(String id, String type, JsonNode data) {}

    public static EventReader open(URI uri, @Nullable String lastId, String... headers)
            throws IOException, InterruptedException {
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest.Builder request =
                HttpRequest.newBuilder(uri).timeout(RunningManager.DEADLINE).header("Accept", "text/event-stream");
        if (lastId != null) {
            request.header("Last-Event-ID", lastId);
        }
        for (int index = 0; index < headers.length; index += 2) {
            request.header(headers[index], headers[index + 1]);
        }
        HttpResponse<java.io.InputStream> response =
                client.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
        if (response.statusCode() != 200) {
            throw new AssertionError("status " + response.statusCode());
        }
        return new EventReader(client, response.body());
    }

    /** The next event; skips comments. */
    public Event next() throws InterruptedException {
        String id = "";
        String type = "";
        String data = "";
        while (true) {
            String line = line();
            if (line.startsWith("id:")) {
                id = line.substring(3);
            } else if (line.startsWith("event:")) {
                type = line.substring(6);
            } else if (line.startsWith("data:")) {
                data += line.substring(5);
            } else if (line.isEmpty() && !data.isEmpty()) {
                return new Event(id, type, RunningManager.tree(data));
            }
        }
    }

    /** The next matching event of a type; skips others. */
    public Event nextOf(String type, Predicate<JsonNode> fits) throws InterruptedException {
        while (true) {
            Event event = next();
            if (event.type().equals(type) && fits.test(event.data())) {
                return event;
            }
        }
    }

    /** The text of the next comment. */
    public String awaitComment() throws InterruptedException {
        String line = line();
        while (!line.startsWith(":")) {
            line = line();
        }
        return line.substring(1);
    }

    /** Whether the stream ends cleanly; skips everything before its end. */
    public boolean awaitEnd() throws InterruptedException {
        while (true) {
            String line = lines.poll(RunningManager.DEADLINE.toNanos(), TimeUnit.NANOSECONDS);
            if (line == null || line.startsWith("broken: ")) {
                return false;
            }
            if (line.equals(END)) {
                return true;
            }
        }
    }

    private String line() throws InterruptedException {
        String line = lines.poll(RunningManager.DEADLINE.toNanos(), TimeUnit.NANOSECONDS);
        if (line == null || line.equals(END) || line.startsWith("broken: ")) {
            throw new AssertionError(line == null ? "no line arrived in time" : line);
        }
        return line;
    }

    @Override
    public void close() {
        client.shutdownNow();
    }
}
