package dev.lite.fabric.driver;

import dev.lite.os.waiting.Deadline;
import java.util.Set;
import org.jspecify.annotations.Nullable;

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

    /** Bytes that both ends of this channel's encryption know, and that no other channel has; empty without encryption. */
    default byte[] binding() {
        return new byte[0];
    }

    /** The names in the peer's certificate; null without one. */
    default @Nullable Set<String> certifiedNames() {
        return null;
    }
}
