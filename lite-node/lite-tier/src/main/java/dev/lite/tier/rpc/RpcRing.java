package dev.lite.tier.rpc;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.tier.peer.BusyPause;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.Poster;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The server's side of a ring in its arena. One calling node writes calls of one function as one principal into it. The
 * server consumes entries in any order; the head advances over consumed ones. Once the head has moved by a quarter of
 * the ring, or by {@value #REPORT_BYTES_MAX} bytes, the server reports it to the caller with a plain one-sided write, not with a message per call.
 */
final class RpcRing {
    /** Room before the ring: the source of the write that reports the head to the caller. */
    static final int PREFIX_BYTES = RpcWire.UNIT_BYTES;

    /** What callers do not know to be free counts as taken: for long requests, it must be a small part of a large ring. */
    private static final int REPORT_BYTES_MAX = 16 << 10;

    /** The pause before the head is reported again if no thread could be started for that. */
    private static final long AGAIN_NS = 10_000_000;

    private static final Logger log = LoggerFactory.getLogger(RpcRing.class);

    final Peer peer;
    final int id;
    final RpcFunction function;
    final String principal;
    /** Offset of the prefix in the arena. */
    final long offset;
    /** Size without the prefix. */
    final int bytes;
    /** The slots for replies to its calls. */
    final RpcSlotShare replies;
    /** The connection's received and unanswered calls, by the caller's slot. */
    final AtomicReferenceArray<@Nullable ReceivedCall> received;

    private final Executor later;
    private final long prefix;
    private final long callerHeadOffset;
    private final long generation;
    private final int units;
    private final int reportBytes;
    private final @Nullable RpcEntry[] entries;

    @GuardedBy("this")
    private final short[] consumed; // length in units of the consumed entry or padding at each unit

    @GuardedBy("this")
    private long head;

    @GuardedBy("this")
    private long reported;

    @GuardedBy("this")
    private boolean reporting;

    @GuardedBy("this")
    private boolean dead;

    /**
     * @param offset arena offset of the prefix and the ring
     * @param bytes size of the ring
     * @param callerHeadOffset offset of the head word in the caller's arena
     * @param later runs tasks that may block
     */
    RpcRing(
            Peer peer,
            int id,
            RpcFunction function,
            String principal,
            RpcSlotShare replies,
            AtomicReferenceArray<@Nullable ReceivedCall> received,
            long arenaAddress,
            long offset,
            int bytes,
            long callerHeadOffset,
            int generation,
            Executor later) {
        this.later = later;
        this.peer = peer;
        this.id = id;
        this.function = function;
        this.principal = principal;
        this.replies = replies;
        this.received = received;
        this.offset = offset;
        this.bytes = bytes;
        this.units = bytes / RpcWire.UNIT_BYTES;
        this.reportBytes = Math.min(bytes / 4, REPORT_BYTES_MAX);
        this.entries = new @Nullable RpcEntry[units];
        this.consumed = new short[units];
        this.head = RpcWire.firstPosition(bytes);
        this.reported = head;
        this.prefix = arenaAddress + offset;
        this.callerHeadOffset = callerHeadOffset;
        this.generation = (long) generation << RpcWire.GENERATION_SHIFT;
    }

    /** This ring, into which nobody has written, for a later request of the same binding. */
    RpcRing again(long headOffset, int newGeneration) {
        return new RpcRing(
                peer,
                id,
                function,
                principal,
                replies,
                received,
                prefix - offset,
                offset,
                bytes,
                headOffset,
                newGeneration,
                later);
    }

    /** Whether it was made before a request with this generation, and nobody has written into it. Generations wrap. */
    synchronized boolean isOfEarlier(int newGeneration) {
        short later16 = (short) (newGeneration - (int) (generation >>> RpcWire.GENERATION_SHIFT));
        return later16 > 0
                && head == RpcWire.firstPosition(bytes)
                && Arrays.stream(entries).allMatch(Objects::isNull);
    }

    /** The entry at a place that the caller named. Runs on the thread that holds the poll role. */
    RpcEntry entryAt(int place) {
        int unit = place / RpcWire.UNIT_BYTES;
        RpcEntry entry = entries[unit];
        if (entry == null) {
            entry = new RpcEntry(this, null, place);
            entries[unit] = entry;
        }
        return entry;
    }

    /** The address of a place. Read it only under this ring's lock and while the ring {@link #isAlive}. */
    long address(int place) {
        return prefix + PREFIX_BYTES + place;
    }

    /** Cancels a call that nobody has received. Called with the function's lock, while the call is queued. */
    synchronized boolean cancel(int place, int slot, long callId) {
        long word = address(place) + RpcWire.PADDING_AND_FLAGS;
        if (dead
                || RawMemory.getLong(address(place) + RpcWire.CALL_ID) != callId
                || RawMemory.getInt(address(place) + RpcWire.SLOT) != slot) {
            return false;
        }
        RawMemory.putInt(word, RawMemory.getInt(word) | RpcWire.FLAG_CANCELLED);
        return true;
    }

    /** Whether the ring's connection is up. Called under the lock. */
    @GuardedBy("this")
    boolean isAlive() {
        return !dead;
    }

    /** Marks the ring dead after its connection was lost. Its memory may be reused from now on. */
    synchronized void die() {
        dead = true;
    }

    /**
     * Returns the room of a copied entry to the caller. Called under the lock.
     *
     * @param padding units before the entry
     * @param entryBytes size of the entry, a multiple of a unit
     */
    @GuardedBy("this")
    void consume(int place, int padding, int entryBytes) {
        int unit = place / RpcWire.UNIT_BYTES;
        if (padding > 0) {
            consumed[units - padding] = (short) padding;
        }
        consumed[unit] = (short) (entryBytes / RpcWire.UNIT_BYTES);
        for (int at = (int) (head / RpcWire.UNIT_BYTES) & (units - 1); consumed[at] != 0; ) {
            int free = consumed[at];
            consumed[at] = 0;
            head += (long) free * RpcWire.UNIT_BYTES;
            at = (at + free) & (units - 1);
        }
        report();
    }

    /** Whether an entry with this padding and size can be at this place. */
    boolean isPossible(int place, int padding, int entryBytes) {
        return entryBytes <= bytes - place && padding < units && (padding == 0 || place == 0);
    }

    /**
     * Posts at most one write at a time, because all are sent from the same word. Does not throw: the entry was
     * consumed, and its call must be served.
     */
    @GuardedBy("this")
    private void report() {
        if (reporting || head - reported < reportBytes) {
            return;
        }
        Post post;
        try {
            post = postHead();
        } catch (RuntimeException | Error e) { // for example no memory
            Unrecoverable.report(e);
            reporting = true;
            reportAtTimer();
            return;
        }
        if (post == Post.BUSY) {
            // No later call may trigger the retry: a caller that waits for room sends nothing.
            reporting = true;
            reportLater();
        }
    }

    /** Likewise. */
    @GuardedBy("this")
    private void reportLater() {
        try {
            later.execute(this::reportUntilAccepted);
        } catch (RuntimeException | Error e) { // no memory for a thread
            Unrecoverable.report(e);
            log.warn(
                    "no thread for the room in a ring of node {}; trying again",
                    peer.hello().node(),
                    e);
            reportAtTimer();
        }
    }

    @GuardedBy("this")
    private void reportAtTimer() {
        try {
            CompletableFuture.delayedExecutor(AGAIN_NS, TimeUnit.NANOSECONDS, Runnable::run)
                    .execute(this::headWritten); // never blocks
        } catch (RuntimeException | Error e) { // nor for a timer: the next entry that is consumed makes up for it
            reporting = false;
            Unrecoverable.report(e);
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

    /** Retries until the write is accepted or the connection ends. Runs on a virtual thread. */
    private void reportUntilAccepted() {
        try {
            BusyPause busy = new BusyPause();
            while (isBusyReporting()) {
                busy.pause();
            }
        } catch (RuntimeException | Error e) { // for example no memory
            Unrecoverable.report(e);
            synchronized (this) {
                reporting = true;
                reportAtTimer();
            }
        }
    }

    private synchronized boolean isBusyReporting() {
        if (dead || postHead() != Post.BUSY) {
            return false;
        }
        reporting = true;
        return true;
    }

    /** Handles the completion of the head's write, or tries again. */
    synchronized void headWritten() {
        reporting = false;
        if (!dead) {
            report();
        }
    }
}
