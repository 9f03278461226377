package dev.lite.os;

/**
 * One message of a {@link UnixSocket}.
 *
 * @param length its bytes; 0 when the peer closed the connection
 * @param descriptors what came with it, open, and the receiver's to close; at most {@value UnixSocket#DESCRIPTORS_MAX}
 */
public record Received(int length, int[] descriptors) {
    private static final int[] NONE = {};

    static final Received END = new Received(0, NONE);

    /** Whether the peer closed the connection. */
    public boolean isEnd() {
        return length == 0;
    }

    /** Closes all descriptors: for a receiver that refuses the message and has taken none of them over. */
    public void closeDescriptors() {
        for (int descriptor : descriptors) {
            Syscalls.close(descriptor);
        }
    }
}
