package dev.lite.fabric.rdma;

import dev.lite.fabric.handshake.HandshakeException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * How a peer's memory is reached: what it tells once it knows whom it talks to.
 *
 * @param address where the registered memory lies in the peer's process
 * @param bytes its size
 * @param keys one for each window of {@link OwnMemory#WINDOW_BYTES}
 * @param creditAddress where the peer reads how many of its immediates were taken; 8 bytes
 * @param creditKey for that
 */
record RemoteMemory(long address, long bytes, int[] keys, long creditAddress, int creditKey) {
    private static final long MAGIC = 0x4C495445_4B455953L;
    private static final int FIXED_BYTES = 4 * Long.BYTES + 2 * Integer.BYTES;

    /** What {@link #encode} makes, in bytes. */
    static final int ENCODED_BYTES = FIXED_BYTES + OwnMemory.WINDOWS_MAX * Integer.BYTES;

    /** For the wire; always of the same length. */
    byte[] encode() {
        byte[] message = new byte[ENCODED_BYTES];
        var fields = ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
        fields.putLong(MAGIC).putLong(address).putLong(bytes).putLong(creditAddress);
        fields.putInt(creditKey).putInt(keys.length);
        for (int key : keys) {
            fields.putInt(key);
        }
        return message;
    }

    /**
     * From the wire.
     *
     * @param claimedBytes the size that the peer named in its handshake
     * @throws HandshakeException when it makes no sense
     */
    static RemoteMemory decode(byte[] message, long claimedBytes) {
        var fields = ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
        long magic = fields.getLong();
        long address = fields.getLong();
        long bytes = fields.getLong();
        long creditAddress = fields.getLong();
        int creditKey = fields.getInt();
        int count = fields.getInt();
        long windows = OwnMemory.windows(claimedBytes);
        if (magic != MAGIC || bytes != claimedBytes || count != windows || count > OwnMemory.WINDOWS_MAX) {
            throw new HandshakeException("it names %d bytes of memory in %d windows; said were %d bytes, in %d windows"
                    .formatted(bytes, count, claimedBytes, windows));
        }
        int[] keys = new int[count];
        for (int i = 0; i < count; i++) {
            keys[i] = fields.getInt();
        }
        return new RemoteMemory(address, bytes, keys, creditAddress, creditKey);
    }

    /** Whether a range lies in it, safe against overflow. */
    boolean has(long offset, long length) {
        return (offset | length) >= 0 && offset <= bytes - length;
    }

    /** The key for the window that an offset lies in. */
    int key(long offset) {
        return keys[(int) (offset >>> OwnMemory.WINDOW_SHIFT)];
    }

    /** Checks a range. */
    void checkRange(long offset, long length) {
        if (!has(offset, length)) {
            throw new IndexOutOfBoundsException(
                    "offset %d and length %d are not within the %d bytes of the peer's memory"
                            .formatted(offset, length, bytes));
        }
        if (length > RdmaFabric.OPERATION_BYTES_MAX) {
            throw new IllegalArgumentException(
                    "an operation has at most %d bytes, not %d".formatted(RdmaFabric.OPERATION_BYTES_MAX, length));
        }
    }

    /** Checks one 64-bit word. */
    void checkWord(long offset) {
        checkRange(offset, Long.BYTES);
        if ((offset & (Long.BYTES - 1)) != 0) {
            throw new IllegalArgumentException(
                    "the offset of a word must be a multiple of %d, not %d".formatted(Long.BYTES, offset));
        }
    }
}
