package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.Post;
import dev.lite.fabric.rdma.verbs.Completion;
import dev.lite.fabric.rdma.verbs.WorkRequest;
import dev.lite.os.RawMemory;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Immediates and atomic operations, which two nodes send each other on the first lane beside one-sided requests. The
 * owner of a word executes atomic operations with its processor in the poll role, so that they are also atomic with its
 * own.
 *
 * <pre>
 *  0 kind (4)   4 slot (4)   8 offset, or the value before (8)   16 first (8)   24 second (8)
 * </pre>
 *
 * <p>Limits: at most {@value #IMMEDIATES} immediates that the peer has not taken, and {@value #ATOMICS} atomic steps
 * that it has not answered. Up to {@value #BATCH} receives wait to be replaced together. Meanwhile at most
 * {@value #IMMEDIATES} immediates, {@value #ATOMICS} questions and {@value #ATOMICS} answers can arrive, so
 * {@value #RECEIVES} receives always suffice. Answers need no credit: the asking node has room for them.
 */
final class Mailbox {
    static final int RECEIVES = 256;
    static final int BUFFER_BYTES = 64;
    static final int MESSAGE_BYTES = 32;

    static final int IMMEDIATES = 128;
    private static final int ATOMICS = 32;
    private static final int BATCH = 32;
    private static final int RECEIVE_MASK = RECEIVES - 1;

    static final int FETCH_ADD = 1;
    static final int COMPARE_AND_SWAP = 2;
    private static final int RESULT = 3;
    private static final int REFUSED = 4;

    private static final int SLOT = 4;
    private static final int OFFSET = 8;
    private static final int FIRST = 16;
    private static final int SECOND = 24;

    private final RdmaLane lane;
    private final OwnMemory own;
    private final Credits credits;

    // This node's questions: guarded by the lane's lock.
    private final long[] contexts = new long[ATOMICS];
    private final long[] results = new long[ATOMICS];
    private final boolean[] asked = new boolean[ATOMICS];
    private final int[] freeSlots = new int[ATOMICS];
    private int freeCount = ATOMICS;

    private final AtomicInteger questions = new AtomicInteger();
    /** Number of answers taken from the completion queue; written by the taking thread, one at a time. */
    private final AtomicInteger answers = new AtomicInteger();

    // Poll role: answers and credits owed to the peer.
    private final int[] owedSlots = new int[ATOMICS];
    private final int[] owedKinds = new int[ATOMICS];
    private final long[] owedValues = new long[ATOMICS];
    private int owed;
    /** Receives posted, counted from the first after the handshake's. */
    private int posted;
    /** Number of posted receives that were taken. */
    private int taken;

    private int immediatesTaken;
    private int immediatesTold;
    private long creditAddress;
    private int creditKey;

    Mailbox(RdmaLane lane, OwnMemory own) {
        this.lane = lane;
        this.own = own;
        credits = new Credits(IMMEDIATES, lane.memory().credit());
        for (int i = 0; i < ATOMICS; i++) {
            freeSlots[i] = i;
        }
    }

    static void encode(long message, int kind, int slot, long offset, long first, long second) {
        RawMemory.putInt(message, kind);
        RawMemory.putInt(message + SLOT, slot);
        RawMemory.putLong(message + OFFSET, offset);
        RawMemory.putLong(message + FIRST, first);
        RawMemory.putLong(message + SECOND, second);
    }

    /** Posts all receives. Call before the peer may send anything. */
    void open() {
        for (int i = 0; i < RECEIVES; i++) {
            var memory = lane.memory();
            WorkRequest.receive(memory.receive(i), 0, memory.buffer(i), BUFFER_BYTES, memory.key(), 0);
        }
        postReceives(RECEIVES);
    }

    /** The data that peers need to access this node's memory and this mailbox. */
    PeerMemory describe() {
        return own.describe(lane.memory().credit(), lane.memory().creditKey());
    }

    /** Sets the memory to which credits are returned. Call before anything arrives. */
    void connect(PeerMemory peer) {
        creditAddress = peer.creditAddress();
        creditKey = peer.creditKey();
    }

    Credits credits() {
        return credits;
    }

    // Posting.

    /** Asks the peer for an atomic step. Any thread. */
    Post ask(int kind, long offset, long first, long second, long result, long context) {
        lane.lock().lock();
        try {
            if (freeCount == 0) {
                return Post.BUSY;
            }
            int slot = freeSlots[freeCount - 1];
            contexts[slot] = context;
            results[slot] = result;
            var post = lane.ask(kind, slot, offset, first, second);
            if (post == Post.ACCEPTED) {
                // Only now, since fail() takes no lock. The poll role takes it to hand over an answer.
                asked[slot] = true;
                freeCount--;
                questions.setRelease(questions.getPlain() + 1);
            }
            return post;
        } finally {
            lane.lock().unlock();
        }
    }

    // Arrivals.

    /** The calling thread took a receive from the completion queue. */
    void arrived(int count) {
        int kind = RawMemory.getInt(buffer(count));
        if (kind == RESULT || kind == REFUSED) {
            answers.setRelease(answers.getPlain() + 1);
        }
    }

    /** Whether every question was answered. */
    boolean isAnswered() {
        return questions.getAcquire() == answers.getAcquire();
    }

    private long buffer(int count) {
        return lane.memory().buffer((count - RdmaLane.HANDSHAKE_RECEIVES) & RECEIVE_MASK);
    }

    /** Poll role: an immediate was taken. */
    void tookImmediate() {
        immediatesTaken++;
        tookReceive();
    }

    /** Poll role: drops an arrived message. */
    void tookReceive() {
        taken++;
        if (RECEIVES - (posted - taken) >= BATCH) {
            postReceives(RECEIVES - (posted - taken));
        }
    }

    /**
     * Poll role: handles an arrived message. Serves a question at once; passes an answer to the handler.
     *
     * @return the number of calls of the handler
     */
    int took(RdmaEndpoint endpoint, FabricHandler handler, int count) {
        long message = buffer(count);
        int kind = RawMemory.getInt(message);
        int slot = RawMemory.getInt(message + SLOT);
        long first = RawMemory.getLong(message + OFFSET);
        if (slot < 0 || slot >= ATOMICS) {
            endpoint.broken(
                    "it named slot %d of an atomic step; there are %d".formatted(slot, ATOMICS), FabricError.FLUSHED);
            return 0;
        }
        switch (kind) {
            case FETCH_ADD, COMPARE_AND_SWAP -> {
                long operand = RawMemory.getLong(message + FIRST);
                long value = RawMemory.getLong(message + SECOND);
                tookReceive();
                serve(endpoint, kind, slot, first, operand, value);
                return 0;
            }
            case RESULT, REFUSED -> {
                tookReceive();
                return hand(endpoint, handler, slot, kind == RESULT, first);
            }
            default -> {
                endpoint.broken("it sent a message of the unknown kind %d".formatted(kind), FabricError.FLUSHED);
                return 0;
            }
        }
    }

    private void serve(RdmaEndpoint endpoint, int kind, int slot, long offset, long first, long second) {
        int answer = REFUSED;
        long before = 0;
        if (own.hasWord(offset)) {
            long word = own.address() + offset;
            answer = RESULT;
            before = kind == FETCH_ADD
                    ? RawMemory.getAndAddLong(word, first)
                    : RawMemory.compareAndExchangeLong(word, first, second);
        }
        if (owed == 0 && lane.answer(answer, slot, before)) {
            return;
        }
        if (owed == ATOMICS) {
            endpoint.broken("it asked for more than %d atomic steps at once".formatted(ATOMICS), FabricError.FLUSHED);
            return;
        }
        owedKinds[owed] = answer;
        owedSlots[owed] = slot;
        owedValues[owed] = before;
        owed++;
    }

    private int hand(RdmaEndpoint endpoint, FabricHandler handler, int slot, boolean done, long value) {
        long context;
        lane.lock().lock();
        try {
            if (!asked[slot]) {
                endpoint.broken(
                        "it answered atomic operation %d, which is not outstanding".formatted(slot),
                        FabricError.FLUSHED);
                return 0;
            }
            context = contexts[slot];
            if (done) {
                RawMemory.putLong(results[slot], value);
            }
            free(slot);
        } finally {
            lane.lock().unlock();
        }
        if (done) {
            handler.completed(endpoint, context);
        } else {
            handler.failed(endpoint, context, FabricError.REFUSED);
        }
        return 1;
    }

    private void free(int slot) {
        asked[slot] = false;
        freeSlots[freeCount++] = slot;
    }

    // Receives, answers and credits.

    private void postReceives(int count) {
        int from = posted;
        int rest = count;
        while (rest > 0) {
            int start = from & RECEIVE_MASK;
            // A chain ends at the end of the ring.
            int chain = Math.min(rest, RECEIVES - start);
            for (int i = 0; i < chain; i++) {
                var memory = lane.memory();
                long request = memory.receive(start + i);
                // The place in the ring: a count of all receives would be negative after 2^31.
                WorkRequest.receiveAgain(
                        request,
                        Completion.receiveId(lane.tag, RdmaLane.HANDSHAKE_RECEIVES + start + i),
                        i + 1 < chain ? memory.receive(start + i + 1) : 0);
            }
            lane.postReceives(lane.memory().receive(start));
            from += chain;
            rest -= chain;
        }
        posted = from;
    }

    /** Poll role: whether {@link #settle} has work. */
    boolean owes() {
        return owed > 0 || immediatesTaken - immediatesTold >= BATCH;
    }

    /** Poll role: sends answers and credits to the peer, as far as there is room. Returns whether all were sent. */
    boolean settle() {
        int sent = 0;
        while (sent < owed && lane.answer(owedKinds[sent], owedSlots[sent], owedValues[sent])) {
            sent++;
        }
        owed -= sent;
        System.arraycopy(owedKinds, sent, owedKinds, 0, owed);
        System.arraycopy(owedSlots, sent, owedSlots, 0, owed);
        System.arraycopy(owedValues, sent, owedValues, 0, owed);
        if (owed > 0) {
            return false;
        }
        if (immediatesTaken - immediatesTold >= BATCH) {
            // The receives must have been replaced first.
            if (taken != posted - RECEIVES) {
                postReceives(RECEIVES - (posted - taken));
            }
            if (!lane.writeWord(creditAddress, creditKey, Integer.toUnsignedLong(immediatesTaken))) {
                return false;
            }
            immediatesTold = immediatesTaken;
        }
        return true;
    }

    /** Poll role, after the end: fails at most {@code limit} unanswered steps; returns how many. */
    int fail(FabricEndpoint endpoint, FabricHandler handler, FabricError error, int limit) {
        int failed = 0;
        for (int slot = 0; slot < ATOMICS && failed < limit; slot++) {
            if (asked[slot]) {
                failed++;
                free(slot);
                handler.failed(endpoint, contexts[slot], error);
            }
        }
        return failed;
    }
}
