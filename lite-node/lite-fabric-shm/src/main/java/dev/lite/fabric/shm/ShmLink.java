package dev.lite.fabric.shm;

import dev.lite.os.SharedMemory;

/**
 * What a connection consists of, made by the {@link ShmHandshake}.
 *
 * @param hello the peer's
 * @param address where the peer's memory is mapped; outlives the link
 * @param bytes the size of the peer's memory
 * @param rings the memory of both rings
 * @param doorbell the peer's
 * @param send to the peer
 * @param receive from the peer
 * @param process the peer's; outlives the link
 */
record ShmLink(
        byte[] hello,
        long address,
        long bytes,
        SharedMemory rings,
        Doorbell doorbell,
        SendRing send,
        ReceiveRing receive,
        PeerProcess process) {

    /** Checks a range of the peer's memory, safe against overflow. */
    void checkRange(long offset, long length) {
        if ((offset | length) < 0 || offset > bytes - length) {
            throw new IndexOutOfBoundsException(
                    "offset %d and length %d are not within the %d bytes of the peer's memory"
                            .formatted(offset, length, bytes));
        }
    }

    /** Checks one 64-bit word of the peer's memory. */
    void checkWord(long offset) {
        checkRange(offset, Long.BYTES);
        if ((offset & (Long.BYTES - 1)) != 0) {
            throw new IllegalArgumentException(
                    "the offset of a word must be a multiple of %d, not %d".formatted(Long.BYTES, offset));
        }
    }

    /** Unmaps rings and doorbell: nobody sends or receives any more. */
    void release() {
        rings.close();
        doorbell.close();
    }
}
