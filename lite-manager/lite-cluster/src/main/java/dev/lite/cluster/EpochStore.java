package dev.lite.cluster;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The parts of the cluster that an {@link EpochKeeper} reads, and the epoch, which it changes. Any thread. Methods block up
 * to the deadline and throw {@link dev.lite.api.ClusterUnavailableException} when the directory does not answer.
 */
interface EpochStore {

    /**
     * A node name with an id.
     *
     * @param id the node's number
     * @param name its stable name
     * @param lastIncarnation the last incarnation given, live or not; 0 when none was
     */
    record Known(int id, String name, long lastIncarnation) {}

    /**
     * A node's acknowledgement that it has cut its links to every process removed by an epoch or an earlier one.
     *
     * @param incarnation the incarnation that acknowledged; valid only while the node has this incarnation
     * @param epoch the epoch's number
     */
    record Ack(long incarnation, long epoch) {}

    /**
     * The cluster's state. The parts are read one after the other, in the order epoch, known, live, acks. Therefore:
     *
     * <ul>
     *   <li>a node that registers after {@code live} was read finds {@code epoch}, or a later one, when it reads the epoch
     *       after its registration, as every node does; so it never connects to a process removed there;
     *   <li>an incarnation in {@code known} that is not in {@code live} has ended.
     * </ul>
     *
     * @param epoch the current epoch
     * @param version the version of its record, for {@link EpochStore#replace}
     * @param known every node that has an id
     * @param live the registered nodes
     * @param acks by the node's id
     */
    record Snapshot(Epoch epoch, int version, List<Known> known, List<NodeRecord> live, Map<Integer, Ack> acks) {}

    /** Reads everything. */
    Snapshot snapshot(Duration deadline);

    /**
     * Replaces the epoch if its record still has the version of the snapshot.
     *
     * @return false when it has another version
     */
    boolean replace(Snapshot seen, Epoch next, Duration deadline);
}
