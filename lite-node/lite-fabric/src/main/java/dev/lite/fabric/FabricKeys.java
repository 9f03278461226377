package dev.lite.fabric;

/**
 * The keys of a lane or a stream, one for each direction. They are fresh for each lane or stream, and known only to its two ends. The
 * sending key of one side is the receiving key of the other.
 *
 * @param send {@value #BYTES} bytes for what this side sends
 * @param receive {@value #BYTES} bytes for what the other side sends
 */
public record FabricKeys(byte[] send, byte[] receive) {
    /** Bytes of a key. */
    public static final int BYTES = 32;

    /**
     * Checks the lengths.
     *
     * @throws IllegalArgumentException if one is not {@value #BYTES} bytes long
     */
    public FabricKeys {
        if (send.length != BYTES || receive.length != BYTES) {
            throw new IllegalArgumentException(
                    "a key has %d bytes, not %d or %d".formatted(BYTES, send.length, receive.length));
        }
    }

    /** Without the keys. */
    @Override
    public String toString() {
        return "FabricKeys";
    }
}
