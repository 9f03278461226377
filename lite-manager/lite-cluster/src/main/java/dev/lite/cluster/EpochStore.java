package dev.lite.cluster;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * What an {@link EpochKeeper} sees of the cluster, and the one thing that it changes. Any thread; blocks up to the deadline,
 * and throws {@link dev.lite.api.ClusterUnavailableException} when the directory does not answer.
 */
interface EpochStore {

    /**
     * A node that has an id.
     *
     * @param id the node's number
     * @param name its stable name
     * @param lastIncarnation the last that was given, whether it is live or not; 0 when none was
     */
    record Known(int id, String name, long lastIncarnation) {}

    /**
     * A node's word that it has cut its links to every removal of an epoch and of those before.
     *
     * @param incarnation of the node that said so; of another one it does not count
     * @param epoch the epoch's number
     */
    record Ack(long incarnation, long epoch) {}

    /**
     * What is there. Each part is as it was after the part before it was looked at, in the order epoch, known, live, acks:
     *
     * <ul>
     *   <li>a node that registers after {@code live} was looked at finds {@code epoch}, or a later one, when it reads the
     *       epoch after its registration, as every node does; so it never has links to who was removed there;
     *   <li>an incarnation in {@code known} that is not in {@code live} is over.
     * </ul>
     *
     * @param epoch the present one
     * @param version of its record, which {@link EpochStore#replace} asks for
     * @param known every node that has an id
     * @param live the registered nodes
     * @param acks by the node's id
     */
    record Snapshot(Epoch epoch, int version, List<Known> known, List<NodeRecord> live, Map<Integer, Ack> acks) {}

    /** Looks at everything. */
    Snapshot snapshot(Duration deadline);

    /**
     * Replaces the epoch if its record still has the version that was looked at.
     *
     * @return false when it has another version
     */
    boolean replace(Snapshot seen, Epoch next, Duration deadline);
}
