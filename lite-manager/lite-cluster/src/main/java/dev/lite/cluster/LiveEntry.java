package dev.lite.cluster;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * The content of a registration's znode, as JSON; newer versions may add fields.
 *
 * @param owner identifies the directory object that made it, also across sessions
 * @param node the registration
 * @param managementUrl see {@link ClusterDirectory#publishManagementUrl}; null while the node has none
 * @param sessionTimeoutMs so long it stays after the end of its process; 0 if an older version made it
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record LiveEntry(String owner, NodeRecord node, @Nullable String managementUrl, long sessionTimeoutMs) {
    private static final Logger log = LoggerFactory.getLogger(LiveEntry.class);
    private static final JsonMapper JSON = JsonMapper.builder()
            .disable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES) // older versions lack fields
            .build();

    LiveEntry {
        Objects.requireNonNull(owner, "owner");
        Objects.requireNonNull(node, "node");
    }

    byte[] toBytes() {
        return JSON.writeValueAsBytes(this);
    }

    /** {@link #parse(String, byte[])}; empty also if somebody without the cluster's secret wrote it. */
    static Optional<LiveEntry> parse(Answer<ZooKeeperSession.Data> answer) {
        return answer.get().trusted().flatMap(bytes -> parse(answer.path(), bytes));
    }

    /** Returns empty and logs when the content is invalid: one bad entry must not hide the others. */
    static Optional<LiveEntry> parse(String path, byte[] bytes) {
        try {
            LiveEntry entry = JSON.readValue(bytes, LiveEntry.class);
            if (entry != null && path.endsWith("/" + entry.node().name())) {
                return Optional.of(entry);
            }
            log.warn("The registration {} is ignored: it holds {}", path, entry);
        } catch (JacksonException e) {
            log.warn("The registration {} is ignored: {}", path, e.getOriginalMessage());
        }
        return Optional.empty();
    }
}
