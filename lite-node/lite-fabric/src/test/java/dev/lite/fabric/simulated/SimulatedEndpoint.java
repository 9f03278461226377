package dev.lite.fabric.simulated;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.Post;
import dev.lite.fabric.simulated.Operation.Kind;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One side of a simulated connection. All state but the attachment is guarded by the network's lock. */
final class SimulatedEndpoint implements FabricEndpoint {
    /** The state as its user sees it. */
    private enum State {
        CONNECTING,
        OPEN,
        CLOSED
    }

    /** The state that both sides of a connection share. */
    static final class Link {
        /** The time at which the connecting side learns of the connection; nothing reaches it earlier. */
        final long establishedNs;

        /** Either side closed, or the connection broke. The sides may not have learned of it yet. */
        boolean cut;

        Link(long establishedNs) {
            this.establishedNs = establishedNs;
        }
    }

    final SimulatedFabric fabric;
    private final SimulatedNetwork network;
    private final String label;
    private final boolean accepted;

    private State state = State.CONNECTING;
    private boolean announced;
    private boolean closedHere;
    private boolean endReported;

    @Nullable
    private SimulatedEndpoint peer;

    @Nullable
    private Link link;

    /** Operations that are accepted and not completed, in the order of posting. */
    private final Set<Operation> underWay = new LinkedHashSet<>();

    /** Number of accepted operations whose completion was not delivered yet; bounded by the queue depth. */
    private int posted;

    /** Number of immediates posted here that the peer's handler has not received yet; also bounded by the queue depth. */
    private int immediatesUnderWay;

    /** Per posting thread: the future arrival time of its last immediate. */
    private final Map<Thread, Long> lastImmediateNs = new HashMap<>();

    @Nullable
    private volatile Object attachment;

    SimulatedEndpoint(SimulatedFabric fabric, boolean accepted, int number) {
        this.fabric = fabric;
        this.network = fabric.network;
        this.accepted = accepted;
        this.label = fabric.node() + "#" + number;
    }

    @Override
    public byte[] hello() {
        return network.locked(() -> announced && peer != null ? peer.fabric.hello() : new byte[0]);
    }

    @Override
    public long remoteSize() {
        return network.locked(() -> announced && peer != null ? peer.fabric.memoryBytes() : 0L);
    }

    @Override
    public long mappedAddress() {
        return 0;
    }

    @Override
    public Post read(long remoteOffset, long localAddress, long length, long context) {
        return post(Operation.transfer(Kind.READ, remoteOffset, localAddress, length, 0, context));
    }

    @Override
    public Post write(long remoteOffset, long localAddress, long length, long context) {
        return post(Operation.transfer(Kind.WRITE, remoteOffset, localAddress, length, 0, context));
    }

    @Override
    public Post writeImm(long remoteOffset, long localAddress, long length, int immediate, long context) {
        return post(Operation.transfer(Kind.WRITE_IMM, remoteOffset, localAddress, length, immediate, context));
    }

    @Override
    public Post fetchAdd(long remoteOffset, long delta, long resultAddress, long context) {
        return post(Operation.atomic(Kind.FETCH_ADD, remoteOffset, 0, delta, resultAddress, context));
    }

    @Override
    public Post compareAndSwap(long remoteOffset, long expected, long value, long resultAddress, long context) {
        return post(Operation.atomic(Kind.COMPARE_AND_SWAP, remoteOffset, expected, value, resultAddress, context));
    }

    @Override
    @Nullable
    public Object attachment() {
        return attachment;
    }

    @Override
    public void attach(@Nullable Object attachment) {
        this.attachment = attachment;
    }

    @Override
    public void close() {
        network.locked(() -> {
            closeHere("closed here");
            return true;
        });
    }

