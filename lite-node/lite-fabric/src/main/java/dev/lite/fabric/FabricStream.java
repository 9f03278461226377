package dev.lite.fabric;

import org.jspecify.annotations.Nullable;

/**
 * A TCP connection of its own between two nodes, for others to use: see {@link FabricEndpoint#openStream}. Nothing was sent over it since
 * it belongs to its user.
 *
 * @param descriptor of a connected socket that does not block; its owner must close it
 * @param keys to encrypt the stream with; null if the connection of the nodes is not encrypted
 */
public record FabricStream(int descriptor, @Nullable Keys keys) {

    /**
     * The keys of a stream, one for each direction: fresh for each stream, and known to its two ends only. What one side sends with is
     * what the other one receives with.
     *
     * @param send {@value #BYTES} bytes for what this side sends
     * @param receive {@value #BYTES} bytes for what the other side sends
     */
    public record Keys(byte[] send, byte[] receive) {
        /** Bytes of a key. */
        public static final int BYTES = 32;

        /**
         * Checks the lengths.
         *
         * @throws IllegalArgumentException if one is not {@value #BYTES} bytes long
         */
        public Keys {
            if (send.length != BYTES || receive.length != BYTES) {
                throw new IllegalArgumentException(
                        "a key has %d bytes, not %d or %d".formatted(BYTES, send.length, receive.length));
            }
        }

        /** Without the keys. */
        @Override
        public String toString() {
            return "Keys";
        }
    }
}
