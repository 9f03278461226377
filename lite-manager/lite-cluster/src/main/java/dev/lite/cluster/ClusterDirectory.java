package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The cluster's directory: the registered nodes, and a record for every name, changed by compare-and-set.
 *
 * <p><b>Threads.</b> Any. Methods with a deadline may block until it and must not be called from a {@link
 * DirectoryListener}. <b>Errors.</b> A method with a deadline throws {@link ClusterUnavailableException} when the directory
 * does not answer: immediately when it is known to be unreachable, else at the deadline. A change may or may not have been
 * made then; repeating the same call is always safe.
 */
public interface ClusterDirectory extends AutoCloseable {

    /** The largest node id. */
    int NODE_ID_MAX = 1023;

    /**
     * The prefix of the names of LITE's own records: this character, the kind, a slash, and a name as for an LMR. An LMR
     * cannot have such a name, because the prefix is a control character.
     */
    String INTERNAL_PREFIX = "\u0001";

    /** Upper limit of the names of functions that a node publishes, as {@link #functionBytes} counts them. */
    int FUNCTIONS_BYTES_MAX = 512 * 1024;

    /** Upper limit of a record, in bytes. */
    int RECORD_BYTES_MAX = 512 * 1024;

    /**
     * Returns the id of a node's name; a new name gets one. {@link #register} uses the same id. A node claims it first
     * because peers need it before the node is registered.
     *
     * @param heldId the id that its arena has from an earlier run, or {@link NodeAdvert#NO_ID}
     * @throws dev.lite.api.NodeUnreachableException when the held id belongs to another name
     * @throws dev.lite.api.LimitExceededException when all ids up to {@link #NODE_ID_MAX} are in use
     */
    int claimId(String name, int heldId, Duration deadline);

    /**
     * Registers this process as a node; the registration lasts while this directory is open and its session lives. An
     * expired session is replaced automatically ({@link DirectoryListener#registeredAgain}).
     *
     * @throws dev.lite.api.NodeUnreachableException when a live node has this name (the message names its host), or the
     *     held id belongs to another name. If the process of that registration died, this call waits until its session
     *     times out
     * @throws dev.lite.api.LimitExceededException when all ids up to {@link #NODE_ID_MAX} are in use
     */
    NodeRecord register(NodeAdvert advert, Duration deadline);

    /**
     * Publishes where this process's registration serves its management endpoints, soon and with every later registration.
     * It is no part of the {@link NodeRecord}: a node that publishes it later is still the same registration.
     *
     * @param url the URL below which the endpoints are, for example {@code http://10.0.0.1:7410/actuator}
     */
    void publishManagementUrl(String url);

    /** The management URLs of the registered nodes that published one, by node name, from the local cache. Never blocks. */
    Map<String, String> managementUrls();

    /** The registered nodes in the order of their ids, from the local cache. Never blocks. */
    List<NodeRecord> nodes();

    /** Like {@link #nodes()}, but read from the directory. */
    List<NodeRecord> nodesNow(Duration deadline);

    /**
     * The last incarnation that each node was given, by the node's id, read from the directory. It includes every
     * registration made before this call, also those that have ended since. A node without a registration so far has 0.
     */
    Map<Integer, Long> incarnationsNow(Duration deadline);

    /** Whether the directory was reachable at last notice. Never blocks. */
    boolean isAvailable();

    /**
     * How often this process refused something in the directory because somebody without the cluster's secret wrote it. Never
     * blocks.
     */
    default long refusedRecords() {
        return 0;
    }

    /**
     * The cluster's epoch from the local cache; {@link Epoch#NONE} before the first. Never blocks. While no manager leads,
     * the epoch does not change and no node is removed.
     */
    Epoch epoch();

    /**
     * Like {@link #epoch}, but read from the directory. A node calls this after each registration and before it makes or
     * accepts a connection, so that it never connects to a node that was already removed.
     */
    Epoch epochNow(Duration deadline);

    /**
     * Acknowledges that this node has cut its links to every process removed by this epoch or an earlier one. May be
     * repeated; lasts as long as the registration.
     *
     * @param as the registration that acknowledges
     * @param epoch the number of an epoch that this node received
     * @return false when this process has a newer registration; the caller must then check its links again
     * @throws IllegalStateException when this directory has not registered a node
     */
    boolean acknowledge(NodeRecord as, long epoch, Duration deadline);

    /**
     * Adds a listener. It soon receives the current nodes, and the epoch if there is one; and what became of this process's
     * registration, if that was made again or refused before.
     */
    void addListener(DirectoryListener listener);

    /**
     * Creates the record of a name.
     *
     * @return false when the name has a record with other bytes; true also when it already has exactly these bytes, so that
     *     repeating the call is safe
     */
    boolean create(String name, byte[] record, Duration deadline);

    /** Reads the record of a name: never a version older than any change completed before the call. */
    Optional<VersionedRecord> read(String name, Duration deadline);

    /**
     * Replaces a record if it still has this version.
     *
     * @return the new version; empty when the name has no record or one of another version
     */
    Optional<Integer> compareAndSet(String name, int expectedVersion, byte[] record, Duration deadline);

    /**
     * Removes a record if it still has this version.
     *
     * @return false when it has another version; true also when it does not exist
     */
    boolean delete(String name, int expectedVersion, Duration deadline);

    /** The names that begin with {@code prefix}, sorted, at most {@code limit} of them. */
    default List<String> names(String prefix, int limit, Duration deadline) {
        return names(prefix, "", limit, deadline);
    }

    /**
     * The names that begin with {@code prefix} and come after {@code after}, in the order of {@link String#compareTo}, at
     * most {@code limit} of them. With the last name of one call as the next one's {@code after}, every name that exists
     * throughout is returned exactly once, whatever is created and removed meanwhile.
     *
     * @param after any text; empty to start with the first name
     */
    List<String> names(String prefix, String after, int limit, Duration deadline);

    /**
     * Calls {@code changed} soon, and then whenever the record of a name may have changed, until this directory is closed.
     * Several changes may be reported as one. Meant for a handful of names.
     *
     * @param changed runs on the listener thread; must not block
     */
    void watch(String name, Runnable changed);

    /**
     * Publishes the functions that this node serves, in place of those that it published before. They last as long as the
     * registration: publish them again after {@link DirectoryListener#registeredAgain}.
     *
     * @param as the registration that serves them
     * @return false when this process has a newer registration
     * @throws dev.lite.api.LimitExceededException when {@link #functionBytes} of all names is more than {@value
     *     #FUNCTIONS_BYTES_MAX}
     * @throws IllegalStateException when this directory has not registered a node
     */
    boolean publishFunctions(NodeRecord as, Collection<String> functions, Duration deadline);

    /** What a name takes of {@link #FUNCTIONS_BYTES_MAX}. */
    static int functionBytes(String function) {
        return FunctionNames.bytes(function);
    }

    /**
     * The names of the nodes that have published a function, sorted; from a local cache, which a watch keeps fresh. The
     * first call fills the cache and may block; later calls do not. While the directory is unreachable, the cache does not
     * change.
     */
    List<String> nodesServing(String function, Duration deadline);

    /** Ends the registration and the session. Idempotent. */
    @Override
    void close();
}
