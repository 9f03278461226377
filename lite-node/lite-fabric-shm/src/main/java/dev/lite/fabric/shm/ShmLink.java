package dev.lite.fabric.shm;

import dev.lite.fabric.driver.DriverLink;
import dev.lite.os.SharedMemory;

/**
 * The parts of a connection, made by the {@link ShmHandshake}.
 *
 * @param hello the peer's hello
 * @param memory the peer's memory; its mapping outlives the link
 * @param rings the memory of both rings
 * @param doorbell the peer's doorbell
 * @param send the ring to the peer
 * @param receive the ring from the peer
 * @param presence whether the peer has this node's memory mapped; outlives the link
 */
record ShmLink(
        byte[] hello,
        PeerMemory memory,
        SharedMemory rings,
        Doorbell doorbell,
        SendRing send,
        ReceiveRing receive,
        PeerPresence presence)
        implements DriverLink {

    /** The address at which the peer's memory is mapped. */
    long address() {
        return memory.range().start();
    }

    @Override
    public long remoteBytes() {
        return memory.range().bytes();
    }

    /** Unmaps rings and doorbell. Call once, when no thread sends or receives any more. */
    void release() {
        rings.close();
        doorbell.close();
        memory.unlink();
    }
}
