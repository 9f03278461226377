package dev.lite.fabric.driver;

import dev.lite.os.wire.SealedWire;

/**
 * The keys of a lane, one for each direction: fresh for each lane, and known to its two ends only.
 *
 * @param send {@value #BYTES} bytes for what this side sends
 * @param receive {@value #BYTES} bytes for what the other side sends
 */
public record LaneKeys(byte[] send, byte[] receive) {
    /** Bytes of a key. */
    public static final int BYTES = SealedWire.KEY_BYTES;

    /** Without the keys. */
    @Override
    public String toString() {
        return "LaneKeys";
    }
}
