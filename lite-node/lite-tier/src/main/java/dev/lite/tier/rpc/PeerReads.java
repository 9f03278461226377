package dev.lite.tier.rpc;

import dev.lite.os.waiting.Deadline;
import dev.lite.tier.peer.Peer;
import java.lang.foreign.MemorySegment;

/** Reads the memory of other nodes, each over one connection. Any thread. */
@FunctionalInterface
public interface PeerReads {
    /**
     * The peer's memory → the first {@code length} bytes of {@code to}. Blocks up to the deadline. A read whose connection is lost is not
     * repeated: what it would find there then may be something else.
     *
     * @param offset from the start of the peer's arena
     * @throws dev.lite.api.LmrUnavailableException when the connection is lost
     * @throws dev.lite.api.LiteTimeoutException when the deadline passed first
     */
    void read(Peer peer, long offset, MemorySegment to, long length, Deadline deadline);
}
