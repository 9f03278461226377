package dev.lite.os;

/**
 * One message received from a {@link UnixSocket}.
 *
 * @param length its length in bytes; 0 when the peer closed the connection
 * @param descriptors the open descriptors that came with it, which the receiver must close; at most {@value
 *     UnixSocket#DESCRIPTORS_MAX}
 * @param lacksDescriptors whether more came with it that the system could not open, because the process has
 *     reached its limit
 */
public record Received(int length, int[] descriptors, boolean lacksDescriptors) {
    private static final int[] NONE = {};

    static final Received END = new Received(0, NONE, false);

    /** Whether the peer closed the connection. */
    public boolean isEnd() {
        return length == 0;
    }

    /** Closes all descriptors: for a receiver that rejects the message and has taken over none of them. */
    public void closeDescriptors() {
        for (int descriptor : descriptors) {
            Syscalls.close(descriptor);
        }
    }
}
