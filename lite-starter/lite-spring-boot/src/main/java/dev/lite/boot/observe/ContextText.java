package dev.lite.boot.observe;

import dev.lite.api.LtRpc;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The context of a request as text: a line {@code key=value} for each entry. */
final class ContextText {

    /** The entry that the others depend on (W3C Trace Context). */
    private static final String TRACE_PARENT = "traceparent";

    private ContextText() {}

    /** The entries that fit, the trace's parent first; null if there is none. */
    static @Nullable String encode(Map<String, String> entries) {
        StringBuilder text = new StringBuilder();
        int bytes = 0;
        String parent = entries.get(TRACE_PARENT);
        if (parent != null) {
            bytes = append(text, bytes, TRACE_PARENT, parent);
        }
        for (Map.Entry<String, String> entry : entries.entrySet()) {
            if (!entry.getKey().equals(TRACE_PARENT)) {
                bytes = append(text, bytes, entry.getKey(), entry.getValue());
            }
        }
        return bytes == 0 ? null : text.toString();
    }

    /** Returns the number of bytes afterwards. */
    private static int append(StringBuilder text, int bytes, String key, String value) {
        if (key.indexOf('=') >= 0 || hasLineBreak(key) || hasLineBreak(value)) {
            return bytes;
        }
        String line = key + '=' + value + '\n';
        int sum = bytes + line.getBytes(StandardCharsets.UTF_8).length;
        if (sum > LtRpc.CONTEXT_BYTES_MAX) {
            return bytes;
        }
        text.append(line);
        return sum;
    }

    /** Both end a line for {@link String#lines}. */
    private static boolean hasLineBreak(String text) {
        return text.indexOf('\n') >= 0 || text.indexOf('\r') >= 0;
    }

    /** The entries; lines that are none are skipped, because others may send anything. */
    static Map<String, String> decode(@Nullable String text) {
        Map<String, String> entries = new TreeMap<>();
        if (text != null) {
            text.lines().forEach(line -> {
                int equals = line.indexOf('=');
                if (equals > 0) {
                    entries.put(line.substring(0, equals), line.substring(equals + 1));
                }
            });
        }
        return entries;
    }
}
