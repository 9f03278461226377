package dev.lite.fabric.tcp;

import dev.lite.fabric.driver.DriverLink;

/**
 * What a connection consists of.
 *
 * @param hello the peer's
 * @param remoteBytes the size of the peer's memory
 * @param lanes 1 to {@value TcpOptions#LANES_MAX}; the first one carries what is small, and every immediate
 * @param peer the peer's address
 */
record TcpLink(byte[] hello, long remoteBytes, TcpLane[] lanes, String peer) implements DriverLink {

    /** Closes its lanes, which nobody uses any more. */
    void release() {
        for (var lane : lanes) {
            lane.cut();
            lane.release();
        }
    }
}
