package dev.lite.cluster;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/**
 * One manager's part in the election of the cluster's leader. Any thread.
 *
 * <p>What it says is what was last heard: a process that was paused may still believe that it leads. Whoever acts on it
 * has to make the act itself safe (compare-and-set).
 */
public interface Leadership extends AutoCloseable {

    /** Whether this process leads, as last heard. False while the directory cannot be reached. Never blocks. */
    boolean isLeader();

    /**
     * Whether this process leads now, asked of the directory: before each act of a leader.
     *
     * @throws dev.lite.api.ClusterUnavailableException when the directory does not answer in time
     */
    boolean isLeaderNow(Duration deadline);

    /** Adds a listener, told {@code true} or {@code false} when that changes, on a thread of the directory; must not block. */
    void addListener(Consumer<Boolean> listener);

    /**
     * Who takes part in the election, the leader first and the others in the order in which they would follow, as last
     * heard. One that died stays until its session ends. Empty before the first answer. Never blocks.
     */
    List<String> participants();

    /** Adds a listener, told {@link #participants} when they change, on a thread of the directory; must not block. */
    void addParticipantsListener(Consumer<List<String>> listener);

    /** Leaves the election. A second call does nothing. Close it before its directory. */
    @Override
    void close();
}
