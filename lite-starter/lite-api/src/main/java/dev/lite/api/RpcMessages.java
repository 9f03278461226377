package dev.lite.api;

import java.time.Duration;

/**
 * A port at this session's node, which receives the messages of {@link LtRpc#send}. Any thread may call any method; each message goes to
 * one of the receiving threads. The queue has room for 256 messages; when it is full, senders wait.
 */
public interface RpcMessages extends AutoCloseable {
    /** The port's name. */
    String port();

    /**
     * Waits for the next message.
     *
     * @throws LiteTimeoutException when none came before the deadline
     * @throws SessionLostException when the port was closed or the session has ended
     */
    Message receive(Duration deadline);

    /** Closes the port and drops the messages in its queue. A second call does nothing. */
    @Override
    void close();

    /**
     * A message.
     *
     * @param senderNode the name of the sender's node
     * @param senderPrincipal the sender's principal, as its node authenticated it
     * @param data the content; the receiver owns it
     */
    record Message(String senderNode, String senderPrincipal, byte[] data) {}
}
