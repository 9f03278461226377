package dev.lite.fabric.rdma;

import dev.lite.fabric.driver.HandshakeException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * How a peer's memory is reached. The peer sends this after the handshake.
 *
 * @param address where the registered memory lies in the peer's process
 * @param bytes its size
 * @param windows how it is cut
 * @param keys one for each window
 * @param creditAddress where the peer reads how many of its immediates were taken; 8 bytes
 * @param creditKey for that
 */
record PeerMemory(long address, long bytes, Windows windows, int[] keys, long creditAddress, int creditKey) {
    private static final long MAGIC = 0x4C495445_4B455953L;
    private static final int FIXED_BYTES = 4 * Long.BYTES + 3 * Integer.BYTES;

    /** What {@link #encode} makes, in bytes. */
    static final int ENCODED_BYTES = FIXED_BYTES + Windows.COUNT_MAX * Integer.BYTES;

    /** For the wire; always of the same length. */
    byte[] encode() {
        byte[] message = new byte[ENCODED_BYTES];
        var fields = ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
        fields.putLong(MAGIC).putLong(address).putLong(bytes).putLong(creditAddress);
        fields.putInt(creditKey).putInt(windows.shift()).putInt(keys.length);
        for (int key : keys) {
            fields.putInt(key);
        }
        return message;
    }

    /**
     * From the wire.
     *
     * @param claimedBytes the size that the peer named in its handshake
     * @throws HandshakeException if it is invalid
     */
    static PeerMemory decode(byte[] message, long claimedBytes) {
        var fields = ByteBuffer.wrap(message).order(ByteOrder.LITTLE_ENDIAN);
        long magic = fields.getLong();
        long address = fields.getLong();
        long bytes = fields.getLong();
        long creditAddress = fields.getLong();
        int creditKey = fields.getInt();
        int shift = fields.getInt();
        int count = fields.getInt();
        if (magic != MAGIC || bytes != claimedBytes || shift < Windows.SHIFT_MIN || shift > Windows.SHIFT_MAX) {
            throw new HandshakeException(
                    "it describes %d bytes of memory in windows of 2^%d; its handshake named %d bytes"
                            .formatted(bytes, shift, claimedBytes));
        }
        var windows = new Windows(shift);
        if (count != windows.count(bytes) || count > Windows.COUNT_MAX) {
            throw new HandshakeException("it describes %d windows for %d bytes of memory, which has %d; the limit is %d"
                    .formatted(count, bytes, windows.count(bytes), Windows.COUNT_MAX));
        }
        int[] keys = new int[count];
        for (int i = 0; i < count; i++) {
            keys[i] = fields.getInt();
        }
        return new PeerMemory(address, bytes, windows, keys, creditAddress, creditKey);
    }

    /** The key for the window that an offset lies in. */
    int key(long offset) {
        return keys[windows.of(offset)];
    }
}
