package dev.lite.fabric.tcp;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.os.Epoll;
import dev.lite.os.OsException;
import dev.lite.os.wire.WireException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Polls the lanes of the connected endpoints: receives their input and sends acknowledgements and pings. A warm lane,
 * which recently received something, is read in every poll. The others are read when epoll reports them.
 *
 * <p>Used only by the poll role, except {@link #all}.
 */
final class LanePolling {
    /** Number of polls after its last byte during which a lane is read without asking epoll. */
    private static final int WARM_POLLS = 64;
    /** While any lane is warm, epoll is asked about the cold lanes once in this many polls. */
    private static final int COLD_EVERY = 8;
    /** Maximum bytes that a lane receives per turn. Then the next lane has its turn. */
    private static final long TURN_BYTES = 256 << 10;
    /** Likewise the records: small ones take time, too. The last receive of a turn may decrypt a few more. */
    static final long TURN_RECORDS = 256;
    /** While a thread polls, how long acknowledgements of immediates may wait for another frame to carry them. */
    private static final long RIDE_NS = 20_000;
    /** Ticks per peer timeout. A peer is pinged after one silent tick and disconnected after all of them. */
    static final int TICKS = 3;

    private final FabricHandler handler;
    /** Watches all lanes. Only the poll role waits on it, with timeout 0. */
    private final Epoll sockets;

    private final int peerTimeoutMs;

    /**
     * The connected endpoints' lanes. Replaced, never changed, so that a handler may close an endpoint during a poll.
     */
    private Watched[] watched = {};

    /** The same lanes. Written by the poll role. */
    private volatile TcpLane[] lanes = {};

    /** The lanes by key. */
    private final List<@Nullable Watched> byKey = new ArrayList<>();

    private final ArrayDeque<Integer> freeKeys = new ArrayDeque<>();
    private int first;
    private int polls;
    private boolean more;

    /** Whether this poll received anything. */
    private boolean served;

    /** Time since which an acknowledgement waits for a frame to carry it; 0: none waits. */
    private long ridingSinceNs;

    /** A lane with its endpoint and peer. */
    private record Watched(TcpEndpoint endpoint, TcpLane lane, String peer) {}

    /** @param sockets watches every lane; owned by the caller */
    LanePolling(FabricHandler handler, Epoll sockets, int peerTimeoutMs) {
        this.handler = handler;
        this.sockets = sockets;
        this.peerTimeoutMs = peerTimeoutMs;
    }

    /**
     * Starts to poll the lanes of an endpoint.
     *
     * @throws OsException if the system refuses to watch one of them; then none is polled, and none is kept
     */
    void watch(TcpEndpoint endpoint, TcpLink link) {
        var added = link.lanes();
        var now = Arrays.copyOf(watched, watched.length + added.length);
        try {
            for (int i = 0; i < added.length; i++) {
                var one = new Watched(endpoint, added[i], link.peer());
                now[watched.length + i] = one;
                added[i].warm = WARM_POLLS;
                added[i].watch(newKey(one));
            }
            lanes = lanes(now);
            watched = now;
        } finally {
            if (watched != now) {
                for (var lane : added) {
                    freeKey(lane);
                }
            }
        }
    }

    private int newKey(Watched one) {
        var free = freeKeys.poll();
        int key = free == null ? byKey.size() : free;
        if (free == null) {
            byKey.add(one);
        } else {
            byKey.set(key, one);
        }
        return key;
    }

    /** Frees the key of a lane, if it has one. */
    private void freeKey(TcpLane lane) {
        if (lane.key() != TcpLane.UNWATCHED) {
            byKey.set(lane.key(), null);
            freeKeys.add(lane.key());
        }
    }

    private static TcpLane[] lanes(Watched[] watched) {
        return Arrays.stream(watched).map(Watched::lane).toArray(TcpLane[]::new);
    }

    /** Stops polling the lanes of an endpoint, which has ended; again does nothing. */
    void unwatch(TcpEndpoint endpoint) {
        var before = watched;
        var left =
                Arrays.stream(before).filter(one -> one.endpoint() != endpoint).toArray(Watched[]::new);
        lanes = lanes(left);
        watched = left;
        for (var one : before) {
            if (one.endpoint() == endpoint) {
                freeKey(one.lane());
                one.lane().unwatch();
            }
        }
    }

    /**
     * Receives available input, and acknowledges operations executed for peers.
     *
     * @param limit maximum number of completions and immediates passed to the handler
     * @return the number passed
     */
    int poll(int limit, long nowNs) {
        more = false;
        served = false;
        try {
            return pollLanes(limit);
        } finally { // also after an error of the handler: what was executed before it must not wait for more input
            if (served || ridingSinceNs != 0) {
                acknowledge(nowNs);
            }
        }
    }

    /** Whether the last {@link #poll} received anything, even if it passed nothing to the handler. */
    boolean served() {
        return served;
    }

    /** Whether the last {@link #poll} left work that the sockets do not show. */
    boolean hasMore() {
        return more;
    }

    /** Whether an acknowledgement waits for a frame to carry it. */
    boolean isRiding() {
        return ridingSinceNs != 0;
    }

    /** All polled lanes; callers must not change the array. Any thread. */
    TcpLane[] all() {
        return lanes;
    }

    private int pollLanes(int limit) {
        int handed = 0;
        // Not the field: a handler may change it.
        var all = watched;
        boolean warm = false;
        first = first + 1 < all.length ? first + 1 : 0;
        for (int i = 0; i < all.length; i++) {
            int turn = first + i;
            var one = all[turn < all.length ? turn : turn - all.length];
            if (one.lane().warm > 0) {
                warm = true;
                one.lane().outbound.writable();
                handed += poll(one, limit - handed);
            }
        }
        if (!warm || ++polls % COLD_EVERY == 0) {
            handed += pollCold(limit - handed);
        }
        return handed;
    }

    /** Asks epoll which lanes have input, and receives from them. */
    private int pollCold(int limit) {
        int handed = 0;
        int ready = sockets.await(0);
        for (int i = 0; i < ready; i++) {
            int key = (int) sockets.key(i);
            var one = key < byKey.size() ? byKey.get(key) : null;
            if (one == null) {
                continue;
            }
            if (sockets.isWritable(i)) {
                one.lane().outbound.writable();
            }
            if (sockets.isReadable(i) && one.lane().warm == 0) {
                one.lane().warm = WARM_POLLS;
                handed += poll(one, limit - handed);
            }
        }
        return handed;
    }

    private int poll(Watched one, int limit) {
        var lane = one.lane();
        var endpoint = one.endpoint();
        var inbound = lane.inbound;
        if (endpoint.end() != null) {
            // Deliver nothing more; queue the endpoint's end.
            lane.more = false;
            lane.warm = 0;
            return 0;
        }
        long bytesMax = inbound.received() + TURN_BYTES;
        long recordsMax = inbound.records() + TURN_RECORDS;
        boolean worked = false;
        int handed = 0;
        try {
            lane.more = true;
            while (handed < limit && inbound.received() < bytesMax && inbound.records() < recordsMax) {
                var step = inbound.step();
                worked |= step != Inbound.Step.IDLE;
                switch (step) {
                    case IDLE -> {
                        lane.more = false;
                        limit = 0;
                    }
                    case PROGRESS -> {}
                    case LATER -> limit = 0; // more is left
                    case COMPLETED -> {
                        handed++;
                        handler.completed(endpoint, inbound.context());
                    }
                    case REFUSED -> {
                        handed++;
                        handler.failed(endpoint, inbound.context(), FabricError.REFUSED);
                    }
                    case IMMEDIATE -> {
                        handed++;
                        handler.immediate(endpoint, inbound.immediate());
                    }
                }
            }
            lane.outbound.sendAnswers();
        } catch (OsException | WireException e) {
            lane.more = false;
            endpoint.lost("peer %s: %s".formatted(one.peer(), e.getMessage()), FabricError.FLUSHED);
        } finally {
            // Also after an error of the handler: the rest of the input and its answers must not wait for more input.
            more |= lane.more;
            if (lane.more || worked) {
                served = true;
                lane.warm = WARM_POLLS;
            } else {
                lane.warm--;
            }
        }
        return handed;
    }

    /**
     * Acknowledges writes at once, and immediates a little later: the frame of a following answer will probably
     * acknowledge them.
     */
    private void acknowledge(long now) {
        boolean tooLong = ridingSinceNs != 0 && now - ridingSinceNs > RIDE_NS;
        boolean riding = false;
        for (var one : watched) {
            var lane = one.lane();
            if (lane.inbound.takePinged()) {
                lane.outbound.acknowledge(true);
            } else if (lane.inbound.takePromptly() || tooLong) {
                lane.outbound.acknowledge(false);
            } else {
                riding |= lane.outbound.owesAcknowledgement();
            }
        }
        if (!riding) {
            ridingSinceNs = 0;
        } else if (ridingSinceNs == 0) {
            ridingSinceNs = now == 0 ? 1 : now;
        }
    }

    /** Sends all pending acknowledgements before the poll role blocks. */
    void acknowledgeAll() {
        for (var one : watched) {
            one.lane().outbound.acknowledge(false);
        }
        ridingSinceNs = 0;
    }

    /**
     * Checks for peers that were silent for too long, and shows the others that this node is not. Call {@value #TICKS} times per peer
     * timeout.
     */
    void tick() {
        for (var one : watched) {
            int silent = one.lane().tick();
            if (silent >= TICKS) {
                one.endpoint()
                        .lost(
                                "peer %s was silent for %d ms (%s)"
                                        .formatted(one.peer(), peerTimeoutMs, TcpOptions.PEER_TIMEOUT_MS),
                                FabricError.TIMED_OUT);
            } else if (silent > 0) {
                one.lane().outbound.ping();
            } else {
                // While the peer sends a long payload, it gets no answer, and its ping lies behind the payload.
                one.lane().outbound.acknowledge(true);
            }
        }
    }
}
