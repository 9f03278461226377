package dev.lite.cluster;

import dev.lite.os.waiting.Deadline;
import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lists names page by page. ZooKeeper returns all children of a znode at once, and the names are spread over {@value
 * RecordName#BUCKETS} buckets, so every page needs all names of the cluster. They are read once: a bucket's names are
 * cached with the transaction id of its last change, and the next page only checks that id.
 *
 * <p>Bound: all names of the cluster, softly referenced, so that they are dropped when the heap is short. Any thread.
 */
final class NameListing {
    private static final Logger log = LoggerFactory.getLogger(NameListing.class);
    private static final String WHAT = "list names";

    private final ZooKeeperSession session;
    private final ZooKeeperPaths paths;
    private final AtomicReferenceArray<@Nullable SoftReference<Names>> kept =
            new AtomicReferenceArray<>(RecordName.BUCKETS);

    /**
     * The names of one bucket.
     *
     * @param changed the id of the transaction that last created or removed one of them
     * @param sorted never modified
     */
    private record Names(long changed, String[] sorted) {
        static Names of(long changed, List<String> children) {
            String[] names = children.stream()
                    .flatMap(child -> nameOf(child).stream())
                    .sorted()
                    .toArray(String[]::new);
            return new Names(changed, names);
        }

        private static Optional<String> nameOf(String child) {
            Optional<String> name = RecordName.decode(child);
            if (name.isEmpty()) {
                log.debug("the znode {} among the names is ignored: no name is encoded like this", child);
            }
            return name;
        }
    }

    NameListing(ZooKeeperSession session, ZooKeeperPaths paths) {
        this.session = session;
        this.paths = paths;
    }

    /** {@link ClusterDirectory#names(String, String, int, java.time.Duration)}. */
    List<String> names(String prefix, String after, int limit, Deadline deadline) {
        PriorityQueue<Cursor> next = new PriorityQueue<>(Comparator.comparing(Cursor::name));
        for (Names bucket : all(deadline)) {
            Cursor cursor = new Cursor(bucket.sorted(), prefix, after);
            if (cursor.isValid()) {
                next.add(cursor);
            }
        }
        List<String> found = new ArrayList<>();
        for (Cursor first = next.poll(); first != null && found.size() < limit; first = next.poll()) {
            found.add(first.name());
            first.advance();
            if (first.isValid()) {
                next.add(first);
            }
        }
        return List.copyOf(found);
    }

    /** The current content of all buckets that have names. */
    private List<Names> all(Deadline deadline) {
        CompletableFuture<?> synced = session.sync(paths.names);
        List<CompletableFuture<Answer<Stat>>> stats = new ArrayList<>(RecordName.BUCKETS);
        for (int bucket = 0; bucket < RecordName.BUCKETS; bucket++) {
            stats.add(session.exists(paths.bucket(bucket), null));
        }
        session.await(synced, deadline, WHAT);
        List<Names> known = new ArrayList<>(RecordName.BUCKETS);
        List<Asked> asked = new ArrayList<>();
        for (int bucket = 0; bucket < RecordName.BUCKETS; bucket++) {
            Answer<Stat> stat = session.await(stats.get(bucket), deadline, WHAT);
            if (stat.is(Code.NONODE)) {
                continue; // a bucket is created with its first name
            }
            SoftReference<Names> reference = kept.get(bucket);
            Names names = reference == null ? null : reference.get();
            if (names != null && names.changed() == stat.get().getPzxid()) {
                known.add(names);
            } else {
                asked.add(new Asked(bucket, session.childrenAndStat(paths.bucket(bucket))));
            }
        }
        for (Asked one : asked) {
            ZooKeeperSession.Children children =
                    session.await(one.children(), deadline, WHAT).get();
            Names names = Names.of(children.stat().getPzxid(), children.names());
            kept.set(one.bucket(), new SoftReference<>(names));
            known.add(names);
        }
        return known;
    }

    private record Asked(int bucket, CompletableFuture<Answer<ZooKeeperSession.Children>> children) {}

    /** A position in the sorted names of one bucket. */
    private static final class Cursor {
        private final String[] sorted;
        private final String prefix;
        private int at;

        /** Starts at the first name that has the prefix and comes after the given text. */
        Cursor(String[] sorted, String prefix, String after) {
            this.sorted = sorted;
            this.prefix = prefix;
            boolean prefixIsLater = prefix.compareTo(after) > 0;
            int found = Arrays.binarySearch(sorted, prefixIsLater ? prefix : after);
            if (found < 0) {
                at = -found - 1;
            } else {
                at = prefixIsLater ? found : found + 1;
            }
        }

        boolean isValid() {
            return at < sorted.length && sorted[at].startsWith(prefix);
        }

        String name() {
            return sorted[at];
        }

        void advance() {
            at++;
        }
    }
}
