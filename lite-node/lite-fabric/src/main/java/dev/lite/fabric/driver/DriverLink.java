package dev.lite.fabric.driver;

/** The parts of an open connection. Made by the handshake, and never changed. */
public interface DriverLink {

    /** The peer's hello, not copied. */
    byte[] hello();

    /** The size of the peer's registered memory, in bytes. */
    long remoteBytes();

    /**
     * Checks a range of the peer's memory, safe against overflow.
     *
     * @throws IndexOutOfBoundsException when it does not lie in that memory
     */
    default void checkRange(long offset, long length) {
        long bytes = remoteBytes();
        if ((offset | length) < 0 || offset > bytes - length) {
            throw new IndexOutOfBoundsException(
                    "offset %d and length %d are not within the %d bytes of the peer's memory"
                            .formatted(offset, length, bytes));
        }
    }

    /**
     * Checks a range of the peer's memory, and its length against the limit of one operation.
     *
     * @param lengthMax the longest operation, in bytes
     * @throws IndexOutOfBoundsException when the range does not lie in that memory
     * @throws IllegalArgumentException if it is too long
     */
    default void checkRange(long offset, long length, long lengthMax) {
        checkRange(offset, length);
        if (length > lengthMax) {
            throw new IllegalArgumentException(
                    "an operation has at most %d bytes, not %d".formatted(lengthMax, length));
        }
    }

    /**
     * Checks one 64-bit word of the peer's memory.
     *
     * @throws IndexOutOfBoundsException when it does not lie in that memory
     * @throws IllegalArgumentException when it is not aligned
     */
    default void checkWord(long offset) {
        checkRange(offset, Long.BYTES);
        if ((offset & (Long.BYTES - 1)) != 0) {
            throw new IllegalArgumentException(
                    "the offset of a word must be a multiple of %d, not %d".formatted(Long.BYTES, offset));
        }
    }
}
