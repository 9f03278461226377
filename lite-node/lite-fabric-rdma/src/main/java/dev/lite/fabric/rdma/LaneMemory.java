package dev.lite.fabric.rdma;

import dev.lite.fabric.driver.LaneHandshake;
import dev.lite.fabric.rdma.verbs.Verbs;
import dev.lite.fabric.rdma.verbs.VerbsException;
import dev.lite.fabric.rdma.verbs.WorkRequest;
import java.lang.foreign.Arena;

/**
 * A lane's own memory: a request to post, small payloads, messages of the handshake, and on the first lane buffers for the
 * peer's messages. Registered for this node's device only; the word that the peer writes has a registration of its own.
 */
final class LaneMemory {
    /** The longest message of a handshake. */
    static final int MESSAGE_BYTES =
            (Math.max(LaneHandshake.MESSAGE_BYTES_MAX, PeerMemory.ENCODED_BYTES) + LaneMemory.LINE_BYTES - 1)
                    & -LaneMemory.LINE_BYTES;

    private static final int LINE_BYTES = 64;
    private static final int MESSAGES = RdmaLane.HANDSHAKE_RECEIVES;
    private static final long PAGE_BYTES = 4096;

    private static final long REQUEST = 0;
    private static final long WORDS = 192;
    private static final long SAID = 256;
    private static final long HEARD = SAID + (long) MESSAGES * MESSAGE_BYTES;
    private static final long BUFFERS = HEARD + (long) MESSAGES * MESSAGE_BYTES;
    private static final long RECEIVES = BUFFERS + (long) Mailbox.RECEIVES * Mailbox.BUFFER_BYTES;
    private static final long BYTES = RECEIVES + (long) Mailbox.RECEIVES * WorkRequest.RECEIVE_BYTES;

    private final Verbs verbs;
    /** Kept as long as this object, so that a late call can still write a request. */
    private final Arena arena = Arena.ofAuto();

    private final long address;
    private final long credit;
    private final Verbs.Region region;
    private final Verbs.Region creditRegion;

    /** Registers. */
    LaneMemory(Verbs verbs, long domain) {
        this.verbs = verbs;
        address = arena.allocate(BYTES, PAGE_BYTES).address();
        credit = arena.allocate(Long.BYTES, LINE_BYTES).address();
        region = verbs.register(domain, address, (int) BYTES, false);
        try {
            creditRegion = verbs.register(domain, credit, Long.BYTES, true);
        } catch (VerbsException e) {
            verbs.deregister(region);
            throw e;
        }
    }

    /** Where a request is written before it is posted. */
    long request() {
        return address + REQUEST;
    }

    /** The place of a small payload, which is copied when it is posted. */
    long payload() {
        return address + WORDS;
    }

    /** The place of a message of the handshake to send. */
    long sent(int count) {
        return address + SAID + (long) count * MESSAGE_BYTES;
    }

    /** Where a message of the handshake comes in. */
    long received(int count) {
        return address + HEARD + (long) count * MESSAGE_BYTES;
    }

    /** The place of the peer's messages. */
    long buffer(int index) {
        return address + BUFFERS + (long) index * Mailbox.BUFFER_BYTES;
    }

    /** The request for one of those. */
    long receive(int index) {
        return address + RECEIVES + (long) index * WorkRequest.RECEIVE_BYTES;
    }

    /** The key for all of this. */
    int key() {
        return region.localKey();
    }

    /** The place where the peer writes how many immediates it took. */
    long credit() {
        return credit;
    }

    int creditKey() {
        return creditRegion.remoteKey();
    }

    /** Gives the registrations up; the queue pair is gone. */
    void release() {
        verbs.deregister(creditRegion);
        verbs.deregister(region);
    }
}
