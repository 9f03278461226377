package dev.lite.fabric.tcp;

import dev.lite.os.Epoll;
import dev.lite.os.OsException;
import dev.lite.os.TcpSocket;
import java.lang.foreign.Arena;
import java.util.function.Consumer;

/** One of the connections of an endpoint. */
final class TcpLane implements Outbound.Trouble {
    /** The key of a lane that is not watched. */
    static final int UNWATCHED = -1;

    final Outbound outbound;
    final Inbound inbound;
    private final Wire wire;
    private final TcpSocket socket;
    private final Epoll sockets;
    private final Consumer<String> broken;
    private final Arena arena = Arena.ofShared();

    /** Where the fabric finds it; guarded by {@link #outbound}'s lock and written before the first post. */
    private volatile int key = UNWATCHED;

    /** Poll role: for so many more polls it is read without asking epoll first. */
    int warm;

    /** Poll role: whether more than its share was there at its last turn. */
    boolean more;

    /** Standby thread: {@link Outbound#acknowledgedSent} at its last check. */
    int sentAtCheck;

    /** Poll role: {@link Inbound#received} at the last tick. */
    private long receivedAtTick;

    /** Poll role: for how many ticks nothing came. */
    private int silentTicks;

    /**
     * @param memory this node's, which the peer may use
     * @param sockets the set that watches it
     * @param broken called at least once, by any thread, with the reason if the lane cannot be used any more
     */
    TcpLane(Wire wire, TcpSocket socket, Memory memory, Epoll sockets, Consumer<String> broken) {
        this.wire = wire;
        this.socket = socket;
        this.sockets = sockets;
        this.broken = broken;
        outbound = new Outbound(wire, this, arena);
        inbound = new Inbound(wire, outbound, memory, arena);
    }

    /** Begins to be watched under this key. Poll role, before the first post. */
    void watch(int newKey) {
        key = newKey;
        sockets.add(socket, Epoll.IN, newKey);
    }

    int key() {
        return key;
    }

    @Override
    public void full(boolean full) {
        if (key != UNWATCHED) {
            sockets.modify(socket, full ? Epoll.IN | Epoll.OUT : Epoll.IN, key);
        }
    }

    @Override
    public void broken(String reason) {
        broken.accept(reason);
    }

    /** Whether the peer reset the connection, whatever came before that. */
    boolean isReset() {
        try {
            return wire.isReset();
        } catch (OsException e) {
            return true;
        }
    }

    /** Poll role: one tick more; for how many nothing came. */
    int tick() {
        long received = inbound.received();
        silentTicks = received == receivedAtTick ? silentTicks + 1 : 0;
        receivedAtTick = received;
        return silentTicks;
    }

    /** From the return on, nothing is sent or carried out any more. Any thread, outside of steps. */
    void cut() {
        outbound.close();
        inbound.close();
    }

    /** After {@link #cut}: ends the output, which the peer sees. */
    void endOutput() {
        wire.endOutput();
    }

    /** Blocks, bounded, until the peer ended, too. */
    boolean awaitPeerEnd(long timeoutNs) {
        try {
            return wire.awaitPeerEnd(timeoutNs);
        } catch (OsException e) {
            return true;
        }
    }

    /** Closes it. Poll role, once, after {@link #cut}, when no thread waits for the peer's end any more. */
    void release() {
        key = UNWATCHED;
        wire.abort();
        arena.close();
    }
}
