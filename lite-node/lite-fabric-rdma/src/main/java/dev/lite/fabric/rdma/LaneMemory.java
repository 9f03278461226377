package dev.lite.fabric.rdma;

import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.fabric.rdma.verbs.WorkRequest;
import java.lang.foreign.Arena;

/**
 * The native memory of one lane. It holds a request to post, small payloads, and the handshake's messages; the first lane also uses its
 * buffers for the peer's messages. Only this node's device can access it. The credit word, which the peer writes, is registered separately.
 */
final class LaneMemory {
    /** Maximum length of a handshake message, in bytes. */
    static final int MESSAGE_BYTES =
            (Math.max(LaneHandshake.MESSAGE_BYTES_MAX, PeerMemory.ENCODED_BYTES) + LaneMemory.LINE_BYTES - 1)
                    & -LaneMemory.LINE_BYTES;

    private static final int LINE_BYTES = 64;
    private static final int MESSAGES = RdmaLane.HANDSHAKE_RECEIVES;
    private static final long PAGE_BYTES = 4096;

    private static final long REQUEST = 0;
    private static final long WORDS = 192;
    private static final long SENT = 256;
    private static final long RECEIVED = SENT + (long) MESSAGES * MESSAGE_BYTES;
    private static final long BUFFERS = RECEIVED + (long) MESSAGES * MESSAGE_BYTES;
    private static final long RECEIVES = BUFFERS + (long) Mailbox.RECEIVES * Mailbox.BUFFER_BYTES;
    private static final long BYTES = RECEIVES + (long) Mailbox.RECEIVES * WorkRequest.RECEIVE_BYTES;

    private final Verbs verbs;
    /** Lives as long as this object, so that a late call can still safely write a request. */
    private final Arena arena = Arena.ofAuto();

    private final long address;
    private final long credit;
    private final Verbs.Region region;
    private final Verbs.Region creditRegion;

    /** Allocates and registers the memory. */
    LaneMemory(Verbs verbs, long domain) {
        this.verbs = verbs;
        address = arena.allocate(BYTES, PAGE_BYTES).address();
        credit = arena.allocate(Long.BYTES, LINE_BYTES).address();
        region = verbs.register(domain, address, (int) BYTES, false);
        try {
            creditRegion = verbs.register(domain, credit, Long.BYTES, true);
        } catch (RuntimeException | Error e) { // also without memory
            verbs.deregister(region);
            throw e;
        }
    }

    /** Address at which a request is built before it is posted. */
    long request() {
        return address + REQUEST;
    }

    /** Address of a small payload, which the device copies when the request is posted. */
    long payload() {
        return address + WORDS;
    }

    /** Address of an outgoing handshake message. */
    long sent(int count) {
        return address + SENT + (long) count * MESSAGE_BYTES;
    }

    /** Address of an incoming handshake message. */
    long received(int count) {
        return address + RECEIVED + (long) count * MESSAGE_BYTES;
    }

    /** Address of a buffer for a message of the peer. */
    long buffer(int index) {
        return address + BUFFERS + (long) index * Mailbox.BUFFER_BYTES;
    }

    /** Address of the receive request for such a buffer. */
    long receive(int index) {
        return address + RECEIVES + (long) index * WorkRequest.RECEIVE_BYTES;
    }

    /** The local key of this memory, without the credit word. */
    int key() {
        return region.localKey();
    }

    /** Address of the credit word, in which the peer writes the number of immediates that it took. */
    long credit() {
        return credit;
    }

    int creditKey() {
        return creditRegion.remoteKey();
    }

    /** Releases the registrations. Call after the queue pair is destroyed. */
    void release() {
        try {
            verbs.deregister(creditRegion);
        } finally {
            verbs.deregister(region);
        }
    }
}
