package dev.lite.tier.onesided;

import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.Operation;
import dev.lite.tier.peer.Peer;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Objects;

/**
 * A transfer of more bytes than one bounce buffer holds, over one connection. It posts pieces of several adjacent buffers: over TCP,
 * each piece costs a frame, an acknowledgement, and mostly a wake-up of the other side.
 *
 * <p>The thread holds the poll role from its first post until it waits, if the role is free. Otherwise the first acknowledgement
 * would wake the standby thread, to which the other pieces would be left: a third thread on the two processors of two nodes.
 *
 * <p>One thread.
 */
final class LongTransfer {
    /** One mebibyte is in flight at most: a caller blocks once for all of it, not once for each piece. */
    private static final int BUFFERS_MAX = 16;

    /** The other side receives one piece while this side copies the next. */
    private static final int PARTS_OF_WRITE = 2;
    /** This side copies one piece while the other one sends the next. More, since this begins only when the first has come. */
    private static final int PARTS_OF_READ = 4;

    private final PostedMemory memory;
    private final BounceBuffers buffers;
    private final Peer peer;
    private final Operation operation;
    private final long offset;
    private final MemorySegment local;
    private final long localOffset;
    private final long length;
    private final Deadline deadline;
    private final int pieceBuffers;

    /** The first buffers of the pieces in flight, in the order of their posts. */
    private final ArrayDeque<BounceBuffer> window = new ArrayDeque<>(BUFFERS_MAX);

    private int buffersInFlight;
    private long posted;
    private long done;
    private boolean holdsRole;

    /**
     * @param offset in the peer's arena
     * @param local the caller's memory, from {@code localOffset} on
     * @param length in bytes
     */
    LongTransfer(
            PostedMemory memory,
            BounceBuffers buffers,
            Peer peer,
            Operation operation,
            long offset,
            MemorySegment local,
            long localOffset,
            long length,
            Deadline deadline) {
        this.memory = memory;
        this.buffers = buffers;
        this.peer = peer;
        this.operation = operation;
        this.offset = offset;
        this.local = local;
        this.localOffset = localOffset;
        this.length = length;
        this.deadline = deadline;
        int parts = operation == Operation.READ ? PARTS_OF_READ : PARTS_OF_WRITE;
        this.pieceBuffers = Math.min(BUFFERS_MAX / parts, buffersFor(Math.ceilDiv(length, parts)));
    }

    private static int buffersFor(long bytes) {
        return (int) Math.min(BUFFERS_MAX, Math.ceilDiv(bytes, PostedMemory.BUFFER_BYTES));
    }

    /** Returns after the transfer; throws if it failed or the deadline passed. The memory is not used any more then. */
    void run() {
        try {
            while (done < length) {
                boolean more = true;
                while (more && posted < length && buffersInFlight < BUFFERS_MAX) {
                    more = postPiece();
                }
                endOldest();
            }
        } finally {
            if (holdsRole) {
                peer.pollRole().release();
            }
            window.forEach(buffers::abandon);
        }
    }

    /** Posts a piece; returns false if no buffer is free. */
    private boolean postPiece() {
        boolean first = window.isEmpty();
        // Waits only while it holds none, nor the role: waiting while holding some could deadlock.
        BounceBuffer buffer = first ? buffers.take(operation, peer.hello().node(), deadline) : buffers.takeIfFree();
        if (buffer == null) {
            return false;
        }
        window.add(buffer);
        int most = Math.min(buffersFor(length - posted), BUFFERS_MAX - buffersInFlight);
        buffersInFlight += buffers.extend(buffer, Math.min(pieceBuffers, most));
        long bytes = Math.min(bytes(buffer), length - posted);
        if (operation == Operation.WRITE) {
            RawMemory.copyFrom(local, localOffset + posted, buffer.address, bytes);
        }
        if (first) {
            holdsRole = peer.pollRole().take();
        }
        boolean held = holdsRole;
        holdsRole = false; // if it throws, it releases the role
        holdsRole = memory.post(peer, buffer, operation, offset + posted, bytes, 0, 0, deadline, held);
        posted += bytes;
        if (holdsRole && posted < length && peer.pollRole().pollOnce() < 0) {
            holdsRole = false;
            peer.pollRole().release();
        }
        return true;
    }

    /** Waits for the oldest piece. */
    private void endOldest() {
        BounceBuffer oldest = Objects.requireNonNull(window.peek());
        boolean held = holdsRole;
        holdsRole = false; // await releases it
        memory.await(oldest, peer, operation, deadline, held);
        long bytes = Math.min(bytes(oldest), length - done);
        if (operation == Operation.READ) {
            RawMemory.copyTo(oldest.address, local, localOffset + done, bytes);
        }
        window.remove();
        buffersInFlight -= 1 + oldest.followers;
        buffers.release(oldest);
        done += bytes;
    }

    private static long bytes(BounceBuffer first) {
        return (1L + first.followers) * PostedMemory.BUFFER_BYTES;
    }
}
