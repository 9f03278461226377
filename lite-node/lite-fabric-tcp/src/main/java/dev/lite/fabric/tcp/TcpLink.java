package dev.lite.fabric.tcp;

import dev.lite.fabric.driver.DriverLink;

/**
 * The parts of a connection.
 *
 * @param hello the peer's hello
 * @param remoteBytes the size of the peer's memory
 * @param lanes 1 to {@value TcpOptions#LANES_MAX}; the first one carries small operations and every immediate
 * @param peer the peer's address
 */
record TcpLink(byte[] hello, long remoteBytes, TcpLane[] lanes, String peer) implements DriverLink {

    /** Closes the lanes, which no thread uses any more. */
    void release() {
        for (var lane : lanes) {
            lane.cut();
            lane.release();
        }
    }
}
