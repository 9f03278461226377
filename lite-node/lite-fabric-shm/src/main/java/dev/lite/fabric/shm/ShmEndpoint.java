package dev.lite.fabric.shm;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import dev.lite.os.UnixSocket;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A connection to one peer.
 *
 * <p>It ends once: by {@link #close} or by {@link #lost}, whichever comes first, which shuts the {@link #gate} of the posts, and
 * tells the fabric. What the poll role does with it is marked so.
 */
final class ShmEndpoint implements FabricEndpoint {
    /** So much is copied about as fast as an entry of the ring is published: those behind it do not notice. */
    private static final long SHORT_BYTES_MAX = 4096;

    private final PostGate gate = new PostGate();
    private final boolean accepted;
    /** Told the reason, once. */
    private final BiConsumer<ShmEndpoint, String> ended;

    private volatile @Nullable ShmLink link;
    private volatile @Nullable Object attachment;
    private volatile boolean closedHere;

    /** Guarded by this object. */
    private @Nullable UnixSocket socket;

    /** Guarded by this object. */
    private boolean over;

    /** Poll role: whether the handler knows it. */
    private boolean announced;

    /** Poll role: why it ended; what the peer sent before is still delivered. */
    private @Nullable String endReason;

    /** Poll role: whether everything has been said and released. */
    private boolean finished;

    ShmEndpoint(boolean accepted, BiConsumer<ShmEndpoint, String> ended) {
        this.accepted = accepted;
        this.ended = ended;
    }

    @Override
    public byte[] hello() {
        var current = link;
        return current == null ? new byte[0] : current.hello().clone();
    }

    @Override
    public long remoteSize() {
        var current = link;
        return current == null ? 0 : current.bytes();
    }

    @Override
    public long mappedAddress() {
        var current = link;
        return current == null ? 0 : current.address();
    }

    @Override
    public boolean isMappedByPeer() {
        var current = link;
        return current != null && current.process().isAlive();
    }

    @Override
    public Post read(long remoteOffset, long localAddress, long length, long context) {
        var current = link;
        if (current == null) {
            return Post.CLOSED;
        }
        current.checkRange(remoteOffset, length);
        long stamp = gate.enter();
        if (stamp == PostGate.REFUSED) {
            return Post.CLOSED;
        }
        try {
            RawMemory.copy(current.address() + remoteOffset, localAddress, length);
            return Post.DONE;
        } finally {
            gate.exit(stamp);
        }
    }

    @Override
    public Post write(long remoteOffset, long localAddress, long length, long context) {
        var current = link;
        if (current == null) {
            return Post.CLOSED;
        }
        current.checkRange(remoteOffset, length);
        long stamp = gate.enter();
        if (stamp == PostGate.REFUSED) {
            return Post.CLOSED;
        }
        try {
            RawMemory.copy(localAddress, current.address() + remoteOffset, length);
            return Post.DONE;
        } finally {
            gate.exit(stamp);
        }
    }

    @Override
    public Post writeImm(long remoteOffset, long localAddress, long length, int immediate, long context) {
        var current = link;
        if (current == null) {
            return Post.CLOSED;
        }
        current.checkRange(remoteOffset, length);
        long stamp = gate.enter();
        if (stamp == PostGate.REFUSED) {
            return Post.CLOSED;
        }
        try {
            // Room first: when there is none, not a byte of the data is to be placed.
            boolean placed = length <= SHORT_BYTES_MAX
                    ? placeShort(current, remoteOffset, localAddress, length, immediate)
                    : placeLong(current, remoteOffset, localAddress, length, immediate);
            if (!placed) {
                return Post.BUSY;
            }
            current.doorbell().ring();
            return Post.DONE;
        } finally {
            gate.exit(stamp);
        }
    }

    private static boolean placeShort(ShmLink link, long remoteOffset, long localAddress, long length, int immediate) {
        SendRing ring = link.send();
        long position = ring.tryTake();
        if (position == SendRing.NONE) {
            return false;
        }
        if (length <= RingLayout.INLINE_BYTES_MAX) {
            ring.publish(position, immediate, remoteOffset, localAddress, length);
            return true;
        }
        RawMemory.copy(localAddress, link.address() + remoteOffset, length);
        ring.publish(position, immediate);
        return true;
    }

    private static boolean placeLong(ShmLink link, long remoteOffset, long localAddress, long length, int immediate) {
        SendRing ring = link.send();
        if (!ring.tryHold()) {
            return false;
        }
        boolean placed = false;
        try {
            RawMemory.copy(localAddress, link.address() + remoteOffset, length);
            placed = true;
        } finally {
            if (!placed) {
                ring.giveBack();
            }
        }
        ring.publish(ring.takeHeld(), immediate);
        return true;
    }

    @Override
    public Post fetchAdd(long remoteOffset, long delta, long resultAddress, long context) {
        var current = link;
        if (current == null) {
            return Post.CLOSED;
        }
        current.checkWord(remoteOffset);
        long stamp = gate.enter();
        if (stamp == PostGate.REFUSED) {
            return Post.CLOSED;
        }
        try {
            RawMemory.putLong(resultAddress, RawMemory.getAndAddLong(current.address() + remoteOffset, delta));
            return Post.DONE;
        } finally {
            gate.exit(stamp);
        }
    }

    @Override
    public Post compareAndSwap(long remoteOffset, long expected, long value, long resultAddress, long context) {
        var current = link;
        if (current == null) {
            return Post.CLOSED;
        }
        current.checkWord(remoteOffset);
        long stamp = gate.enter();
        if (stamp == PostGate.REFUSED) {
            return Post.CLOSED;
        }
        try {
            long before = RawMemory.compareAndExchangeLong(current.address() + remoteOffset, expected, value);
            RawMemory.putLong(resultAddress, before);
            return Post.DONE;
        } finally {
            gate.exit(stamp);
        }
    }

    @Override
    public @Nullable Object attachment() {
        return attachment;
    }

    @Override
    public void attach(@Nullable Object attachment) {
        this.attachment = attachment;
    }

    @Override
    public void close() {
        closedHere = true;
        end("closed by this node");
    }

    /** Poll role: the peer does what no peer does; nothing of it is delivered any more. */
    void cut(String reason) {
        closedHere = true;
        end(reason);
    }

    /** The peer is gone, or could not be reached. The connection's thread. */
    void lost(String reason) {
        end(reason);
    }

    private void end(String reason) {
        gate.close();
        UnixSocket current;
        synchronized (this) {
            if (over) {
                return;
            }
            over = true;
            current = socket;
        }
        if (current != null) {
            current.shutdown();
        }
        ended.accept(this, reason);
    }

    /** Gives it the socket whose end is its end; shut down at once when it is over already. The connection's thread. */
    void use(UnixSocket connected) {
        boolean late;
        synchronized (this) {
            socket = connected;
            late = over;
        }
        if (late) {
            connected.shutdown();
        }
    }

    /** What it consists of once connected. */
    @Nullable
    ShmLink link() {
        return link;
    }

    /** Whether a peer made it. */
    boolean accepted() {
        return accepted;
    }

    /** Poll role: takes the link; whether the handler is to be told. */
    boolean connected(ShmLink connected) {
        link = connected;
        // Refused when the peer is gone already; what it sent before that still counts.
        boolean unused = gate.open();
        announced = !closedHere;
        return announced;
    }

    /** Poll role: remembers why it ended. */
    void endedFor(String reason) {
        if (endReason == null) {
            endReason = reason;
        }
    }

    /** Poll role: whether an immediate is there to be delivered. */
    boolean hasImmediate() {
        var current = link;
        return !closedHere && !finished && current != null && current.receive().hasNext();
    }

    /** Poll role: places the data that came with the immediate that is there; false when it has no place here. */
    boolean placeData() {
        var current = link;
        return current != null && current.receive().placeData();
    }

    /** Poll role: takes the immediate that is there. */
    int nextImmediate() {
        var current = link;
        if (current == null) {
            throw new IllegalStateException("not connected");
        }
        return current.receive().next();
    }

    /** Poll role: why it ended, when it did and nothing is left to be delivered. */
    @Nullable
    String reasonToFinish() {
        return endReason != null && !finished && !hasImmediate() ? endReason : null;
    }

    /** Poll role: whether {@link #finish} was called. */
    boolean isFinished() {
        return finished;
    }

    /** Poll role: releases what only a living connection needs; whether the handler is to be told of the end. */
    boolean finish() {
        if (finished) {
            return false;
        }
        finished = true;
        gate.close();
        var current = link;
        if (current != null) {
            current.release();
        }
        return announced || !accepted;
    }

    /** Poll role: why it ended, or else this. */
    String reasonOr(String otherwise) {
        return endReason == null ? otherwise : endReason;
    }
}
