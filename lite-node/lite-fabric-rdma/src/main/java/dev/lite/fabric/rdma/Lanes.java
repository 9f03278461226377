package dev.lite.fabric.rdma;

import dev.lite.fabric.driver.HandshakeException;
import dev.lite.fabric.rdma.verbs.Completion;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Every lane by its tag. An index is reused only when no completion of its former lane can come any more; as a further safeguard, tags have a
 * generation. Thread-safe; a lookup takes no lock.
 */
final class Lanes {
    private final AtomicReferenceArray<@Nullable RdmaLane> lanes;
    /** The same without gaps. Replaced, never changed. */
    private volatile RdmaLane[] present = {};

    // Guarded by this object.
    private final int[] generations;
    private final Deque<Integer> free = new ArrayDeque<>();

    Lanes(int lanesMax) {
        if (lanesMax > Completion.LANES_MAX) {
            throw new IllegalArgumentException(
                    "there are at most %d lanes, not %d".formatted(Completion.LANES_MAX, lanesMax));
        }
        lanes = new AtomicReferenceArray<>(lanesMax);
        generations = new int[lanesMax];
        for (int i = 0; i < lanesMax; i++) {
            free.add(i);
        }
    }

    /**
     * A tag for a new lane.
     *
     * @throws HandshakeException when there are as many as there may be
     */
    synchronized int take() {
        var index = free.poll();
        if (index == null) {
            throw new HandshakeException("all %d queue pairs of this node are in use".formatted(lanes.length()));
        }
        return Completion.tag(index, ++generations[index]);
    }

    /** Puts the lane where {@link #of} finds it. */
    synchronized void put(RdmaLane lane) {
        lanes.setRelease(Completion.index(lane.tag), lane);
        present = collect();
    }

    /** The lane of a tag; null when it is gone. */
    @Nullable
    RdmaLane of(int tag) {
        int index = Completion.index(tag);
        var lane = index < lanes.length() ? lanes.getAcquire(index) : null;
        return lane != null && lane.tag == tag ? lane : null;
    }

    /** Gives a tag back, with its lane if it was put. */
    synchronized void release(int tag) {
        int index = Completion.index(tag);
        lanes.setRelease(index, null);
        free.add(index);
        present = collect();
    }

    private RdmaLane[] collect() {
        var all = new ArrayList<RdmaLane>();
        for (int i = 0; i < lanes.length(); i++) {
            var lane = lanes.getAcquire(i);
            if (lane != null) {
                all.add(lane);
            }
        }
        return all.toArray(RdmaLane[]::new);
    }

    /** Those there are now. */
    List<RdmaLane> all() {
        return List.of(present);
    }

    /** Poll role: whether a request of any lane is under way. */
    boolean areUnderWay() {
        for (var lane : present) {
            if (lane.isUnderWay()) {
                return true;
            }
        }
        return false;
    }
}
