package dev.lite.fabric.rdma;

import dev.lite.fabric.driver.DriverLink;

/**
 * The parts of a connection.
 *
 * @param hello the peer's hello
 * @param own this node's memory
 * @param remote the peer's memory
 * @param lanes 1 to {@value RdmaOptions#LANES_MAX}; the first one carries small operations, every immediate and every atomic step
 * @param mailbox the mailbox of the first lane
 * @param peer the peer's address
 */
record RdmaLink(byte[] hello, OwnMemory own, PeerMemory remote, RdmaLane[] lanes, Mailbox mailbox, String peer)
        implements DriverLink {

    @Override
    public long remoteBytes() {
        return remote.bytes();
    }

    /**
     * Destroys the lanes; a failure at one keeps no other. After the return, the device accesses no memory for
     * them.
     */
    void destroy() {
        destroy(0);
    }

    private void destroy(int from) {
        if (from < lanes.length) {
            try {
                lanes[from].destroy();
            } finally {
                destroy(from + 1);
            }
        }
    }
}
