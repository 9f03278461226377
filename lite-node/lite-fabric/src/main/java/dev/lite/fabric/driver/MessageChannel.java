package dev.lite.fabric.driver;

import dev.lite.os.waiting.Deadline;

/**
 * Sends messages of known lengths to a peer and receives them, in order. Used by one thread at a time. Besides the declared
 * exceptions, methods throw the driver's own.
 */
public interface MessageChannel {

    /**
     * Sends a whole message.
     *
     * @param deadline the deadline of the whole handshake
     * @throws HandshakeException if the peer does not take it in time
     */
    void send(byte[] message, Deadline deadline);

    /**
     * Receives the peer's next message, which must have exactly this many bytes.
     *
     * @param deadline the deadline of the whole handshake
     * @throws HandshakeException if the message is not complete in time, or has another length
     */
    byte[] receive(int length, Deadline deadline);
}
