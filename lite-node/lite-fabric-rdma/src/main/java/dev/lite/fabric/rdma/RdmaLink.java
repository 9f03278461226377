package dev.lite.fabric.rdma;

import dev.lite.fabric.driver.DriverLink;

/**
 * What a connection consists of.
 *
 * @param hello the peer's
 * @param own this node's memory
 * @param remote the peer's
 * @param lanes 1 to {@value RdmaOptions#LANES_MAX}; the first one carries what is small, every immediate and every atomic step
 * @param mailbox of the first lane
 * @param peer the peer's address
 */
record RdmaLink(byte[] hello, OwnMemory own, PeerMemory remote, RdmaLane[] lanes, Mailbox mailbox, String peer)
        implements DriverLink {

    @Override
    public long remoteBytes() {
        return remote.bytes();
    }

    /** Destroys its lanes; from then on, the device touches no memory for them. */
    void destroy() {
        for (var lane : lanes) {
            lane.destroy();
        }
    }
}
