package dev.lite.fabric.rdma;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.Post;
import dev.lite.fabric.rdma.verbs.Completion;
import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.fabric.rdma.verbs.VerbsException;
import dev.lite.fabric.rdma.verbs.WorkRequest;
import dev.lite.os.RawMemory;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One queue pair and its requests in flight.
 *
 * <p>Any thread posts requests, under a lock that is held only for that. A queue pair completes its requests in order,
 * so counting identifies them: a ring with one place per queue entry holds what each completion means. A place becomes
 * free when the poll role has seen the completion, so neither the send queue nor the completion queue overflows.
 *
 * <p>The driver reserves {@value #RESERVED} places: it sends answers, credits and probes even if posts are refused as
 * busy.
 */
final class RdmaLane {
    /** Longest payload that is copied when it is posted, so that the device need not fetch it. */
    static final int INLINE_BYTES = 128;
    /** Receives for messages of the handshake; each side sends at most three. */
    static final int HANDSHAKE_RECEIVES = 3;

    private static final int RESERVED = 16;
    private static final int HANDSHAKE_SENDS = 3;

    private static final byte[] BROKEN = {};

    final int tag;
    private final Verbs verbs;
    private final ConnectionManager manager;
    private final ConnectionManager.Id id;
    private final LaneMemory memory;
    private final Announcements announcements;
    private final int depth;
    private final int mask;
    private long queuePair;

    private final ReentrantLock lock = new ReentrantLock();

    // Guarded by the lock: written before a request is posted, and read by the poll role after its completion.
    private final long[] contexts;
    private final boolean[] posts;
    /** Number of requests posted or about to be posted; volatile for {@link Announcements}. */
    private volatile int tail;

    private boolean refusing;

    /** Number of completions that the poll role has seen; written by the poll role. */
    private final AtomicInteger head = new AtomicInteger();

    /** Number of completions taken from the completion queue; written by the taking thread, one at a time. */
    private final AtomicInteger taken = new AtomicInteger();

    /** Whether the queue pair is disconnected. Guarded by this object, like {@link #destroyed}: no native call may follow the end. */
    private boolean disconnected;

    private boolean destroyed;

    /** The messages that the handshake received. */
    private final BlockingQueue<byte[]> messages = new ArrayBlockingQueue<>(HANDSHAKE_RECEIVES + 1);

    private int handshakeSends;
    private volatile @Nullable RdmaEndpoint owner;
    private final AtomicReference<@Nullable String> failure = new AtomicReference<>();
    private volatile @Nullable Runnable watcher;

    /** On the first lane of a connection only. */
    private volatile @Nullable Mailbox mailbox;

    RdmaLane(
            Verbs verbs,
            ConnectionManager manager,
            ConnectionManager.Id id,
            LaneMemory memory,
            Announcements announcements,
            int tag,
            int depth) {
        this.verbs = verbs;
        this.manager = manager;
        this.id = id;
        this.memory = memory;
        this.announcements = announcements;
        this.tag = tag;
        this.depth = depth;
        this.mask = depth - 1;
        contexts = new long[depth];
        posts = new boolean[depth];
        WorkRequest.prepareSend(memory.request());
    }

    /** Creates the queue pair, with receives for the handshake. */
    void open(long domain, long completions) {
        queuePair = verbs.createQueuePair(
                id.handle(), domain, completions, depth, HANDSHAKE_RECEIVES + Mailbox.RECEIVES, INLINE_BYTES);
        try {
            postHandshakeReceives();
        } catch (RuntimeException | Error e) {
            verbs.destroyQueuePair(id.handle());
            throw e;
        }
    }

    private void postHandshakeReceives() {
        for (int i = 0; i < HANDSHAKE_RECEIVES; i++) {
            WorkRequest.receive(
                    memory.request(),
                    Completion.receiveId(tag, i),
                    memory.received(i),
                    LaneMemory.MESSAGE_BYTES,
                    memory.key(),
                    0);
            verbs.postReceive(queuePair, memory.request());
        }
        RawMemory.fill(memory.request(), WorkRequest.SEND_BYTES, (byte) 0);
        WorkRequest.prepareSend(memory.request());
    }

    ConnectionManager.Id id() {
        return id;
    }

    LaneMemory memory() {
        return memory;
    }

    // Posting.

    /**
     * Posts a transfer, split at the window borders of both memories. Only the last piece's completion is reported.
     *
     * @param credits credits of which a write with an immediate takes one; null for other transfers
     */
    Post transfer(
            int opcode,
            OwnMemory own,
            PeerMemory peer,
            long offset,
            long local,
            int length,
            int immediate,
            @Nullable Credits credits,
            long context) {
        int pieces = length == 0 ? 1 : pieces(own, peer, offset, local, length);
        lock.lock();
        try {
            if (refusing) {
                return Post.CLOSED;
            }
            if (used() + pieces > depth - RESERVED || (credits != null && !credits.available())) {
                return Post.BUSY;
            }
            long done = 0;
            for (int piece = 1; piece < pieces; piece++) {
                int part = (int) own.piece(peer, offset + done, local + done, length - done);
                int plain = opcode == WorkRequest.READ ? WorkRequest.READ : WorkRequest.WRITE;
                if (!submit(false, plain, own, peer, offset + done, local + done, part, 0, 0)) {
                    return refused(done, context);
                }
                done += part;
            }
            int rest = (int) (length - done);
            if (!submit(true, opcode, own, peer, offset + done, local + done, rest, immediate, context)) {
                return refused(done, context);
            }
            if (credits != null) {
                credits.take();
            }
            return Post.ACCEPTED;
        } finally {
            lock.unlock();
        }
    }

    /**
     * The device refused a piece of a transfer. Those before it may be under way, and access both memories
     * until the queue pair is destroyed. So the transfer takes one more place, and fails with what is
     * outstanding then.
     */
    private Post refused(long done, long context) {
        if (done == 0) {
            return Post.CLOSED;
        }
        int count = tail;
        contexts[count & mask] = context;
        posts[count & mask] = true;
        tail = count + 1;
        return Post.ACCEPTED;
    }

    private static int pieces(OwnMemory own, PeerMemory peer, long offset, long local, long length) {
        int pieces = 0;
        for (long done = 0; done < length; pieces++) {
            done += own.piece(peer, offset + done, local + done, length - done);
        }
        return pieces;
    }

    private boolean submit(
            boolean post,
            int opcode,
            OwnMemory own,
            PeerMemory peer,
            long offset,
            long local,
            int length,
            int immediate,
            long context) {
        boolean empty = length == 0;
        return submit(
                post,
                opcode,
                local,
                length,
                empty ? 0 : own.localKey(local),
                peer.address() + offset,
                empty ? 0 : peer.key(offset),
                immediate,
                context);
    }

    /** Called under the lock, with room. Returns whether the request was posted. */
    private boolean submit(
            boolean post,
            int opcode,
            long local,
            int length,
            int localKey,
            long remote,
            int remoteKey,
            int immediate,
            long context) {
        int count = tail;
        contexts[count & mask] = context;
        posts[count & mask] = post;
        boolean copied = opcode != WorkRequest.READ && length > 0 && length <= INLINE_BYTES;
        long request = memory.request();
        WorkRequest.send(
                request,
                opcode,
                Completion.sendId(tag, count),
                local,
                length,
                localKey,
                copied,
                remote,
                remoteKey,
                immediate);
        tail = count + 1;
        try {
            announcements.beforePost();
            verbs.postSend(queuePair, request);
        } catch (VerbsException e) {
            tail = count;
            refusing = true;
            lost(String.valueOf(e.getMessage()), FabricError.FLUSHED);
            return false;
        }
        return true;
    }

    private int used() {
        return tail - head.getAcquire();
    }

    /** Poll role: whether any request has not completed yet. */
    boolean isUnderWay() {
        return tail != head.getPlain();
    }

    /** Asks the owner of a word for an atomic step; {@link Mailbox} knows the slot. Under {@link #lock()}. */
    Post ask(int kind, int slot, long offset, long first, long second) {
        if (refusing) {
            return Post.CLOSED;
        }
        if (used() >= depth - RESERVED) {
            return Post.BUSY;
        }
        return sendMailboxMessage(kind, slot, offset, first, second) ? Post.ACCEPTED : Post.CLOSED;
    }

    /** Answers the peer; false if there is no room now. Any thread. */
    boolean answer(int kind, int slot, long value) {
        lock.lock();
        try {
            // If the lane refuses the post, the peer no longer needs the answer.
            return refusing || (used() < depth && sendMailboxMessage(kind, slot, value, 0, 0)) || refusing;
        } finally {
            lock.unlock();
        }
    }

    private boolean sendMailboxMessage(int kind, int slot, long offset, long first, long second) {
        long payload = memory.payload();
        Mailbox.encode(payload, kind, slot, offset, first, second);
        return submit(false, WorkRequest.SEND, payload, Mailbox.MESSAGE_BYTES, 0, 0, 0, 0, 0);
    }

    /** Writes a word in the memory of the peer's driver; false if there is no room now. */
    boolean writeWord(long remote, int remoteKey, long value) {
        lock.lock();
        try {
            if (refusing) {
                return true;
            }
            RawMemory.putLong(memory.payload(), value);
            return used() < depth
                    && submit(false, WorkRequest.WRITE, memory.payload(), Long.BYTES, 0, remote, remoteKey, 0, 0);
        } finally {
            lock.unlock();
        }
    }

    /** Makes the peer's device acknowledge something, unless a request in flight already does. */
    void probe() {
        lock.lock();
        try {
            if (!refusing && used() == 0) {
                boolean unused = submit(false, WorkRequest.WRITE, 0, 0, 0, 0, 0, 0, 0);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Posts a chain of receives. */
    void postReceives(long chain) {
        lock.lock();
        try {
            if (!refusing) {
                verbs.postReceive(queuePair, chain);
            }
        } catch (VerbsException e) {
            refusing = true;
            lost(String.valueOf(e.getMessage()), FabricError.FLUSHED);
        } finally {
            lock.unlock();
        }
    }

    ReentrantLock lock() {
        return lock;
    }

    // Ends.

    /** The calling thread took a request's completion from the completion queue. */
    void ended() {
        taken.setRelease(taken.getPlain() + 1);
    }

    /** Poll role: the context of a request whose completion is passed to the handler. */
    long context(int count) {
        return contexts[count & mask];
    }

    /** Poll role: frees a request's place. Returns whether the request was a caller's post, not one of the driver's own. */
    boolean end(int count) {
        boolean post = posts[count & mask];
        head.setRelease(count + 1);
        return post;
    }

    /** Refuses further posts: after the return, nothing more is posted. */
    void refuse() {
        lock.lock();
        try {
            refusing = true;
        } finally {
            lock.unlock();
        }
    }

    /** Whether all completions were taken and all atomic steps answered; stays true after {@link #refuse}. */
    boolean isDrained() {
        int posted;
        lock.lock();
        try {
            posted = tail;
        } finally {
            lock.unlock();
        }
        var mail = mailbox;
        return posted == taken.getAcquire() && (mail == null || mail.isAnswered());
    }

    /** Poll role, after {@link #destroy}: fails at most {@code limit} outstanding requests; returns how many. */
    int fail(FabricEndpoint endpoint, FabricHandler handler, FabricError error, int limit) {
        int failed = 0;
        while (failed < limit && head.getPlain() != tail) {
            int count = head.getPlain();
            long context = context(count);
            if (end(count)) {
                failed++;
                handler.failed(endpoint, context, error);
            }
        }
        return failed;
    }

    /** Stops all sending, which the peer sees. Any thread; a second call does nothing. */
    synchronized void disconnect() {
        if (!disconnected && !destroyed && queuePair != 0) {
            disconnected = true;
            verbs.disconnect(id.handle());
        }
    }

    /** Releases everything; after the return, the device accesses no memory for it. A second call does nothing. */
    void destroy() {
        refuse();
        disconnect();
        synchronized (this) {
            if (destroyed) {
                return;
            }
            destroyed = true;
        }
        if (queuePair != 0) {
            verbs.destroyQueuePair(id.handle());
        }
        manager.destroy(id);
        memory.release();
    }

    // The handshake.

    /** Sends a message of the handshake. One thread. */
    boolean sendMessage(byte[] message) {
        if (message.length > LaneMemory.MESSAGE_BYTES || handshakeSends == HANDSHAKE_SENDS) {
            throw new IllegalStateException("message %d of a handshake, %d bytes; there are at most %d, of %d bytes"
                    .formatted(handshakeSends, message.length, HANDSHAKE_SENDS, LaneMemory.MESSAGE_BYTES));
        }
        long place = memory.sent(handshakeSends++);
        RawMemory.copyFrom(MemorySegment.ofArray(message), 0, place, message.length);
        lock.lock();
        try {
            return !refusing && submit(false, WorkRequest.SEND, place, message.length, memory.key(), 0, 0, 0, 0);
        } finally {
            lock.unlock();
        }
    }

    /** Poll role: a message of the handshake arrived. */
    void received(int count, int length) {
        byte[] message = new byte[Math.min(length, LaneMemory.MESSAGE_BYTES)];
        RawMemory.copyTo(memory.received(count), MemorySegment.ofArray(message), 0, message.length);
        boolean unused = messages.offer(message);
    }

    /** The next message of the handshake; empty if the lane broke, null at the timeout. */
    byte @Nullable [] nextMessage(long timeoutNs) throws InterruptedException {
        return messages.poll(timeoutNs, TimeUnit.NANOSECONDS);
    }

    /** The reason why the lane broke; null if it did not. */
    @Nullable
    String failure() {
        return failure.get();
    }

    /** Runs the task when the lane breaks in the handshake, or at once if it already broke. */
    void watch(Runnable task) {
        watcher = task;
        if (failure.get() != null) {
            task.run();
        }
    }

    /** The lane's endpoint; null during the handshake. */
    @Nullable
    RdmaEndpoint owner() {
        return owner;
    }

    /** Sets the endpoint, which ends when the lane breaks. */
    void own(RdmaEndpoint endpoint) {
        owner = endpoint;
        var before = failure.get();
        if (before != null) {
            endpoint.broken(before, FabricError.FLUSHED);
        }
    }

    @Nullable
    Mailbox mailbox() {
        return mailbox;
    }

    /** Makes this the first lane: opens a mailbox on it. */
    Mailbox openMailbox(OwnMemory own) {
        var made = new Mailbox(this, own);
        mailbox = made;
        made.open();
        return made;
    }

    /** Marks the lane as unusable. Any thread. */
    void lost(String reason, FabricError error) {
        boolean first = failure.compareAndSet(null, reason);
        var endpoint = owner;
        if (endpoint != null) {
            endpoint.broken(reason, error);
        } else if (first) {
            boolean unused = messages.offer(BROKEN);
            var task = watcher;
            if (task != null) {
                task.run();
            }
        }
    }
}