    private Post post(Operation operation) {
        return network.locked(() -> {
            SimulatedEndpoint to = peer;
            if (state != State.OPEN || to == null) {
                return Post.CLOSED;
            }
            check(operation, to.fabric.memoryBytes());
            int depth = network.options().queueDepth();
            boolean immediate = operation.kind == Kind.WRITE_IMM;
            if (posted >= depth || (immediate && immediatesUnderWay >= depth)) {
                return Post.BUSY;
            }
            posted++;
            underWay.add(operation);
            if (immediate) {
                immediatesUnderWay++;
            }
            network.trace(label + " posts " + operation);
            network.schedule(arrivalNs(immediate), fabric, () -> arrive(operation));
            network.injectFaults(this);
            if (immediate) {
                network.sends(fabric, to.fabric, operation.immediate, operation.localAddress);
            }
            return Post.ACCEPTED;
        });
    }

    private void check(Operation operation, long remoteBytes) {
        long offset = operation.remoteOffset;
        long length = operation.length;
        if ((offset | length) < 0 || offset > remoteBytes - length) {
            throw new IndexOutOfBoundsException("remote range [%d, +%d) does not lie in the %d bytes of node %s"
                    .formatted(offset, length, remoteBytes, peerNode()));
        }
        if (operation.isAtomic() && offset % Long.BYTES != 0) {
            throw new IllegalArgumentException(
                    "remote offset %d of an atomic operation is not a multiple of %d".formatted(offset, Long.BYTES));
        }
        if (length > network.options().operationBytesMax()) {
            throw new IllegalArgumentException("%d bytes in one operation; the limit is %d"
                    .formatted(length, network.options().operationBytesMax()));
        }
    }

    /** Operations arrive in any order, except the immediates of one thread. Of equal times, the one scheduled first comes first. */
    private long arrivalNs(boolean immediate) {
        long atNs = Math.max(network.arrivalNs(), link == null ? 0 : link.establishedNs);
        if (immediate) {
            lastImmediateNs.values().removeIf(ns -> ns < network.clockNs());
            atNs = Math.max(atNs, lastImmediateNs.getOrDefault(Thread.currentThread(), 0L));
            lastImmediateNs.put(Thread.currentThread(), atNs);
        }
        return atNs;
    }

    private void arrive(Operation operation) {
        SimulatedEndpoint to = peer;
        Link over = link;
        if (operation.ended || to == null || over == null) {
            return;
        }
        if (over.cut) {
            // The operation fails when this side learns of the cut. Until then it may or may not have reached the peer.
            perhapsCarryOut(operation, to);
            return;
        }
        network.trace(label + " executes " + operation);
        if (operation.length > 0) {
            network.touches(fabric, to.fabric, over.establishedNs);
        }
        operation.carryOut(to.fabric.memoryAddress());
        if (operation.kind == Kind.WRITE_IMM && !to.closedHere) {
            to.fabric.deliver(new Delivery.Immediate(to, operation.immediate));
        }
        network.schedule(network.arrivalNs(), null, () -> complete(operation));
    }

    private void complete(Operation operation) {
        if (operation.ended) {
            return;
        }
        operation.ended = true;
        underWay.remove(operation);
        operation.placeResult();
        fabric.deliver(new Delivery.Completed(this, operation.context));
    }

    private void perhapsCarryOut(Operation operation, SimulatedEndpoint to) {
        // A peer whose side has ended lets nothing in any more, however late this side hears of it.
        if (!operation.isCarriedOut() && !to.isClosed() && !to.fabric.isClosed() && network.chance(0.5)) {
            network.trace(label + " executes, although disconnected, " + operation);
            if (operation.length > 0) {
                network.touches(fabric, to.fabric, link == null ? 0 : link.establishedNs);
            }
            operation.carryOut(to.fabric.memoryAddress());
        }
    }

    /** Closed by this side. The peer's posts arrive until the end is reported here; the peer learns of it later. */
    void closeHere(String reason) {
        if (state == State.CLOSED) {
            return;
        }
        closedHere = true;
        shut(reason);
    }

    private void cutAfterClose() {
        if (closedHere && link != null && !link.cut) {
            link.cut = true;
            tellPeer("closed by node " + fabric.node());
        }
    }

