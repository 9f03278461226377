package dev.lite.fabric.shm;

import dev.lite.fabric.driver.DriverLink;
import dev.lite.os.SharedMemory;

/**
 * The parts of a connection, made by the {@link ShmHandshake}.
 *
 * @param hello the peer's hello
 * @param address address at which the peer's memory is mapped; the mapping outlives the link
 * @param remoteBytes the size of the peer's memory
 * @param rings the memory of both rings
 * @param doorbell the peer's doorbell
 * @param send the ring to the peer
 * @param receive the ring from the peer
 * @param presence whether the peer has this node's memory mapped; outlives the link
 */
record ShmLink(
        byte[] hello,
        long address,
        long remoteBytes,
        SharedMemory rings,
        Doorbell doorbell,
        SendRing send,
        ReceiveRing receive,
        PeerPresence presence)
        implements DriverLink {

    /** Unmaps rings and doorbell. Call when no thread sends or receives any more. */
    void release() {
        rings.close();
        doorbell.close();
    }
}
