package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The cluster's directory: which nodes there are, and a record for every name, changed by compare-and-set.
 *
 * <p><b>Threads.</b> Any. Methods with a deadline may block up to it and must not be called from a
 * {@link DirectoryListener}. <b>Errors.</b> A method with a deadline throws {@link ClusterUnavailableException} when the
 * directory did not answer in time: at once when it is known to be away, and at the latest at the deadline. What a change
 * did is unknown then, but repeating the same call is always safe.
 */
public interface ClusterDirectory extends AutoCloseable {

    /** The largest node id. */
    int NODE_ID_MAX = 1023;

    /**
     * Begins the names of records that are LITE's own: this, the kind, a slash, and a name as for an LMR. No LMR can have such
     * a name, since it begins with a control character.
     */
    String INTERNAL_PREFIX = "\u0001";

    /** Upper limit of a record, in bytes. */
    int RECORD_BYTES_MAX = 512 * 1024;

    /**
     * The number of a node's name, given now if it has none. {@link #register} uses the same; a node asks first because
     * it tells its peers its id before it is registered.
     *
     * @param heldId the number that its arena belongs to from an earlier run, or {@link NodeAdvert#NO_ID}
     * @throws dev.lite.api.NodeUnreachableException when the held id belongs to another name
     * @throws dev.lite.api.LimitExceededException when all ids up to {@link #NODE_ID_MAX} are given
     */
    int claimId(String name, int heldId, Duration deadline);

    /**
     * Registers this process as a node; the registration lives as long as this directory is open and its session lives.
     * A session that expired is replaced by itself ({@link DirectoryListener#registeredAgain}).
     *
     * @throws dev.lite.api.NodeUnreachableException when a live node has this name (the message names its host), or the
     *     held id belongs to another name; a registration left by a process that died less than a session time-out ago
     *     is waited for
     * @throws dev.lite.api.LimitExceededException when all ids up to {@link #NODE_ID_MAX} are given
     */
    NodeRecord register(NodeAdvert advert, Duration deadline);

    /** The registered nodes in the order of their ids, as last heard. Never blocks. */
    List<NodeRecord> nodes();

    /** {@link #nodes()}, but as they are now. */
    List<NodeRecord> nodesNow(Duration deadline);

    /** Whether the directory can be reached, as last heard. Never blocks. */
    boolean isAvailable();

    /**
     * The cluster's epoch as last heard; {@link Epoch#NONE} before the first. Never blocks. As long as no manager leads it
     * stays as it is, and nobody is removed.
     */
    Epoch epoch();

    /**
     * {@link #epoch}, but as it is now. A node asks after each registration and before it makes or accepts a connection, so
     * that it never has one to who was removed before.
     */
    Epoch epochNow(Duration deadline);

    /**
     * Says that this node has cut its links to every process that an epoch, or one before it, removed. It may be said again
     * and lasts as long as the registration.
     *
     * @param as the registration that says so
     * @param epoch the number of an epoch that was heard
     * @return false when this process's registration is another one by now: what it has cut is to be looked at again
     * @throws IllegalStateException when this directory has not registered a node
     */
    boolean acknowledge(NodeRecord as, long epoch, Duration deadline);

    /** Adds a listener. It is told the current nodes, and the epoch if there is one, soon. */
    void addListener(DirectoryListener listener);

    /**
     * Makes the record of a name.
     *
     * @return false when the name has a record with other bytes; true also when it already has exactly these bytes, so
     *     that the call may be repeated
     */
    boolean create(String name, byte[] record, Duration deadline);

    /** The record of a name, as it is now (never an older one than any change that was finished before the call). */
    Optional<VersionedRecord> read(String name, Duration deadline);

    /**
     * Replaces a record if it still has that version.
     *
     * @return the new version; empty when the name has no record or one of another version
     */
    Optional<Integer> compareAndSet(String name, int expectedVersion, byte[] record, Duration deadline);

    /**
     * Removes a record if it still has that version.
     *
     * @return false when it has another version; true also when it is gone already
     */
    boolean delete(String name, int expectedVersion, Duration deadline);

    /** The names that begin with {@code prefix}, sorted, at most {@code limit} of them. */
    default List<String> names(String prefix, int limit, Duration deadline) {
        return names(prefix, "", limit, deadline);
    }

    /**
     * The names that begin with {@code prefix} and come after {@code after}, in the order of {@link String#compareTo}, at
     * most {@code limit} of them. With the last name of one call as the next one's {@code after}, every name that is there
     * all the time is seen exactly once, whatever is made and removed meanwhile.
     *
     * @param after any text; empty to begin with the first name
     */
    List<String> names(String prefix, String after, int limit, Duration deadline);

    /**
     * Calls {@code changed} soon, and then whenever the record of a name may have changed, until this directory is closed;
     * several changes may be told as one. For a handful of names.
     *
     * @param changed runs on the thread of the listeners; must not block
     */
    void watch(String name, Runnable changed);

    /** Ends the registration and the session. A second call does nothing. */
    @Override
    void close();
}
