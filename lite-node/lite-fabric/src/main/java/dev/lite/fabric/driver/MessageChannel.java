package dev.lite.fabric.driver;

import dev.lite.os.waiting.Deadline;

/**
 * Carries messages of known lengths to and from a peer, in order. One thread at a time uses it. Besides the declared
 * exceptions, methods throw the driver's own.
 */
public interface MessageChannel {

    /**
     * Sends a message whole.
     *
     * @param deadline of the whole handshake
     * @throws HandshakeException if the peer does not take it in time
     */
    void send(byte[] message, Deadline deadline);

    /**
     * The peer's next message, of exactly so many bytes.
     *
     * @param deadline of the whole handshake
     * @throws HandshakeException when it does not come whole in time, or has another length
     */
    byte[] receive(int length, Deadline deadline);
}
