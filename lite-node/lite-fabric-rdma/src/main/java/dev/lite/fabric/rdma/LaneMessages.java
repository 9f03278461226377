package dev.lite.fabric.rdma;

import dev.lite.fabric.driver.HandshakeException;
import dev.lite.fabric.driver.MessageChannel;
import dev.lite.os.waiting.Deadline;

/**
 * The messages of a handshake. Each is one send on the lane; the poll role receives them.
 *
 * @param lane a lane that is in its handshake
 */
record LaneMessages(RdmaLane lane) implements MessageChannel {
    private static final long LAST_MESSAGE_NS = 100_000_000;

    @Override
    public void send(byte[] message, Deadline deadline) {
        if (!lane.sendMessage(message)) {
            throw new HandshakeException(String.valueOf(lane.failure()));
        }
    }

    @Override
    public byte[] receive(int length, Deadline deadline) {
        byte[] message;
        try {
            message = lane.nextMessage(deadline.remainingNs());
            if (message != null && message.length == 0) {
                // The event of the lane's end may overtake the peer's last message, which may contain the reason.
                var last = lane.nextMessage(LAST_MESSAGE_NS);
                message = last == null ? message : last;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new HandshakeException("interrupted in the handshake", e);
        }
        if (message == null) {
            throw new HandshakeException("it did not send %d bytes in time".formatted(length));
        }
        if (message.length == 0 && lane.failure() != null) {
            throw new HandshakeException(String.valueOf(lane.failure()));
        }
        if (message.length != length) {
            throw new HandshakeException("it sent %d bytes instead of %d".formatted(message.length, length));
        }
        return message;
    }
}