    /** The connection broke. Both sides learn of it later, at different times. */
    void drop() {
        if (link != null && !link.cut) {
            link.cut = true;
            network.trace(label + " loses its connection");
            network.schedule(network.arrivalNs(), null, () -> shut("connection lost"));
            tellPeer("connection lost");
        }
    }

    /** The connection broke: this side hears of it soon, the peer only after a delay. */
    void dropHalf(long delayNs) {
        if (link != null && !link.cut) {
            link.cut = true;
            network.trace(label + " loses its connection; the peer does not hear of it for " + delayNs + " ns");
            network.schedule(network.arrivalNs(), null, () -> shut("connection lost"));
            SimulatedEndpoint to = peer;
            if (to != null) {
                network.schedule(network.clockNs() + delayNs, null, () -> to.shut("connection lost"));
            }
        }
    }

    private void tellPeer(String reason) {
        SimulatedEndpoint to = peer;
        if (to != null) {
            network.schedule(Math.max(network.arrivalNs(), to.knownFromNs()), null, () -> to.shut(reason));
        }
    }

    private long knownFromNs() {
        return accepted || link == null ? 0 : link.establishedNs;
    }

    /** Fails all outstanding operations, then ends the endpoint. */
    void shut(String reason) {
        if (state == State.CLOSED) {
            return;
        }
        state = State.CLOSED;
        network.trace(label + " shuts: " + reason);
        for (Operation operation : underWay) {
            if (peer != null) {
                perhapsCarryOut(operation, peer);
            }
            operation.ended = true;
            fabric.deliver(new Delivery.Failed(this, operation.context, FabricError.FLUSHED));
        }
        underWay.clear();
        long lateNs = closedHere && !fabric.isClosed() ? network.closeReportedAfterNs() : 0;
        if (lateNs > 0) {
            network.schedule(network.clockNs() + lateNs, null, () -> reportEnd(reason));
        } else {
            reportEnd(reason);
        }
    }

    /** Tells the handler that the endpoint has ended, unless it knows. */
    void reportEnd(String reason) {
        if (!endReported) {
            endReported = true;
            cutAfterClose();
            fabric.deliver(new Delivery.Disconnected(this, reason));
        }
    }

    /** Connects the two sides; the accepting one may learn of it at once. */
    static void join(SimulatedEndpoint from, SimulatedEndpoint to, long establishedNs) {
        Link link = new Link(establishedNs);
        from.peer = to;
        to.peer = from;
        from.link = link;
        to.link = link;
        to.fabric.deliver(new Delivery.Connected(to, true));
    }

    /** The connecting side learns that it is connected. */
    void established() {
        if (state == State.CONNECTING) {
            fabric.deliver(new Delivery.Connected(this, false));
        }
    }

    /**
     * Called under the lock, just before the handler is called.
     *
     * @return whether to call the handler
     */
    boolean handOver(Delivery delivery) {
        boolean known = switch (delivery) {
            case Delivery.Connected unused -> announce();
            case Delivery.Disconnected unused -> {
                fabric.forget(this);
                yield announced || !accepted;
            }
            case Delivery.Completed unused -> endPost();
            case Delivery.Failed unused -> endPost();
            case Delivery.Immediate unused -> {
                if (peer != null) {
                    peer.immediatesUnderWay--;
                }
                yield announced;
            }
        };
        if (known) {
            network.trace(label + " delivers " + delivery);
        }
        return known;
    }

    private boolean endPost() {
        posted--;
        return true;
    }

    private boolean announce() {
        if (closedHere) {
            return false;
        }
        announced = true;
        if (state == State.CONNECTING) {
            state = State.OPEN;
        }
        return true;
    }

    boolean isClosed() {
        return state == State.CLOSED;
    }

    String peerNode() {
        return peer == null ? "?" : peer.fabric.node();
    }

    @Override
    public String toString() {
        return label;
    }
}
