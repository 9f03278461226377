package dev.lite.client.protocol;

import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.PeerCredentials;
import dev.lite.os.SharedMemory;
import dev.lite.os.UnixSocket;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Control messages over a Unix socket that keeps message boundaries. Any thread may send, one thread receives. Owns the
 * socket. Descriptors that come uninvited are closed at once, so that a peer cannot fill this process' table with them.
 */
public final class ControlChannel implements AutoCloseable {
    private final UnixSocket socket;
    // Left to the garbage collector: a late sender must find them, whoever closed the channel.
    private final MemorySegment outgoing = Arena.ofAuto().allocate(SessionProtocol.MESSAGE_BYTES_MAX);
    private final MemorySegment incoming = Arena.ofAuto().allocate(SessionProtocol.MESSAGE_BYTES_MAX);
    private final ReentrantLock sending = new ReentrantLock();

    /** Takes the connected socket over. */
    public ControlChannel(UnixSocket socket) {
        this.socket = socket;
    }

    /**
     * A message and the descriptor that came with it.
     *
     * @param descriptor the receiver's to close, or -1
     */
    public record WithDescriptor(ControlMessage message, int descriptor) {}

    /**
     * Sends a message. Waits at most the send timeout while the peer does not read.
     *
     * @param descriptors passed on; they stay open here
     * @throws OsException EAGAIN after the timeout, EPIPE or ECONNRESET when the peer is gone
     * @throws IllegalArgumentException when a field is over its limit; nothing was sent
     */
    public void send(ControlMessage message, int... descriptors) {
        sending.lock();
        try {
            int length = ControlCodec.encode(message, outgoing);
            socket.send(outgoing, length, descriptors);
        } finally {
            sending.unlock();
        }
    }

    /**
     * Waits for the next message.
     *
     * @return null when the peer is gone or this channel was shut down or closed
     * @throws ProtocolException when it makes no sense
     * @throws OsException EAGAIN after the receive timeout
     */
    public @Nullable ControlMessage receive() throws ProtocolException {
        WithDescriptor received = receiveWithDescriptor();
        if (received == null) {
            return null;
        }
        discard(received.descriptor());
        return received.message();
    }

    /** {@link #receive} of a message that may bring a descriptor; more than one is closed. */
    public @Nullable WithDescriptor receiveWithDescriptor() throws ProtocolException {
        UnixSocket.Received received;
        try {
            received = socket.receive(incoming);
        } catch (OsException failed) {
            return switch (failed.errno()) {
                case Errno.ECONNRESET, Errno.EPIPE, Errno.ENOTCONN, Errno.EBADF -> null;
                case Errno.EMSGSIZE -> throw new ProtocolException("a control message is longer than %d bytes, the limit"
                        .formatted(SessionProtocol.MESSAGE_BYTES_MAX));
                default -> throw failed;
            };
        }
        int[] descriptors = received.descriptors();
        for (int i = 1; i < descriptors.length; i++) {
            discard(descriptors[i]);
        }
        int descriptor = descriptors.length == 0 ? -1 : descriptors[0];
        if (received.length() == 0) {
            discard(descriptor);
            return null;
        }
        try {
            return new WithDescriptor(ControlCodec.decode(incoming, received.length()), descriptor);
        } catch (ProtocolException senseless) {
            discard(descriptor);
            throw senseless;
        }
    }

    /** How long receive and send may block, in nanoseconds; 0 is for ever. */
    public void setTimeout(long receiveNs, long sendNs) {
        socket.setTimeout(receiveNs, sendNs);
    }

    /** Who is at the other end, told by the kernel. */
    public PeerCredentials peerCredentials() {
        return socket.peerCredentials();
    }

    /** Ends both directions: a receive that waits in another thread returns null once what had arrived is read. */
    public void shutdown() {
        try {
            socket.shutdown();
        } catch (OsException alreadyGone) {
            // The peer, or a close, was first; the end is the same.
        }
    }

    @Override
    public void close() {
        socket.close();
    }

    private static void discard(int descriptor) {
        if (descriptor < 0) {
            return;
        }
        try {
            // It takes the descriptor over in every case, and no memory has 0 bytes: the descriptor is closed.
            SharedMemory.fromDescriptor(descriptor, 0, true).close();
        } catch (IllegalArgumentException closed) {
            // As wished.
        }
    }
}
