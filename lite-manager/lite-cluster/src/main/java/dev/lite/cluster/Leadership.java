package dev.lite.cluster;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/**
 * One manager's participation in the election of the cluster's leader. Any thread.
 *
 * <p>The state may be outdated: a process that was paused may still believe that it leads. So each act of a leader must
 * itself be safe (compare-and-set).
 */
public interface Leadership extends AutoCloseable {

    /** Whether this process led at last notice. False while the directory is unreachable. Never blocks. */
    boolean isLeader();

    /**
     * Asks the directory whether this process leads now. Call it before each act of a leader.
     *
     * @throws dev.lite.api.ClusterUnavailableException when the directory does not answer in time
     */
    boolean isLeaderNow(Duration deadline);

    /** Adds a listener that receives each change of {@link #isLeader}, on a thread of the directory; must not block. */
    void addListener(Consumer<Boolean> listener);

    /**
     * The participants of the election at last notice: the leader first, then the others in the order of succession. A dead
     * participant stays until its session ends. Empty before the first answer. Never blocks.
     */
    List<String> participants();

    /** Adds a listener that receives {@link #participants} when they change, on a thread of the directory; must not block. */
    void addParticipantsListener(Consumer<List<String>> listener);

    /** Leaves the election. Idempotent. Close it before its directory. */
    @Override
    void close();
}
