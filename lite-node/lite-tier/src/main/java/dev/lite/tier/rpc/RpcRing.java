package dev.lite.tier.rpc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.Poster;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The server's side of a ring in its arena: one calling node writes into it, calls of one function as one principal. Entries
 * are consumed in any order; the head moves over those that are. The caller learns of the head by a plain one-sided
 * write, when it has moved by a quarter of the ring: not by a message for each call.
 */
final class RpcRing {
    /** Room before the ring, from which the head is written to the caller. */
    static final int PREFIX_BYTES = RpcWire.UNIT_BYTES;

    private static final int UNITS = RpcWire.RING_BYTES / RpcWire.UNIT_BYTES;
    private static final int REPORT_BYTES = RpcWire.RING_BYTES / 4;
    private static final long PAUSE_NS = 20_000;

    final Peer peer;
    final int id;
    final RpcFunction function;
    final String principal;
    /** Offset of the prefix in the arena. */
    final long offset;

    private final Executor later;
    private final long prefix;
    private final long callerHeadOffset;
    private final long generation;
    private final @Nullable RpcEntry[] entries = new @Nullable RpcEntry[UNITS];

    @GuardedBy("this")
    private final short[] consumed = new short[UNITS]; // units of the consumed entry, or padding, that begins there

    @GuardedBy("this")
    private long head;

    @GuardedBy("this")
    private long reported;

    @GuardedBy("this")
    private boolean reporting;

    @GuardedBy("this")
    private boolean dead;

    /**
     * @param offset of {@link #PREFIX_BYTES} + {@link RpcWire#RING_BYTES} bytes in the arena
     * @param callerHeadOffset where the head is written in the caller's arena
     * @param later runs what may have to wait
     */
    RpcRing(
            Peer peer,
            int id,
            RpcFunction function,
            String principal,
            long arenaAddress,
            long offset,
            long callerHeadOffset,
            int generation,
            Executor later) {
        this.later = later;
        this.peer = peer;
        this.id = id;
        this.function = function;
        this.principal = principal;
        this.offset = offset;
        this.prefix = arenaAddress + offset;
        this.callerHeadOffset = callerHeadOffset;
        this.generation = (long) generation << RpcWire.GENERATION_SHIFT;
    }

    /** The entry at a place that the caller named. The thread that has the poll role. */
    RpcEntry entryAt(int place) {
        int unit = place / RpcWire.UNIT_BYTES;
        RpcEntry entry = entries[unit];
        if (entry == null) {
            entry = new RpcEntry(this, null, place);
            entries[unit] = entry;
        }
        return entry;
    }

    /** The address of a place; to be read under this ring's lock, and only while it {@link #isAlive}. */
    long address(int place) {
        return prefix + PREFIX_BYTES + place;
    }

    /** Whether the connection that it belongs to is up. Under the lock. */
    @GuardedBy("this")
    boolean isAlive() {
        return !dead;
    }

    /** Its connection is gone: its memory may be reused from now on. */
    synchronized void die() {
        dead = true;
    }

    /**
     * The entry was copied out; its room is the caller's again. Under the lock.
     *
     * @param padding units before it
     * @param bytes of the entry, a multiple of a unit
     */
    @GuardedBy("this")
    void consume(int place, int padding, int bytes) {
        int unit = place / RpcWire.UNIT_BYTES;
        if (padding > 0) {
            consumed[UNITS - padding] = (short) padding;
        }
        consumed[unit] = (short) (bytes / RpcWire.UNIT_BYTES);
        for (int at = (int) (head / RpcWire.UNIT_BYTES) & (UNITS - 1); consumed[at] != 0; ) {
            int units = consumed[at];
            consumed[at] = 0;
            head += (long) units * RpcWire.UNIT_BYTES;
            at = (at + units) & (UNITS - 1);
        }
        report();
    }

    /** Whether an entry of this form can be at this place. */
    static boolean isPossible(int place, int padding, int bytes) {
        return bytes <= RpcWire.RING_BYTES - place && padding < UNITS && (padding == 0 || place == 0);
    }

    /** At most one write at a time, since it is sent from one word. */
    @GuardedBy("this")
    private void report() {
        if (reporting || head - reported < REPORT_BYTES) {
            return;
        }
        Post post = postHead();
        if (post == Post.BUSY) {
            // Nobody else may come to do it: a caller that waits for room sends nothing.
            reporting = true;
            later.execute(this::reportUntilAccepted);
        }
    }

    @GuardedBy("this")
    private Post postHead() {
        long to = head;
        RawMemory.putLongRelease(prefix, generation | (to & RpcWire.POSITION_MASK));
        long context = Poster.RING_HEAD.context(((long) peer.id() << Integer.SIZE) | id);
        Post post = peer.endpoint().write(callerHeadOffset, prefix, Long.BYTES, context);
        if (post == Post.DONE || post == Post.ACCEPTED) {
            reported = to;
        }
        reporting = post == Post.ACCEPTED;
        return post;
    }

    /** Until the head is taken or the connection ends. A virtual thread. */
    private void reportUntilAccepted() {
        while (isBusyReporting()) {
            Polling.sleepNs(PAUSE_NS);
        }
    }

    private synchronized boolean isBusyReporting() {
        if (dead || postHead() != Post.BUSY) {
            return false;
        }
        reporting = true;
        return true;
    }

    /** The write of the head ended. */
    synchronized void headWritten() {
        reporting = false;
        if (!dead) {
            report();
        }
    }
}
