package dev.lite.tier.onesided;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.Operation;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.peer.Poster;

/** Posts one-sided operations between bounce buffers and the arenas of peers, and names what can go wrong. Any thread. */
final class Posts {
    private final PeerLinks links;
    private final PostedMemory.Lanes lanes;

    /** @param lanes which lanes of each connection it uses */
    Posts(PeerLinks links, PostedMemory.Lanes lanes) {
        this.links = links;
        this.lanes = lanes;
    }

    /**
     * Posts once. Unless the post was accepted, its buffer is the caller's again. Does not block.
     *
     * @param offset in the arena of the peer
     * @param first what an atomic operation adds or expects
     * @param second what {@link Operation#COMPARE_AND_SWAP} stores
     * @param soon whether this thread will post or poll again within microseconds
     */
    Post tryPost(
            Peer peer,
            BounceBuffer buffer,
            Operation operation,
            long offset,
            long length,
            long first,
            long second,
            boolean soon) {
        FabricEndpoint endpoint = lanes.of(peer.endpoint());
        long context = Poster.ONE_SIDED.context(buffer.context());
        buffer.state.set(BounceBuffer.POSTED);
        Post post;
        try {
            post = switch (operation) {
                case READ ->
                    soon
                            ? endpoint.readSoon(offset, buffer.address, length, context)
                            : endpoint.read(offset, buffer.address, length, context);
                case WRITE ->
                    soon
                            ? endpoint.writeSoon(offset, buffer.address, length, context)
                            : endpoint.write(offset, buffer.address, length, context);
                case FETCH_ADD ->
                    soon
                            ? endpoint.fetchAddSoon(offset, first, buffer.address, context)
                            : endpoint.fetchAdd(offset, first, buffer.address, context);
                case COMPARE_AND_SWAP ->
                    soon
                            ? endpoint.compareAndSwapSoon(offset, first, second, buffer.address, context)
                            : endpoint.compareAndSwap(offset, first, second, buffer.address, context);
            };
        } catch (RuntimeException e) { // a refused post takes nothing, so no completion follows
            buffer.state.set(BounceBuffer.OWNED);
            throw e;
        }
        if (post != Post.ACCEPTED) {
            buffer.state.set(post == Post.DONE ? BounceBuffer.DONE : BounceBuffer.OWNED);
        }
        return post;
    }

    /** The deadline of an operation has passed. */
    static LiteTimeoutException late(Peer peer, Operation operation, Deadline deadline) {
        return new LiteTimeoutException(deadline.expired(
                "%s of memory on node %s".formatted(operation, peer.hello().node())));
    }

    /** The connection of an operation broke. */
    LmrUnavailableException lost(Peer peer, Operation operation) {
        String trouble = links.trouble(peer.id());
        return new LmrUnavailableException("%s of memory on node %s: its connection over %s broke%s"
                .formatted(operation, peer.hello().node(), peer.fabric(), trouble == null ? "" : " (" + trouble + ")"));
    }
}
