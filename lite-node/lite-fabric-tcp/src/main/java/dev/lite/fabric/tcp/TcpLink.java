package dev.lite.fabric.tcp;

/**
 * What a connection consists of.
 *
 * @param hello the peer's
 * @param remote the peer's memory: only its size is known
 * @param lanes 1 to {@value TcpOptions#LANES_MAX}; the first one carries what is small, and every immediate
 * @param peer the peer's address
 */
record TcpLink(byte[] hello, Memory remote, TcpLane[] lanes, String peer) {

    /** Checks a range of the peer's memory, safe against overflow. */
    void checkRange(long offset, long length) {
        if (!remote.has(offset, length)) {
            throw new IndexOutOfBoundsException(
                    "offset %d and length %d are not within the %d bytes of the peer's memory"
                            .formatted(offset, length, remote.bytes()));
        }
        if (length > Frame.LENGTH_MAX) {
            throw new IllegalArgumentException(
                    "an operation has at most %d bytes, not %d".formatted(Frame.LENGTH_MAX, length));
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
}
