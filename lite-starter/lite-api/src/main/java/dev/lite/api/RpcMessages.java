package dev.lite.api;

import java.time.Duration;

/**
 * A port at this session's node that messages are sent to with {@link LtRpc#send}. Any thread; each message goes to one of those
 * that receive. 256 messages wait in it at most; further senders wait.
 */
public interface RpcMessages extends AutoCloseable {
    /** The port's name. */
    String port();

    /**
     * Waits for the next message.
     *
     * @throws LiteTimeoutException when none came until the deadline
     * @throws SessionLostException when the port or the session was closed
     */
    Message receive(Duration deadline);

    /** Closes the port; messages that nobody received are dropped. A second call does nothing. */
    @Override
    void close();

    /**
     * A message.
     *
     * @param senderNode the node that it comes from
     * @param senderPrincipal who sent it, as that node authenticated it
     * @param data the receiver's own
     */
    record Message(String senderNode, String senderPrincipal, byte[] data) {}
}
