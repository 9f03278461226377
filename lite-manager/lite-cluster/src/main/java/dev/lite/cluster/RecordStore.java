package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.os.waiting.Deadline;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.data.Stat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Records by name.
 *
 * <p><b>Versions.</b> ZooKeeper counts the versions of a znode from 0, also after it was deleted and created again, so a
 * compare-and-set meant for the old record could change the new one. Therefore a record begins with a random number, and
 * its version is that number plus the znode's version. A change also requires that nothing was deleted from the bucket
 * since the record was read: every deletion raises the version of the bucket's znode.
 *
 * <p><b>Reads</b> follow a {@code sync}, so they see every change completed before.
 */
final class RecordStore {
    private static final Logger log = LoggerFactory.getLogger(RecordStore.class);

    /** Leaves room for 2^30 changes before a version overflows. */
    private static final int FIRST_VERSION_BOUND = 1 << 30;

    private static final byte[] EMPTY = {};

    private final ZooKeeperSession session;
    private final ZooKeeperPaths paths;
    private final NameListing listing;

    RecordStore(ZooKeeperSession session, ZooKeeperPaths paths) {
        this.session = session;
        this.paths = paths;
        this.listing = new NameListing(session, paths);
    }

    /** The content of a record's znode. */
    private record Stored(int firstVersion, byte[] record, int znodeVersion) {
        static Stored of(Answer<ZooKeeperSession.Data> answer) {
            byte[] bytes = answer.get().bytes();
            if (bytes.length < Integer.BYTES) {
                throw new ClusterUnavailableException(
                        "the znode %s is not a record: it has %d bytes; at least %d are needed"
                                .formatted(answer.path(), bytes.length, Integer.BYTES),
                        new UnreadableRecordException(answer.path()));
            }
            return new Stored(
                    ByteBuffer.wrap(bytes).getInt(),
                    Arrays.copyOfRange(bytes, Integer.BYTES, bytes.length),
                    answer.get().stat().getVersion());
        }

        static byte[] encode(int firstVersion, byte[] record) {
            return ByteBuffer.allocate(Integer.BYTES + record.length)
                    .putInt(firstVersion)
                    .put(record)
                    .array();
        }

        int version() {
            return firstVersion + znodeVersion;
        }
    }

    boolean create(String name, byte[] record, Deadline deadline) {
        byte[] bytes = Stored.encode(ThreadLocalRandom.current().nextInt(FIRST_VERSION_BOUND), record);
        while (true) {
            Answer<Stat> created = session.await(session.create(paths.record(name), bytes), deadline, "create " + name);
            switch (created.code()) {
                case OK -> {
                    return true;
                }
                case NONODE -> makeBucket(name, deadline);
                case NODEEXISTS -> {
                    Answer<ZooKeeperSession.Data> existing = readZnode(name, deadline);
                    if (existing.isOk()) {
                        return Arrays.equals(Stored.of(existing).record(), record);
                    }
                    // Deleted meanwhile: try again.
                }
                default -> throw created.unexpected();
            }
        }
    }

    private void makeBucket(String name, Deadline deadline) {
        Answer<Stat> bucket =
                session.await(session.createParent(paths.bucketOf(name)), deadline, "make the bucket of " + name);
        if (!bucket.isOk() && !bucket.is(Code.NODEEXISTS)) {
            throw bucket.unexpected();
        }
    }

    Optional<VersionedRecord> read(String name, Deadline deadline) {
        Answer<ZooKeeperSession.Data> answer = readZnode(name, deadline);
        if (answer.is(Code.NONODE)) {
            return Optional.empty();
        }
        Stored stored = Stored.of(answer);
        return Optional.of(new VersionedRecord(stored.record(), stored.version()));
    }

    private Answer<ZooKeeperSession.Data> readZnode(String name, Deadline deadline) {
        CompletableFuture<?> synced = session.sync(paths.record(name));
        CompletableFuture<Answer<ZooKeeperSession.Data>> data = session.getData(paths.record(name));
        session.await(synced, deadline, "read " + name);
        return session.await(data, deadline, "read " + name);
    }

