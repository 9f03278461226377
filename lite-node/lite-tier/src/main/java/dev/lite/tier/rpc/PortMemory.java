package dev.lite.tier.rpc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.tier.FairShares;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Bounds the memory of the messages that wait at this node's ports, for each principal that owns ports and for all of them. Any thread.
 *
 * <p>A principal's ports queue up to {@value #QUEUED_BYTES_MAX} bytes; beyond that, a message waits without an answer until its port
 * is empty or others were received. Each port holds one such message at most. A principal whose ports hold twice as much, or as much
 * as they leave of the node's bound to other principals, refuses further messages.
 */
final class PortMemory {
    /** A full port: 256 messages of 64 KiB. */
    static final long QUEUED_BYTES_MAX = 16L << 20;

    private static final long HELD_BYTES_MAX = 2 * QUEUED_BYTES_MAX;
    /** Of a message: its object and those that refer to it. */
    private static final long OVERHEAD_BYTES = 128;

    private final long bytesMax;

    @GuardedBy("this")
    private final Map<String, Held> byPrincipal = new HashMap<>();

    @GuardedBy("this")
    private long held;

    private static final class Held {
        long all;
        long queued;
        /** What wakes the ports that wait for room in their queues. */
        final Set<Runnable> waiting = new LinkedHashSet<>();
    }

    /** @param bytesMax the bound of all principals' messages */
    PortMemory(long bytesMax) {
        this.bytesMax = bytesMax;
    }

    /** What a message of this length takes. */
    static long bytes(byte[] message) {
        return message.length + OVERHEAD_BYTES;
    }

    /** A message has arrived. Returns whether there is memory for it; then {@link #leave} must follow. */
    synchronized boolean enter(String principal, long bytes) {
        Held its = byPrincipal.computeIfAbsent(principal, any -> new Held());
        boolean room = its.all + bytes <= HELD_BYTES_MAX && FairShares.allows(its.all, held + bytes, bytesMax);
        if (room) {
            its.all += bytes;
            held += bytes;
        }
        forgetIfUnused(principal, its);
        return room;
    }

    /**
     * Queues a message that has {@linkplain #enter entered}.
     *
     * @param alone whether its port is empty
     * @param whenRoom runs once there may be room, if there is none now; must not block
     * @return whether it may be queued; then {@link #unqueued} must follow
     */
    synchronized boolean tryQueue(String principal, long bytes, boolean alone, Runnable whenRoom) {
        Held its = byPrincipal.get(principal);
        if (its == null) {
            throw new IllegalStateException("the message of %s has not entered".formatted(principal));
        }
        if (!alone && its.queued + bytes > QUEUED_BYTES_MAX) {
            its.waiting.add(whenRoom);
            return false;
        }
        its.queued += bytes;
        return true;
    }

    /** Messages are in no queue any more, and need no memory. The caller holds no lock of a port. */
    void unqueued(String principal, long bytes) {
        List<Runnable> woken;
        synchronized (this) {
            Held its = byPrincipal.get(principal);
            if (its == null) {
                return;
            }
            its.queued -= bytes;
            woken = List.copyOf(its.waiting);
            its.waiting.clear();
            leave(principal, bytes);
        }
        woken.forEach(Runnable::run);
    }

    /** A message that was never queued needs no memory any more. */
    synchronized void leave(String principal, long bytes) {
        Held its = byPrincipal.get(principal);
        if (its != null) {
            its.all -= bytes;
            held -= bytes;
            forgetIfUnused(principal, its);
        }
    }

    @GuardedBy("this")
    private void forgetIfUnused(String principal, Held its) {
        if (its.all == 0) {
            byPrincipal.remove(principal);
        }
    }

    /** The memory of all messages now, in bytes. */
    synchronized long held() {
        return held;
    }
}
