package dev.lite.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.LineNumberReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/**
 * Reads a manager's server-sent events. Reconnects when the stream ends or is silent, to another manager if necessary, and
 * asks for the events that it missed. Used by one thread; a second one reads from the connection.
 */
final class EventStream {
    private static final String END = "\u0000";
    private static final String TOO_LONG = "\u0000\u0000";

    /** A manager sends something every 10 s, unless configured otherwise: then this reconnects more often than necessary. */
    private static final Duration SILENCE_MAX = Duration.ofMinutes(1);

    private static final Duration RETRY = Duration.ofSeconds(1);
    private static final int LINES_WAITING_MAX = 1024;
    /**
     * Of the lines that wait; also the limit of a line, and of an event. So they have at most three times as
     * many characters.
     */
    private static final int CHARACTERS_MAX = AnswerText.BYTES_MAX;

    private final ManagerClient manager;
    private final Consumer<String> warnings;
    private @Nullable String lastId;

    /** @param warnings gets a line when the connection was lost */
    EventStream(ManagerClient manager, Consumer<String> warnings) {
        this.manager = manager;
        this.warnings = warnings;
    }

    /**
     * An event.
     *
     * @param id for reconnecting; empty if there is none
     * @param type its kind
     * @param data its content
     */
    record Event(String id, String type, JsonNode data) {
        /** The event in one line. */
        String json() {
            return ManagerClient.JSON
                    .createObjectNode()
                    .put("id", id)
                    .put("type", type)
                    .set("data", data)
                    .toString();
        }
    }

    /**
     * Reads for some time, or until the thread is interrupted.
     *
     * @param events gets every event; returns false to end
     * @throws CommandFailedException when the first connection fails, a manager refuses, or an event is too
     *     long or not JSON
     */
    void read(Duration length, Predicate<Event> events) {
        long endNs = System.nanoTime() + length.toNanos();
        boolean connected = false;
        boolean warned = false;
        try {
            while (System.nanoTime() - endNs < 0 && !Thread.currentThread().isInterrupted()) {
                try (InputStream body = manager.stream("/api/events", lastId)) {
                    connected = true;
                    warned = false;
                    if (!readAll(body, endNs, events)) {
                        return;
                    }
                } catch (CommandFailedException e) {
                    if (!connected || e.exitStatus() == ExitStatus.DENIED) {
                        throw e;
                    }
                    if (!warned) {
                        warnings.accept("lite: the connection was lost; trying again: " + e.getMessage());
                        warned = true;
                    }
                } catch (AnswerText.TooLongException e) {
                    throw new CommandFailedException(
                            ExitStatus.FAILED, "%s: %s".formatted(manager.manager(), e.getMessage()), e);
                } catch (JacksonException e) {
                    throw new CommandFailedException(
                            ExitStatus.FAILED,
                            "%s sent an event that is not JSON; is it a manager?".formatted(manager.manager()),
                            e);
                } catch (IOException e) {
                    warnings.accept("lite: the connection was lost: " + e.getMessage());
                }
                LockSupport.parkNanos(this, Math.min(RETRY.toNanos(), endNs - System.nanoTime()));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // the user ends it
        }
    }

    /** Returns false when it was asked to end, or the time is over. */
    private boolean readAll(InputStream body, long endNs, Predicate<Event> events)
            throws InterruptedException, AnswerText.TooLongException {
        BlockingQueue<String> lines = new ArrayBlockingQueue<>(LINES_WAITING_MAX);
        Semaphore room = new Semaphore(CHARACTERS_MAX);
        Thread reader = Thread.ofVirtual().name("lite-events").start(() -> copyLines(body, lines, room));
        try {
            String type = "";
            String id = "";
            StringBuilder data = new StringBuilder();
            while (true) {
                long leftNs = endNs - System.nanoTime();
                String line = lines.poll(Math.min(leftNs, SILENCE_MAX.toNanos()), TimeUnit.NANOSECONDS);
                if (line == null) {
                    return System.nanoTime() - endNs < 0; // silent for too long: connect again
                }
                if (line.equals(END)) {
                    return true;
                }
                if (line.equals(TOO_LONG)) {
                    throw new AnswerText.TooLongException();
                }
                room.release(line.length());
                int colon = line.indexOf(':');
                String field = colon < 0 ? line : line.substring(0, colon);
                String value = colon < 0 ? "" : line.substring(colon + 1).stripLeading();
                switch (field) {
                    case "event" -> type = value;
                    case "id" -> id = value;
                    case "data" -> {
                        if (data.length() + value.length() > CHARACTERS_MAX) {
                            throw new AnswerText.TooLongException();
                        }
                        data.append(value);
                    }
                    default -> {}
                }
                if (line.isEmpty() && !data.isEmpty()) {
                    lastId = id.isEmpty() ? lastId : id;
                    if (!events.test(new Event(id, type, ManagerClient.JSON.readTree(data.toString())))) {
                        return false;
                    }
                    data.setLength(0);
                    type = "";
                }
            }
        } finally {
            reader.interrupt();
        }
    }

    private static void copyLines(InputStream body, BlockingQueue<String> lines, Semaphore room) {
        try {
            try (Reader reader = new LineNumberReader(new InputStreamReader(body, StandardCharsets.UTF_8))) {
                for (String line = readLine(reader); line != null; line = readLine(reader)) {
                    room.acquire(line.length());
                    lines.put(line);
                }
            } catch (AnswerText.TooLongException e) {
                lines.put(TOO_LONG);
            } catch (IOException e) {
                // The connection broke, or was closed by the other thread.
            }
            lines.put(END);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // nobody reads the queue any more
        }
    }

    /** @param reader returns every end of a line as a line feed */
    private static @Nullable String readLine(Reader reader) throws IOException {
        int next = reader.read();
        if (next < 0) {
            return null;
        }
        StringBuilder line = new StringBuilder();
        for (; next >= 0 && next != '\n'; next = reader.read()) {
            if (line.length() == CHARACTERS_MAX) {
                throw new AnswerText.TooLongException();
            }
            line.append((char) next);
        }
        return line.toString();
    }
}
