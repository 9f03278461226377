package dev.lite.manager.web;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.NodeRecord;
import dev.lite.cluster.UnreadableRecordException;
import dev.lite.cluster.VersionedRecord;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;

/** Reads the records of LMRs for requests, each within the deadline of a request. Any thread. */
@Component
class RecordReader {
    private static final Logger log = LoggerFactory.getLogger(RecordReader.class);

    /** Sorts after every internal name and before every other name: only internal names start with the prefix. */
    static final String AFTER_INTERNAL = ClusterDirectory.INTERNAL_PREFIX + Character.MAX_VALUE;

    private final ClusterDirectory directory;
    private final Duration deadline;

    RecordReader(ClusterDirectory directory, WebProperties properties) {
        this.directory = directory;
        deadline = properties.requestDeadline();
    }

    /**
     * Reads a page of a listing; records removed meanwhile are omitted, and those that cannot be read.
     *
     * @param prefix the prefix of the names
     * @param after the last name of the previous page, or a text before every name
     * @param limit a valid page size
     * @param view makes the result from a record's name and content
     */
    <T> Page<T> page(String prefix, String after, int limit, BiFunction<String, LmrRecord, T> view) {
        long endNs = System.nanoTime() + deadline.toNanos();
        List<String> names = directory.names(prefix, after, limit, deadline);
        List<T> items = new ArrayList<>(names.size());
        for (String name : names) {
            readable(name, Duration.ofNanos(Math.max(0, endNs - System.nanoTime())))
                    .ifPresent(lmr -> items.add(view.apply(name, lmr)));
        }
        return new Page<>(items, names.size() == limit ? names.getLast() : null);
    }

    /** Reads one record; empty also if it cannot be read. */
    private Optional<LmrRecord> readable(String name, Duration left) {
        try {
            return read(name, left);
        } catch (ClusterUnavailableException e) {
            if (!UnreadableRecordException.isCauseOf(e)) {
                throw e;
            }
            log.warn("Skipping the record of \"{}\": {}", name, e.getMessage());
        } catch (IllegalArgumentException e) {
            log.warn("Skipping a record whose name this version does not allow: {}", e.getMessage());
        }
        return Optional.empty();
    }

    /** Reads one record. */
    Optional<LmrRecord> read(String name) {
        return read(name, deadline);
    }

    private Optional<LmrRecord> read(String name, Duration left) {
        Optional<VersionedRecord> found = directory.read(name, left);
        try {
            return found.map(record -> LmrRecord.decode(record.bytes()));
        } catch (IllegalArgumentException e) {
            log.warn("Skipping the record of \"{}\": {}", name, e.getMessage());
            return Optional.empty();
        }
    }

    /** The name of a node, or null when no node with this id is registered. */
    @Nullable
    String nodeName(int id) {
        for (NodeRecord node : directory.nodes()) {
            if (node.id() == id) {
                return node.name();
            }
        }
        return null;
    }
}
