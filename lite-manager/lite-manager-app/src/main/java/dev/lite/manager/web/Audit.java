package dev.lite.manager.web;

import dev.lite.os.waiting.RepeatedLines;
import jakarta.servlet.http.HttpServletRequest;
import java.time.Duration;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who ordered what: a line of the logger {@code lite.audit} and an event for each request that may change something, whatever its
 * answer. Requests that were refused for their token or role are lines only, and repeated ones are counted. Any thread.
 */
final class Audit {
    private static final Logger log = LoggerFactory.getLogger("lite.audit");
    private static final String BODY = Audit.class.getName() + ".body";
    private static final int BODY_CHARS_MAX = 512;
    /** What could begin a line, or means something to a terminal. */
    private static final Pattern CONTROL = Pattern.compile("[\\p{Cc}\\u2028\\u2029]");

    private static final int LINES_MAX = 50;
    private static final Duration PERIOD = Duration.ofSeconds(10);

    private final RepeatedLines refusals = new RepeatedLines(LINES_MAX, PERIOD);
    private volatile @Nullable Consumer<Entry> listener;

    /**
     * One request.
     *
     * @param client the name of its token
     * @param address where it came from
     * @param method its method
     * @param path its path, as it was sent
     * @param body what was asked for, if the request has a body in JSON
     * @param status the status of the answer
     */
    record Entry(
            String client,
            String address,
            String method,
            String path,
            @Nullable String body,
            int status) {}

    /** Sets who gets the entries. */
    void setListener(Consumer<Entry> newListener) {
        listener = newListener;
    }

    /** Remembers the body of a request. */
    static void body(HttpServletRequest request, Object body) {
        String text = body.toString();
        String shown = text.length() <= BODY_CHARS_MAX ? text : text.substring(0, BODY_CHARS_MAX) + "…";
        request.setAttribute(BODY, CONTROL.matcher(shown).replaceAll("?"));
    }

    /** A request was answered. */
    void answered(Client client, HttpServletRequest request, int status) {
        String body = request.getAttribute(BODY) instanceof String text ? text : null;
        Entry entry = new Entry(
                client.name(), request.getRemoteAddr(), request.getMethod(), request.getRequestURI(), body, status);
        log.info(
                "client={} role={} address={} {} {} {} status={}",
                entry.client(),
                client.role().name().toLowerCase(Locale.ROOT),
                entry.address(),
                entry.method(),
                entry.path(),
                body == null ? "-" : body,
                status);
        Consumer<Entry> its = listener;
        if (its != null) {
            its.accept(entry);
        }
    }

    /**
     * A request was refused for its token, its role or its origin.
     *
     * @param client null: it sent no known token
     */
    void refused(@Nullable Client client, HttpServletRequest request, int status) {
        String name = client == null ? "unknown" : client.name();
        String suffix = refusals.suffix(name);
        if (suffix != null) {
            log.warn(
                    "refused client={} address={} {} {} status={}{}",
                    name,
                    request.getRemoteAddr(),
                    request.getMethod(),
                    request.getRequestURI(),
                    status,
                    suffix);
        }
    }
}
