package dev.lite.fabric.tcp;

import dev.lite.fabric.Post;
import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.wire.Wire;
import dev.lite.os.wire.WireException;
import java.lang.foreign.Arena;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The sending half of a lane: queued frames and outstanding operations.
 *
 * <p>Any thread queues frames, under a lock that is held only for that. If no other thread is sending, it then sends
 * all queued frames, its own and others', without the lock: one gathered write takes them all. A post may also leave
 * its frame to the next poll, see {@link Departures}. The poll role queues the answers to all requests of a receive
 * and then sends them together. If the socket is full, the poll role continues once there is room. It also continues
 * in its next poll for a thread, also for itself, that has sent many bytes or made many writes: others may queue
 * frames as fast as that one sends them. Small payloads are copied into the queue, so that no 8-byte word is sent half
 * old and half new. Larger ones are sent from their place: the registered memory, or the poster's memory, which the
 * driver owns until the post completes.
 *
 * <p>Limits: at most {@link Operations#MAX} outstanding operations per direction. So at most as many operations and
 * as many answers are queued, plus one acknowledgement and one ping: {@value #FRAMES_MAX} places of
 * {@value #PLACE_BYTES} bytes suffice. A peer that exceeds the limit is disconnected, and one that acknowledges a payload which it
 * has not got: the poster may then change or release that memory.
 */
final class Outbound {
    /** Places for frames; more than twice {@link Operations#MAX}. */
    static final int FRAMES_MAX = 1024;
    /** Bytes of a place: a header and a small payload. */
    static final int PLACE_BYTES = 256;

    /** Longest payload that is copied into the queue. */
    static final int INLINE_MAX = PLACE_BYTES - Frame.HEADER_BYTES;

    private static final int FRAME_MASK = FRAMES_MAX - 1;
    /** A frame takes up to three ranges. */
    private static final int RANGES_MAX = 256;

    private static final int RANGES_OF_FRAME = 3;
    private static final int RANGE_BYTES = 16;
    /** The lock is held for less than a microsecond, and a thread that parks for it is late by a wake-up. */
    private static final int LOCK_SPINS = 100;

    /**
     * A write has up to so many bytes, or twice as many if a long payload ends it, and no thread continues after as
     * many: other lanes wait while the poll role sends. Enough to fill a socket.
     */
    static final long BATCH_BYTES = 1 << 20;

    /** A thread makes so many writes in a row; then it leaves the rest to the next poll, if one will follow soon. */
    static final int WRITES_MAX = 32;

    /** Notified when frames are left, because the socket is full for example, or the connection broke. */
    interface Trouble {
        /**
         * Whether {@link #writable} must be called when the socket has room: it is full, or a thread has sent
         * enough at once. Called under the lock.
         */
        void full(boolean full);

        /** The connection is no longer usable. */
        void broken(String reason);

        /**
         * Whether a posting thread is to {@link #leave} its frame.
         *
         * @param promptBefore {@link Operations#promptPosted()} before the post
         */
        boolean isPolled(int promptBefore);

        /**
         * Leaves the queued frames to the next poll; false if it may not follow.
         *
         * @param soon whether the posting thread itself will post or poll soon
         */
        boolean leave(int promptBefore, boolean soon);
    }

    /** The outstanding operations. */
    final Operations operations = new Operations();

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition sent = lock.newCondition();
    private final Wire wire;
    private final Trouble trouble;
    private final long places;
    private final long zeroes;
    private final long ranges;

    // Guarded by the lock. Counters only grow; places are counters modulo the size.
    private final long[] payloadAddress = new long[FRAMES_MAX];
    private final int[] payloadBytes = new int[FRAMES_MAX];
    private final int[] placeBytes = new int[FRAMES_MAX];
    private int frameHead;
    private int frameTail;
    /** Written under the lock. */
    private volatile boolean sending;
    /** Whether the rest is left to {@link #writable}. Also written under the lock. */
    private volatile boolean full;

    /** Whether {@link Trouble#full} was called for this. Stays set while the poll role tries again: the call is a system call. */
    private boolean fullReported;

    private boolean closed;
    private boolean acknowledgementQueued;
    /** Another acknowledgement was requested while one was queued. */
    private boolean acknowledgementWanted;

    private int acknowledgementPlace;
    /** Written under the lock, too. */
    private volatile int acknowledgedSent;

    /** Number of operations whose frames are sent, modulo 2^32. Written under the lock. */
    private volatile int operationsSent;

    /** Sent bytes of the head frame. Used by the sending thread. */
    private long headSent;

    /** Number of the peer's operations that are done. Written by the poll role. */
    private volatile int done;

    /** Whether answers are queued that {@link #sendAnswers} has not sent. Used by the poll role. */
    private boolean answers;

    /**
     * @param memory for the buffers; must outlive this object
     */
    Outbound(Wire wire, Trouble trouble, Arena memory) {
        this.wire = wire;
        this.trouble = trouble;
        places = memory.allocate((long) FRAMES_MAX * PLACE_BYTES, PLACE_BYTES).address();
        zeroes = memory.allocate(Frame.ALIGNMENT, Frame.ALIGNMENT).address();
        ranges = memory.allocate((long) RANGES_MAX * RANGE_BYTES, RANGE_BYTES).address();
    }

    private void lock() {
        for (int spins = 0; spins < LOCK_SPINS; spins++) {
            if (lock.tryLock()) {
                return;
            }
            Thread.onSpinWait();
        }
        lock.lock();
    }

    /**
     * Queues an operation, and sends it unless another thread is sending or polls. Any thread.
     *
     * @param soon whether this thread will post or poll soon, so that this frame may wait for that
     */
    Post post(
            int kind,
            long offset,
            long local,
            int length,
            int number,
            long first,
            long second,
            long context,
            boolean soon) {
        int promptBefore = operations.promptPosted();
        boolean leave = soon || trouble.isPolled(promptBefore);
        boolean send = false;
        lock();
        try {
            if (closed) {
                return Post.CLOSED;
            }
            if (operations.isFull() || frameTail - frameHead >= FRAMES_MAX - 2) {
                return Post.BUSY; // with room for another operation only if the peer acknowledges what it has not got
            }
            // First the frame: if that fails, no operation waits for the answer to another one.
            enter(kind, length, number, offset, first, second, local);
            operations.add(kind, local, length, context);
            if (sending || full) {
                leave = false;
            } else if (!leave) {
                sending = true;
                send = true;
            }
        } finally {
            lock.unlock();
        }
        if (send) {
            drain();
        } else if (leave && !trouble.leave(promptBefore, soon)) {
            send();
        }
        return Post.ACCEPTED;
    }

    /** Sends the queued frames, unless another thread does or the socket is full. Any thread. */
    void send() {
        if (beginSending()) {
            drain();
        }
    }

    /** Whether a thread sends at this moment. Any thread. */
    boolean isSending() {
        return sending;
    }

    private boolean beginSending() {
        lock();
        try {
            return !closed && frameHead != frameTail && startSending();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Answers the peer's next operation and counts it as done; {@link #sendAnswers} must follow. Poll role; false if the
     * peer exceeded the limit.
     */
    boolean answer(int kind, int length, long first, long payload) {
        lock();
        try {
            if (closed) {
                return true;
            }
            if (frameTail - frameHead >= FRAMES_MAX - Operations.MAX - 2) {
                return false;
            }
            int number = done;
            enter(kind, length, number, 0, first, 0, payload);
            done = number + 1;
            // The answer acknowledges the operation.
            acknowledgedSent = number + 1;
            answers = true;
        } finally {
            lock.unlock();
        }
        return true;
    }

    /** Sends the queued answers. Poll role, before it receives more and before its turn ends. */
    void sendAnswers() {
        if (answers) {
            answers = false;
            send();
        }
    }

    /** Counts the peer's next operation as done; the next frame of any kind acknowledges it. Poll role. */
    void countDone() {
        int before = done;
        // Only the poll role writes it.
        done = before + 1;
    }

    /** Whether an operation is done that no frame has acknowledged yet. Any thread. */
    boolean owesAcknowledgement() {
        return done != acknowledgedSent;
    }

    /** Number of the peer's operations that frames have acknowledged, modulo 2^32. Any thread. */
    int acknowledgedSent() {
        return acknowledgedSent;
    }

    /** Acknowledges completed operations, unless a frame already has. Any thread. */
    void acknowledge(boolean always) {
        boolean send;
        lock();
        try {
            if (closed || (!always && done == acknowledgedSent)) {
                return;
            }
            if (acknowledgementQueued) {
                acknowledgementWanted = true;
                return;
            }
            enterAcknowledgement();
            send = startSending();
        } finally {
            lock.unlock();
        }
        if (send) {
            drain();
        }
    }

    /** Asks the peer for an acknowledgement as proof that it is alive. */
    void ping() {
        boolean send;
        lock();
        try {
            if (closed || frameTail != frameHead) {
                // The queued frames already require an answer of the peer.
                return;
            }
            enter(Frame.PING, 0, 0, 0, 0, 0, 0);
            send = startSending();
        } finally {
            lock.unlock();
        }
        if (send) {
            drain();
        }
    }

    /**
     * Whether an operation's frame is sent, so that its payload is no longer used; false while a thread is sending, which may not have
     * counted yet what the peer has already got. Poll role.
     *
     * @throws WireException if the peer cannot have got it
     */
    boolean isSent(int number) {
        if (operationsSent - number > 0) {
            return true;
        }
        lock();
        try {
            if (operationsSent - number > 0) {
                return true;
            }
            if (!sending) {
                throw new WireException("it ended operation %d before it had got its payload".formatted(number));
            }
            return false;
        } finally {
            lock.unlock();
        }
    }

    private void enterAcknowledgement() {
        int place = frameTail;
        enter(Frame.ACKNOWLEDGEMENT, 0, 0, 0, 0, 0, 0);
        acknowledgementWanted = false;
        acknowledgementQueued = true;
        acknowledgementPlace = place;
    }

    /** Queues a frame. If it fails, nothing has changed. */
    private void enter(int kind, int length, int number, long offset, long first, long second, long payload) {
        int place = frameTail & FRAME_MASK;
        long header = places + (long) place * PLACE_BYTES;
        int acknowledged = done;
        Frame.encode(header, kind, acknowledged, length, number, offset, first, second);
        int bytes = Frame.payload(kind, length);
        if (bytes <= INLINE_MAX) {
            RawMemory.copy(payload, header + Frame.HEADER_BYTES, bytes);
            placeBytes[place] = Frame.HEADER_BYTES + bytes + Frame.padding(bytes);
            payloadBytes[place] = 0;
        } else {
            placeBytes[place] = Frame.HEADER_BYTES;
            payloadBytes[place] = bytes;
            payloadAddress[place] = payload;
        }
        acknowledgedSent = acknowledged;
        frameTail++;
    }

    private boolean startSending() {
        if (sending || full) {
            return false;
        }
        sending = true;
        return true;
    }

    /** The socket may have room. Poll role. */
    void writable() {
        if (!full) {
            return;
        }
        lock();
        try {
            if (!full || sending || closed) {
                return;
            }
            full = false;
            sending = true;
        } finally {
            lock.unlock();
        }
        drain();
    }

    /** Sends the queued frames. The caller has set {@link #sending}; this method clears it, also after an error. */
    private void drain() {
        while (!sendQueued(BATCH_BYTES) && !trouble.leave(operations.ended(), false) && beginSending()) {
            // The poll that was to follow may not.
        }
    }

    /**
     * Sends until the socket is full, or it has sent {@code most} bytes.
     *
     * @return false if it has cleared {@link #sending} to leave the rest to the next poll
     */
    private boolean sendQueued(long most) {
        try {
            long taken = 0;
            long asked = 0;
            long all = 0;
            for (int writes = 0; ; writes++) {
                int count;
                lock();
                try {
                    advance(taken);
                    all += taken;
                    if (closed || frameHead == frameTail) {
                        tellFull(false);
                        stopSending();
                        return true;
                    }
                    if (taken < asked || all >= most) {
                        full = true;
                        tellFull(true);
                        stopSending();
                        return true;
                    }
                    // As if no operation were outstanding: the answers to those that are queued do not come before.
                    if (writes >= WRITES_MAX && trouble.isPolled(operations.ended())) {
                        stopSending();
                        return false;
                    }
                    count = gather();
                } finally {
                    lock.unlock();
                }
                asked = asked(count);
                taken = count == 1 ? wire.send(RawMemory.getLong(ranges), asked) : wire.sendVector(ranges, count);
            }
        } catch (RuntimeException | Error e) {
            // Also a defect, of the wire for example: the posts are accepted, so they must end, and no thread may wait.
            fail(e);
            return true;
        }
    }

    /** Ends the connection. Nothing more is sent: the peer may have got a part of a frame. */
    private void fail(Throwable error) {
        boolean expected = error instanceof OsException || error instanceof WireException;
        try {
            trouble.broken(String.valueOf(expected ? error.getMessage() : error));
        } finally {
            lock();
            try {
                closed = true;
                stopSending();
            } finally {
                lock.unlock();
            }
        }
    }

    private void tellFull(boolean now) {
        if (now != fullReported && !closed) {
            fullReported = now;
            trouble.full(now);
        }
    }

    private void stopSending() {
        sending = false;
        sent.signalAll();
    }

    /** Removes fully sent frames. */
    private void advance(long taken) {
        headSent += taken;
        int before = operationsSent;
        int operation = before;
        while (frameHead != frameTail) {
            int place = frameHead & FRAME_MASK;
            long bytes = frameBytes(place);
            if (headSent < bytes) {
                break;
            }
            headSent -= bytes;
            if (Frame.isOperation(Frame.kind(places + (long) place * PLACE_BYTES))) {
                operation++;
            }
            if (acknowledgementQueued && acknowledgementPlace == frameHead) {
                acknowledgementQueued = false;
            }
            frameHead++;
        }
        if (operation != before) {
            operationsSent = operation;
        }
        boolean all = frameHead == frameTail;
        if (all && acknowledgementWanted && !acknowledgementQueued && done != acknowledgedSent) {
            enterAcknowledgement();
        }
    }

    private long frameBytes(int place) {
        int payload = payloadBytes[place];
        return placeBytes[place] + (long) payload + Frame.padding(payload);
    }

    /** Fills {@link #ranges} with the next bytes to send; returns the number of ranges. */
    private int gather() {
        int count = 0;
        long bytes = 0;
        long skip = headSent;
        for (int frame = frameHead;
                frame != frameTail && count <= RANGES_MAX - RANGES_OF_FRAME && bytes < BATCH_BYTES;
                frame++) {
            int place = frame & FRAME_MASK;
            int payload = payloadBytes[place];
            long before = skip;
            count = range(count, places + (long) place * PLACE_BYTES, placeBytes[place], before);
            before = Math.max(0, before - placeBytes[place]);
            if (payload > 0) {
                long end = Math.min(payload, before + BATCH_BYTES);
                count = range(count, payloadAddress[place], end, before);
                if (end < payload) {
                    break; // the rest in the next write
                }
                before = Math.max(0, before - payload);
                count = range(count, zeroes, Frame.padding(payload), before);
            }
            bytes += frameBytes(place) - skip;
            skip = 0;
        }
        return count;
    }

    /** Adds a range without its first {@code skip} bytes, unless nothing is left; returns the number of ranges. */
    private int range(int count, long address, long length, long skip) {
        if (skip >= length) {
            return count;
        }
        long range = ranges + (long) count * RANGE_BYTES;
        RawMemory.putLong(range, address + skip);
        RawMemory.putLong(range + Long.BYTES, length - skip);
        return count + 1;
    }

    private long asked(int count) {
        long bytes = 0;
        for (int i = 0; i < count; i++) {
            bytes += RawMemory.getLong(ranges + (long) i * RANGE_BYTES + Long.BYTES);
        }
        return bytes;
    }

    /** As {@link #beginSending}, after the thread that sends, and although frames were left until the socket has room. */
    private boolean beginSendingRest() {
        lock();
        try {
            while (sending) {
                // Sending never blocks.
                sent.awaitUninterruptibly();
            }
            full = false;
            return !closed && frameHead != frameTail && startSending();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Refuses new frames, drops those that the socket does not take now, and returns when no thread sends any more. Any
     * thread.
     */
    void close() {
        while (beginSendingRest() && !sendQueued(Long.MAX_VALUE)) {
            // A post that was accepted before reaches the socket, also if its frame was left to a poll.
        }
        lock();
        try {
            closed = true;
            while (sending) {
                // Sending never blocks.
                sent.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }
}
