package dev.lite.fabric.driver;

/**
 * Carries messages of known lengths to and from a peer, in order. One thread at a time uses it. Besides what its methods say, a
 * driver's own exceptions pass through.
 */
public interface MessageChannel {

    /**
     * Sends a message whole.
     *
     * @param deadlineNs of {@link System#nanoTime}
     * @throws HandshakeException when the peer does not take it in time
     */
    void send(byte[] message, long deadlineNs);

    /**
     * The peer's next message, of exactly so many bytes.
     *
     * @param deadlineNs of {@link System#nanoTime}
     * @throws HandshakeException when it does not come whole in time, or has another length
     */
    byte[] receive(int length, long deadlineNs);
}
