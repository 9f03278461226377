package dev.lite.session.channel;

import dev.lite.os.wire.SealedWire;
import java.security.MessageDigest;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The keys of a channel's connection, one for each direction: fresh for each channel, and known to its two applications and their nodes.
 *
 * @param send {@value SealedWire#KEY_BYTES} bytes for what this end sends; no bytes if the connection is not encrypted
 * @param receive likewise, for what the other end sends
 */
public record LinkKeys(byte[] send, byte[] receive) {
    /** Of a connection that is not encrypted. */
    public static final LinkKeys NONE = new LinkKeys(new byte[0], new byte[0]);

    /**
     * Checks the lengths, also of those that arrived over the wire.
     *
     * @throws IllegalArgumentException when one is wrong
     */
    public LinkKeys {
        int bytes = send.length == 0 ? 0 : SealedWire.KEY_BYTES;
        if (send.length != bytes || receive.length != bytes) {
            throw new IllegalArgumentException("the keys of a channel: %d and %d bytes; must be %d or 0"
                    .formatted(send.length, receive.length, SealedWire.KEY_BYTES));
        }
    }

    /** Whether the connection is not encrypted. */
    public boolean isNone() {
        return send.length == 0;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LinkKeys keys
                && MessageDigest.isEqual(send, keys.send)
                && MessageDigest.isEqual(receive, keys.receive);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(receive);
    }

    /** Without the keys. */
    @Override
    public String toString() {
        return isNone() ? "LinkKeys.NONE" : "LinkKeys";
    }
}
