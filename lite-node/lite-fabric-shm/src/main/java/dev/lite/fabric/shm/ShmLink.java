package dev.lite.fabric.shm;

import dev.lite.fabric.driver.DriverLink;
import dev.lite.os.SharedMemory;

/**
 * What a connection consists of, made by the {@link ShmHandshake}.
 *
 * @param hello the peer's
 * @param address where the peer's memory is mapped; outlives the link
 * @param remoteBytes the size of the peer's memory
 * @param rings the memory of both rings
 * @param doorbell the peer's
 * @param send to the peer
 * @param receive from the peer
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

    /** Unmaps rings and doorbell: nobody sends or receives any more. */
    void release() {
        rings.close();
        doorbell.close();
    }
}
