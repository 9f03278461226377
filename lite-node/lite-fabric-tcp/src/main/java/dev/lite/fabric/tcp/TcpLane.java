package dev.lite.fabric.tcp;

import dev.lite.os.Epoll;
import dev.lite.os.OsException;
import dev.lite.os.TcpSocket;
import dev.lite.os.wire.Wire;
import java.lang.foreign.Arena;
import java.util.function.Consumer;

/**
 * One of the connections of an endpoint.
 *
 * <p>Not final: a test stops a thread at a step.
 */
class TcpLane extends Departing implements Outbound.Trouble {
    /** The key of a lane that is not watched. */
    static final int UNWATCHED = -1;

    final Outbound outbound;
    final Inbound inbound;
    private final Wire wire;
    private final TcpSocket socket;
    private final Epoll sockets;
    private final Consumer<String> broken;
    private final Departures departures;
    private final StandbyChecks checks;
    private final Arena arena;

    /** The lane's key in the fabric; guarded by {@link #outbound}'s lock and written before the first post. */
    private volatile int key = UNWATCHED;

    /** Whether a thread left frames to its own next post or poll. Stays until the next departure. */
    private volatile boolean leftUnsent;

    /** Poll role: remaining polls in which the lane is read without asking epoll. */
    int warm;

    /** Poll role: whether input was left after the lane's last turn. */
    boolean more;

    /** Standby thread: {@link Outbound#acknowledgedSent} at its last check. */
    int sentAtCheck;

    /** Poll role: {@link Inbound#received} at the last tick. */
    private long receivedAtTick;

    /** Poll role: number of ticks without input. */
    private int silentTicks;

    /**
     * @param memory this node's memory, which the peer may access
     * @param sockets the epoll set that watches the lane
     * @param departures the lanes whose frames the polling thread sends
     * @param checks steps in when no thread polls
     * @param broken called at least once, by any thread, with the reason if the lane is no longer usable
     */
    TcpLane(
            Wire wire,
            TcpSocket socket,
            Memory memory,
            Epoll sockets,
            Departures departures,
            StandbyChecks checks,
            Consumer<String> broken) {
        this(wire, socket, memory, sockets, departures, checks, broken, Arena.ofShared());
    }

    /** For tests: there may be no memory. The lane owns the arena. */
    TcpLane(
            Wire wire,
            TcpSocket socket,
            Memory memory,
            Epoll sockets,
            Departures departures,
            StandbyChecks checks,
            Consumer<String> broken,
            Arena arena) {
        this.wire = wire;
        this.socket = socket;
        this.sockets = sockets;
        this.departures = departures;
        this.checks = checks;
        this.broken = broken;
        this.arena = arena;
        try {
            outbound = new Outbound(wire, this, arena);
            inbound = new Inbound(wire, outbound, memory, arena);
        } catch (RuntimeException | Error e) { // also without memory
            arena.close();
            throw e;
        }
    }

    /** Starts to watch the lane under this key. Poll role, before the first post. */
    void watch(int newKey) {
        key = newKey;
        sockets.add(socket, Epoll.IN, newKey);
    }

    int key() {
        return key;
    }

    /** Stops watching the lane, which sends nothing more. Poll role. */
    void unwatch() {
        key = UNWATCHED;
        try {
            sockets.remove(socket);
        } catch (OsException e) {
            // the set is closed
        }
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

    @Override
    public boolean isPolled(int promptBefore) {
        return departures.isPolled(outbound.operations, promptBefore, leftUnsent);
    }

    @Override
    public boolean leave(int promptBefore, boolean soon) {
        boolean othersUnsent = leftUnsent;
        if (soon) {
            leftUnsent = true; // before the lane is among the departures, so that its departure clears it
        }
        boolean polled = departures.leave(this, outbound.operations, promptBefore, othersUnsent);
        if (soon && !polled) {
            checks.left();
            return true;
        }
        if (polled && departures.isPollerVirtual()) {
            checks.start();
        }
        return polled;
    }

    @Override
    void depart() {
        leftUnsent = false; // before it sends: a frame that it does not send then enters again
        outbound.send();
    }

    /** See {@link Outbound#owesAcknowledgement}. */
    boolean owesAcknowledgement() {
        return outbound.owesAcknowledgement();
    }

    /** Poll role: counts a tick; returns the number of ticks without input. */
    int tick() {
        long received = inbound.received();
        silentTicks = received == receivedAtTick ? silentTicks + 1 : 0;
        receivedAtTick = received;
        return silentTicks;
    }

    /** After the return, the lane sends and executes nothing more. Any thread, outside of steps. */
    void cut() {
        outbound.close();
        inbound.close();
    }

    /** After {@link #cut}: ends the output, which the peer sees. */
    void endOutput() {
        wire.endOutput();
    }

    /** Blocks until the peer also ended its output, or until the timeout. */
    boolean awaitPeerEnd(long timeoutNs) {
        try {
            return wire.awaitPeerEnd(timeoutNs);
        } catch (OsException e) {
            return true;
        }
    }

    /** After {@link #cut}: drops what the peer has not executed, and tells it. Any thread. */
    void reset() {
        wire.abort();
    }

    /** Closes the lane. Poll role, once, after {@link #cut}, when no thread waits for the peer's end any more. */
    void release() {
        key = UNWATCHED;
        wire.abort();
        arena.close();
    }
}
