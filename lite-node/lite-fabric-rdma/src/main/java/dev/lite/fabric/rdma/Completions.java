package dev.lite.fabric.rdma;

import dev.lite.fabric.rdma.verbs.Completion;
import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.fabric.rdma.verbs.VerbsException;
import dev.lite.os.RawMemory;
import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The completion queue of a node, for all its lanes and both directions. The poll role takes completions from it. A
 * thread that closes an endpoint also takes completions and keeps them for the poll role, in order. A thread that finds
 * another one taking continues without taking: the guard is a flag, not a lock.
 */
final class Completions {
    /** Maximum number of completions taken at a time. */
    static final int BATCH = 32;

    private static final VarHandle TAKING;

    static {
        try {
            TAKING = MethodHandles.lookup().findVarHandle(Completions.class, "taking", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final Verbs verbs;
    private final long queue;
    private final int entries;
    private final Lanes lanes;

    @SuppressWarnings("unused") // by TAKING
    private boolean taking;

    // The thread that is taking.
    private @Nullable Arena arena;
    /** Room for a full queue, allocated when a closing thread first needs it. */
    private long kept;

    private int keptHead;
    private int keptTail;

    Completions(Verbs verbs, long queue, int entries, Lanes lanes) {
        this.verbs = verbs;
        this.queue = queue;
        this.entries = entries;
        this.lanes = lanes;
    }

    /**
     * Takes the next completions. Poll role.
     *
     * @param place room for {@value #BATCH} completions
     * @return the number taken; -1 if another thread is taking now
     */
    int take(long place) {
        if (!TAKING.compareAndSet(this, false, true)) {
            return -1;
        }
        try {
            int count;
            if (keptHead == keptTail) {
                count = verbs.poll(queue, BATCH, place);
                note(place, count);
            } else {
                count = Math.min(BATCH, keptTail - keptHead);
                RawMemory.copy(kept + (long) keptHead * Completion.BYTES, place, (long) count * Completion.BYTES);
                keptHead += count;
                if (keptHead == keptTail) {
                    keptHead = 0;
                    keptTail = 0;
                }
            }
            return count;
        } finally {
            TAKING.setRelease(this, false);
        }
    }

    /** Takes the available completions and keeps them for the poll role; none if the device fails. Any thread. */
    void keep() {
        if (!TAKING.compareAndSet(this, false, true)) {
            return;
        }
        try {
            if (arena == null) {
                Arena room = Arena.ofAuto();
                kept = room.allocate((long) entries * Completion.BYTES, Long.BYTES)
                        .address();
                arena = room; // last: there may be no memory
            }
            int left = Math.min(BATCH, entries - keptTail);
            while (left > 0) {
                long place = kept + (long) keptTail * Completion.BYTES;
                int count = verbs.poll(queue, left, place);
                note(place, count);
                keptTail += count;
                left = count < left ? 0 : Math.min(BATCH, entries - keptTail);
            }
        } catch (VerbsException e) {
            return; // the poll role meets the same failure and reports it; the caller continues to close
        } finally {
            TAKING.setRelease(this, false);
        }
    }

    /** After the return, no thread takes from the queue any more. Waits briefly for a thread that is taking. */
    void close() {
        while (!TAKING.compareAndSet(this, false, true)) {
            Thread.onSpinWait();
        }
    }

    /** Counts taken completions per lane, so that a close knows which requests are outstanding. */
    private void note(long place, int count) {
        for (int i = 0; i < count; i++) {
            long completion = place + (long) i * Completion.BYTES;
            long id = Completion.id(completion);
            var lane = lanes.of(Completion.tag(id));
            if (lane == null) {
                continue;
            }
            if (!Completion.isReceive(id)) {
                lane.ended();
            } else if (Completion.isSuccess(Completion.status(completion)) && !Completion.hasImmediate(completion)) {
                var mailbox = lane.mailbox();
                if (mailbox != null && Completion.count(id) >= RdmaLane.HANDSHAKE_RECEIVES) {
                    mailbox.arrived(Completion.count(id));
                }
            }
        }
    }
}
