package dev.lite.tier.lmr;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.waiting.Deadline;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.function.Predicate;

/** Scans the records of all names in the directory. Any thread; blocks. */
public final class NamedLmrs {
    /** Reads in flight at a time: the directory answers many concurrent reads about as fast as one. */
    private static final int READS = 32;

    private final ClusterDirectory directory;
    private final LmrRecords records;
    private final Executor executor;

    /** A named LMR and its record. */
    public record Named(String name, LmrRecord lmr) {}

    NamedLmrs(ClusterDirectory directory, LmrRecords records, Executor executor) {
        this.directory = directory;
        this.records = records;
        this.executor = executor;
    }

    /**
     * The LMRs whose records match a condition, by id. Includes the LMRs of locks and barriers.
     *
     * @throws dev.lite.api.ClusterUnavailableException if the directory does not answer in time
     */
    public Map<Long, Named> find(Predicate<LmrRecord> condition, Deadline deadline) {
        Map<Long, Named> found = new HashMap<>();
        List<String> names = directory.names("", Integer.MAX_VALUE, deadline.remaining()).stream()
                .filter(NamedLmrs::isLmr)
                .toList();
        for (int from = 0; from < names.size(); from += READS) {
            List<CompletableFuture<Void>> reads = new ArrayList<>();
            for (String name : names.subList(from, Math.min(names.size(), from + READS))) {
                reads.add(CompletableFuture.runAsync(
                        () -> records.find(name, deadline)
                                .map(LmrRecords.Found::lmr)
                                .filter(condition)
                                .ifPresent(lmr -> {
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

    /** Whether a name's record describes an LMR: of an application, or of a lock or barrier. */
    private static boolean isLmr(String name) {
        return !name.startsWith(ClusterDirectory.INTERNAL_PREFIX) || SyncWords.isWord(name);
    }
}
