package dev.lite.fabric.tcp;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Combines the frames of many posts into one write. While a thread polls, the others leave their frames queued, and the
 * polling thread sends all of them with its next poll. So eight callers cost one write, not eight, and only one thread
 * makes system calls on a connection. While the fabric is armed, no thread waits for an answer itself, as after an
 * asynchronous post. Then a frame also stays queued while the lane has an outstanding operation: its answer wakes the
 * standby thread, whose poll sends. In all other cases the posting thread sends at once.
 *
 * <p><b>No frame is forgotten.</b> A posting thread enters its lane here, and then checks again whether a poll will
 * follow. The poll role ends an operation first, or says that it stops polling, and then sends what was left. So at
 * least one of the two sees the other. If the poll role passes to an heir meanwhile, the heir's first poll sends.
 *
 * <p>A thread that has not polled for {@link #FRESH_NS} may be preempted, or on its way to an heir: posting threads
 * then send themselves. Frames are also left to a virtual thread that polls, although others may keep its carrier for long
 * before it polls again, and by a thread that will post or poll soon itself. For these, see {@link StandbyChecks}.
 */
final class Departures {
    /** An empty poll takes about a microsecond; one that serves many peers, or the wake-up of an heir, tens of them. */
    static final long FRESH_NS = 100_000;

    private final AtomicReference<@Nullable Departing> first = new AtomicReference<>();
    /** The thread that polls; null: none. */
    private volatile @Nullable Thread poller;
    /** Start of the last poll. */
    private volatile long polledNs;
    /** Whether the next answer of a peer wakes the standby thread. */
    private volatile boolean armed;

    /**
     * Whether a posting thread is to {@link #leave} its frame. The polling thread itself sends at once. Any thread.
     *
     * @param promptBefore {@link Operations#promptPosted()} before the post
     * @param unsent whether frames were left that may not be sent yet: no answer to them comes, so no poll follows for sure
     */
    boolean isPolled(Operations operations, int promptBefore, boolean unsent) {
        if (armed) {
            return !unsent && operations.isOutstanding(promptBefore);
        }
        Thread now = poller;
        return now != null && now != Thread.currentThread() && System.nanoTime() - polledNs < FRESH_NS;
    }

    /** Whether a virtual thread polls; others may keep its carrier for long. Any thread. */
    boolean isPollerVirtual() {
        Thread now = poller;
        return now != null && now.isVirtual();
    }

    /** Start of the last poll. Any thread. */
    long polledNs() {
        return polledNs;
    }

    /** Leaves a lane's queued frames to the next poll; false if it may not follow. Any thread. */
    boolean leave(Departing lane, Operations operations, int promptBefore, boolean unsent) {
        if (lane.departs.compareAndSet(false, true)) {
            Departing next;
            do {
                next = first.get();
                lane.nextDeparture = next;
            } while (!first.compareAndSet(next, lane));
        }
        return poller != null || (armed && !unsent && operations.isOutstanding(promptBefore));
    }

    /** A thread polls, and sends what was left. Poll role. */
    void poll(long nowNs) {
        polledNs = nowNs;
        Thread current = Thread.currentThread();
        if (poller != current) {
            poller = current;
        }
        send();
    }

    /** Sends what was left since {@link #poll}. Poll role. */
    void send() {
        for (Departing lane = take(); lane != null; lane = take()) {
            // Before the lane sends: a frame that it does not send then enters the lane again.
            lane.departs.set(false);
            lane.depart();
        }
    }

    /** One at a time: an error while a lane sends loses no other lane. Only the poll role takes, so no lane returns here. */
    private @Nullable Departing take() {
        Departing lane = first.get();
        while (lane != null && !first.compareAndSet(lane, lane.nextDeparture)) {
            lane = first.get();
        }
        return lane;
    }

    /** Whether an answer of a peer wakes the standby thread. Poll role; after {@link #stop}. */
    void armed(boolean nowArmed) {
        armed = nowArmed;
    }

    /** The thread stops polling. Poll role. */
    void stop() {
        poller = null;
        send();
    }
}
