package dev.lite.fabric.shm;

import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.Post;
import dev.lite.fabric.driver.DriverEndpoint;
import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.UnixSocket;
import dev.lite.os.waiting.Deadline;
import org.jspecify.annotations.Nullable;

/** A connection to one peer. Its end closes the {@link #gate} for posts. */
final class ShmEndpoint extends DriverEndpoint<ShmLink> {
    /** Copying this much takes about as long as publishing an entry, so it does not delay later entries noticeably. */
    private static final long SHORT_BYTES_MAX = 4096;

    private final PostGate gate = new PostGate();
    private final PassedDescriptors passed = new PassedDescriptors();
    /** The socket whose end is the end of the connection; null before there is one. */
    private volatile @Nullable UnixSocket socket;

    ShmEndpoint(boolean accepted) {
        super(accepted);
    }

    @Override
    public long mappedAddress() {
        var current = link();
        return current == null ? 0 : current.address();
    }

    @Override
    public boolean isMappedByPeer() {
        var current = link();
        return current != null && current.presence().hasMapped();
    }

    @Override
    public boolean passesDescriptors() {
        return true;
    }

    @Override
    public boolean passDescriptor(long tag, int descriptor) {
        var current = socket;
        if (current == null || link() == null || end() != null) {
            return false;
        }
        try {
            return PassedDescriptors.send(current, tag, descriptor);
        } catch (OsException e) { // the connection's thread closed the socket
            return false;
        }
    }

    @Override
    public int takeDescriptor(long tag, long timeoutNs) {
        return passed.take(tag, timeoutNs);
    }

    /** What the peer passed. */
    PassedDescriptors passed() {
        return passed;
    }

    @Override
    public Post read(long remoteOffset, long localAddress, long length, long context) {
        var current = link();
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
        var current = link();
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
        var current = link();
        if (current == null) {
            return Post.CLOSED;
        }
        current.checkRange(remoteOffset, length);
        long stamp = gate.enter();
        if (stamp == PostGate.REFUSED) {
            return Post.CLOSED;
        }
        try {
            // Reserve room first: without room, none of the data may be copied.
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
        var current = link();
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
        var current = link();
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

    /** Sets the socket, which is shut down when the endpoint ends. Called by the connection's thread. */
    void use(UnixSocket connected) {
        socket = connected;
        if (end() != null) {
            connected.shutdown();
        }
    }

    @Override
    protected void cut(Deadline deadline) {
        gate.close();
    }

    @Override
    protected void onEnd() {
        gate.close();
        passed.close();
        var current = socket;
        if (current != null) {
            current.shutdown();
        }
    }

    /** Poll role: lets posts in, unless the endpoint has ended meanwhile. */
    void openGate() {
        boolean unused = gate.open();
    }

    /** Poll role: delivers what the peer sent before it closed or ended. */
    @Override
    protected int flush(FabricHandler handler, int limit) {
        return deliver(handler, limit);
    }

    /** Poll role: passes at most {@code limit} immediates to the handler; returns how many. */
    int deliver(FabricHandler handler, int limit) {
        var current = link();
        if (current == null) {
            return 0;
        }
        var receive = current.receive();
        int handed = 0;
        // Checked for each immediate, because the handler may close the endpoint.
        while (handed < limit && !isClosedHere() && receive.hasNext()) {
            if (!receive.placeData()) {
                close("the peer sent data for an offset outside of this node's memory");
                break;
            }
            handed++;
            handler.immediate(this, receive.next());
        }
        return handed;
    }

    /** Poll role: whether there is an immediate to deliver. */
    boolean hasImmediate() {
        var current = link();
        return current != null && !isClosedHere() && current.receive().hasNext();
    }
}
