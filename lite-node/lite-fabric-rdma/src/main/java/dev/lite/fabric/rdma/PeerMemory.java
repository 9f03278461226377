package dev.lite.fabric.rdma;

import dev.lite.fabric.driver.HandshakeException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The data needed to access a peer's memory. The peer sends it after the handshake.
 *
 * @param address address of the registered memory in the peer's process
 * @param bytes size of the memory
 * @param windows how the memory is split into registrations
 * @param keys one remote key per window
 * @param creditAddress address of the peer's credit word: 8 bytes, in which this node writes how many of the peer's immediates it took
 * @param creditKey remote key of the credit word
 */
record PeerMemory(long address, long bytes, Windows windows, int[] keys, long creditAddress, int creditKey) {
    private static final long MAGIC = 0x4C495445_4B455953L;
    private static final int FIXED_BYTES = 4 * Long.BYTES + 3 * Integer.BYTES;

    /** Length of the encoded form, in bytes. */
    static final int ENCODED_BYTES = FIXED_BYTES + Windows.COUNT_MAX * Integer.BYTES;

    /** Encodes this for the wire, always {@value #ENCODED_BYTES} bytes. */
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
     * Decodes and checks a peer's message.
     *
     * @param claimedBytes the memory size that the peer sent in its handshake
     * @throws HandshakeException if the message is invalid
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
                    "it describes %d bytes of memory in windows of 2^%d bytes; in its handshake it said %d bytes"
                            .formatted(bytes, shift, claimedBytes));
        }
        var windows = new Windows(shift);
        if (count != windows.count(bytes) || count > Windows.COUNT_MAX) {
            throw new HandshakeException(
                    "it describes %d windows for %d bytes of memory, which need %d; the limit is %d"
                            .formatted(count, bytes, windows.count(bytes), Windows.COUNT_MAX));
        }
        int[] keys = new int[count];
        for (int i = 0; i < count; i++) {
            keys[i] = fields.getInt();
        }
        return new PeerMemory(address, bytes, windows, keys, creditAddress, creditKey);
    }

    /** The remote key of the window that contains the offset. */
    int key(long offset) {
        return keys[windows.of(offset)];
    }
}
