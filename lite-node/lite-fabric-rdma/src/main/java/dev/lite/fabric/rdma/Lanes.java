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
 * All lanes by tag. An index is reused only when no completion of its previous lane can arrive any more. As a further safeguard, each tag
 * contains a generation. Thread-safe; a lookup takes no lock.
 */
final class Lanes {
    private final AtomicReferenceArray<@Nullable RdmaLane> lanes;
    /** The same lanes without gaps. Replaced, never changed. */
    private volatile RdmaLane[] present = {};

    // Guarded by this object.
    private final int[] generations;
    private final Deque<Integer> free = new ArrayDeque<>();

    Lanes(int lanesMax) {
        if (lanesMax > Completion.LANES_MAX) {
            throw new IllegalArgumentException(
                    "%d lanes are too many; the limit is %d".formatted(lanesMax, Completion.LANES_MAX));
        }
        lanes = new AtomicReferenceArray<>(lanesMax);
        generations = new int[lanesMax];
        for (int i = 0; i < lanesMax; i++) {
            free.add(i);
        }
    }

    /**
     * Takes a tag for a new lane.
     *
     * @throws HandshakeException if all tags are in use
     */
    synchronized int take() {
        var index = free.poll();
        if (index == null) {
            throw new HandshakeException("all %d queue pairs of this node are in use".formatted(lanes.length()));
        }
        return Completion.tag(index, ++generations[index]);
    }

    /** Adds a lane, so that {@link #of} finds it by its tag. */
    synchronized void put(RdmaLane lane) {
        lanes.setRelease(Completion.index(lane.tag), lane);
        present = collect();
    }

    /** The lane with this tag; null if it was released. */
    @Nullable
    RdmaLane of(int tag) {
        int index = Completion.index(tag);
        var lane = index < lanes.length() ? lanes.getAcquire(index) : null;
        return lane != null && lane.tag == tag ? lane : null;
    }

    /** Releases a tag, and removes its lane if one was added. */
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

    /** The lanes that are present now. */
    List<RdmaLane> all() {
        return List.of(present);
    }

    /** Poll role: whether any lane has a request in flight. */
    boolean areUnderWay() {
        for (var lane : present) {
            if (lane.isUnderWay()) {
                return true;
            }
        }
        return false;
    }
}