    Optional<Integer> compareAndSet(String name, int expectedVersion, byte[] record, Deadline deadline) {
        while (true) {
            RecordInBucket found = readWithBucket(name, deadline);
            if (!found.hasVersion(expectedVersion)) {
                return Optional.empty();
            }
            Stored stored = Stored.of(found.record());
            Answer<List<OpResult>> changed = session.await(
                    session.multi(
                            paths.record(name),
                            List.of(
                                    Op.check(paths.bucketOf(name), found.bucketVersion()),
                                    session.setDataOp(
                                            paths.record(name),
                                            Stored.encode(stored.firstVersion(), record),
                                            stored.znodeVersion(),
                                            0))),
                    deadline,
                    "change " + name);
            if (changed.isOk()) {
                return Optional.of(stored.version() + 1);
            }
            requireConflict(changed);
            if (!isBucketChanged(changed)) {
                return Optional.empty();
            }
        }
    }

    boolean delete(String name, int expectedVersion, Deadline deadline) {
        while (true) {
            RecordInBucket found = readWithBucket(name, deadline);
            if (found.record().is(Code.NONODE)) {
                return true;
            }
            if (!found.hasVersion(expectedVersion)) {
                return false;
            }
            Answer<List<OpResult>> deleted = session.await(
                    session.multi(
                            paths.record(name),
                            List.of(
                                    Op.setData(paths.bucketOf(name), EMPTY, found.bucketVersion()),
                                    Op.delete(
                                            paths.record(name),
                                            Stored.of(found.record()).znodeVersion()))),
                    deadline,
                    "delete " + name);
            if (deleted.isOk()) {
                return true;
            }
            requireConflict(deleted); // the next read tells whether the record or only the bucket changed
        }
    }

    private record RecordInBucket(int bucketVersion, Answer<ZooKeeperSession.Data> record) {
        boolean hasVersion(int version) {
            return record.isOk() && Stored.of(record).version() == version;
        }
    }

    /** Reads the bucket first: if the record is deleted and created again afterwards, the check of the bucket always fails. */
    private RecordInBucket readWithBucket(String name, Deadline deadline) {
        CompletableFuture<?> synced = session.sync(paths.record(name));
        CompletableFuture<Answer<Stat>> bucket = session.exists(paths.bucketOf(name), null);
        CompletableFuture<Answer<ZooKeeperSession.Data>> record = session.getData(paths.record(name));
        session.await(synced, deadline, "read " + name);
        Answer<Stat> bucketStat = session.await(bucket, deadline, "read " + name);
        Answer<ZooKeeperSession.Data> data = session.await(record, deadline, "read " + name);
        if (!data.isOk() && !data.is(Code.NONODE)) {
            throw data.unexpected();
        }
        return new RecordInBucket(data.isOk() ? bucketStat.get().getVersion() : 0, data);
    }

    private static void requireConflict(Answer<?> refused) {
        if (!refused.is(Code.BADVERSION) && !refused.is(Code.NONODE)) {
            throw refused.unexpected();
        }
    }

    /** Whether the first operation, on the bucket, was the one that failed. */
    private static boolean isBucketChanged(Answer<List<OpResult>> refused) {
        List<OpResult> results = refused.value();
        return results != null
                && results.getFirst() instanceof OpResult.ErrorResult first
                && first.getErr() == Code.BADVERSION.intValue();
    }

    /** Signs records with the secret for signing that are signed with the other one, or not at all; returns their number. */
    int signAgain(List<String> names, Deadline deadline) {
        List<CompletableFuture<Answer<ZooKeeperSession.Data>>> reading =
                names.stream().map(name -> session.getData(paths.record(name))).toList();
        int signed = 0;
        for (int index = 0; index < names.size(); index++) {
            Answer<ZooKeeperSession.Data> found = session.await(reading.get(index), deadline, "sign the records again");
            if (found.isOk()
                    && found.get().trusted().isPresent()
                    && !found.get().current()
                    && signAgain(names.get(index), found, deadline)) {
                signed++;
            }
        }
        return signed;
    }

    private boolean signAgain(String name, Answer<ZooKeeperSession.Data> found, Deadline deadline) {
        try {
            Stored stored = Stored.of(found);
            return compareAndSet(name, stored.version(), stored.record(), deadline)
                    .isPresent();
        } catch (ClusterUnavailableException e) {
            if (!UnreadableRecordException.isCauseOf(e)) {
                throw e;
            }
            log.warn("{} is not signed again: {}", found.path(), e.getMessage());
            return false;
        }
    }

    List<String> names(String prefix, String after, int limit, Deadline deadline) {
        return listing.names(prefix, after, limit, deadline);
    }
}
