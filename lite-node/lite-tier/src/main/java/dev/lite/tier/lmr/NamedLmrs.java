package dev.lite.tier.lmr;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.UnreadableRecordException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.RepeatedLines;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Scans the records of all names in the directory. Any thread; blocks. */
public final class NamedLmrs {
    /** Reads in flight at a time: the directory answers many concurrent reads about as fast as one. */
    private static final int READS = 32;

    private static final Logger log = LoggerFactory.getLogger(NamedLmrs.class);
    private static final int LINES_MAX = 3;
    private static final Duration LINES_PERIOD = Duration.ofMinutes(1);

    private final ClusterDirectory directory;
    private final LmrRecords records;
    private final Executor executor;
    private final RepeatedLines lines = new RepeatedLines(LINES_MAX, LINES_PERIOD);

    /** A named LMR and its record. */
    public record Named(String name, LmrRecord lmr) {}

    NamedLmrs(ClusterDirectory directory, LmrRecords records, Executor executor) {
        this.directory = directory;
        this.records = records;
        this.executor = executor;
    }

    /**
     * What a scan found.
     *
     * @param lmrs by id
     * @param unreadable the names of the records that could not be read
     */
    public record Scan(Map<Long, Named> lmrs, SortedSet<String> unreadable) {}

    /**
     * The LMRs whose records match a condition, by id. Includes the LMRs of locks and barriers.
     *
     * @throws ClusterUnavailableException if the directory does not answer in time, or, with an {@link UnreadableRecordException} as
     *     its cause, if a record is refused, of another version or damaged
     */
    public Map<Long, Named> find(Predicate<LmrRecord> condition, Deadline deadline) {
        return find(condition, deadline, (name, failure) -> {
            UnreadableRecordException cause = new UnreadableRecordException(name);
            cause.initCause(failure);
            throw new ClusterUnavailableException(
                    "the record of \"%s\" cannot be read: %s".formatted(name, failure.getMessage()), cause);
        });
    }

    /**
     * Like {@link #find}, but skips records that cannot be read, and logs them: one record must not keep all others from what is
     * done with them. Not to find out what belongs to no record.
     *
     * @throws ClusterUnavailableException if the directory does not answer in time
     */
    public Scan findReadable(Predicate<LmrRecord> condition, Deadline deadline) {
        SortedSet<String> unreadable = new ConcurrentSkipListSet<>();
        Map<Long, Named> found = find(condition, deadline, (name, failure) -> {
            unreadable.add(name);
            String suffix = lines.suffix("unreadable");
            if (suffix != null) {
                log.warn("skipped the record of \"{}\": {}{}", name, failure.getMessage(), suffix);
            }
        });
        return new Scan(found, unreadable);
    }

    private Map<Long, Named> find(
            Predicate<LmrRecord> condition, Deadline deadline, BiConsumer<String, RuntimeException> unreadable) {
        Map<Long, Named> found = new HashMap<>();
        List<String> names = directory.names("", Integer.MAX_VALUE, deadline.remaining()).stream()
                .filter(NamedLmrs::isLmr)
                .toList();
        for (int from = 0; from < names.size(); from += READS) {
            List<CompletableFuture<Void>> reads = new ArrayList<>();
            for (String name : names.subList(from, Math.min(names.size(), from + READS))) {
                reads.add(CompletableFuture.runAsync(
                        () -> read(name, deadline, unreadable).filter(condition).ifPresent(lmr -> {
                            synchronized (found) {
                                found.put(lmr.id(), new Named(name, lmr));
                            }
                        }),
                        executor));
            }
            try {
                reads.forEach(CompletableFuture::join); // every read has the deadline
            } catch (CompletionException e) {
                throw e.getCause() instanceof RuntimeException cause ? cause : e;
            }
        }
        synchronized (found) {
            return new HashMap<>(found);
        }
    }

    private Optional<LmrRecord> read(String name, Deadline deadline, BiConsumer<String, RuntimeException> unreadable) {
        try {
            return records.find(name, deadline).map(LmrRecords.Found::lmr);
        } catch (ClusterUnavailableException e) {
            if (!UnreadableRecordException.isCauseOf(e)) {
                throw e;
            }
            unreadable.accept(name, e);
        } catch (IllegalArgumentException e) {
            unreadable.accept(name, e);
        }
        return Optional.empty();
    }

    /** Whether a name's record describes an LMR: of an application, or of a lock or barrier. */
    private static boolean isLmr(String name) {
        return !name.startsWith(ClusterDirectory.INTERNAL_PREFIX) || SyncWords.isWord(name);
    }
}
