package dev.lite.session.protocol;

import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.PeerCredentials;
import dev.lite.os.Received;
import dev.lite.os.UnixSocket;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Control messages over a Unix socket that keeps message boundaries. Any thread may send, one thread receives. Owns the
 * socket. Descriptors that come uninvited are closed at once, so that a peer cannot fill this process' table with them.
 */
public final class SessionChannel implements AutoCloseable {
    private final UnixSocket socket;
    // Left to the garbage collector: a late sender must find them, whoever closed the channel.
    private final MemorySegment outgoing = Arena.ofAuto().allocate(SessionProtocol.MESSAGE_BYTES_MAX);
    private final MemorySegment incoming = Arena.ofAuto().allocate(SessionProtocol.MESSAGE_BYTES_MAX);
    private final ReentrantLock sending = new ReentrantLock();

    /** Takes the connected socket over. */
    public SessionChannel(UnixSocket socket) {
        this.socket = socket;
    }

    /**
     * A message and what came with it.
     *
     * @param carrier has the descriptors, which are the receiver's to take over or close
     */
    public record WithDescriptors(SessionMessage message, Received carrier) {}

    /**
     * Sends a message. Waits at most the send timeout while the peer does not read.
     *
     * @param descriptors passed on; they stay open here
     * @throws OsException EAGAIN after the timeout, EPIPE or ECONNRESET when the peer is gone
     * @throws IllegalArgumentException when a field is over its limit; nothing was sent
     */
    public void send(SessionMessage message, int... descriptors) {
        sending.lock();
        try {
            int length = SessionCodec.encode(message, outgoing);
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
    public @Nullable SessionMessage receive() throws ProtocolException {
        WithDescriptors received = receiveWithDescriptors();
        if (received == null) {
            return null;
        }
        received.carrier().closeDescriptors();
        return received.message();
    }

    /** {@link #receive} of a message that may bring descriptors. */
    public @Nullable WithDescriptors receiveWithDescriptors() throws ProtocolException {
        Received received;
        try {
            received = socket.receive(incoming);
        } catch (OsException failed) {
            return switch (failed.errno()) {
                case Errno.ECONNRESET, Errno.EPIPE, Errno.ENOTCONN, Errno.EBADF -> null;
                case Errno.EMSGSIZE ->
                    throw new ProtocolException("a control message is longer than %d bytes, the limit"
                            .formatted(SessionProtocol.MESSAGE_BYTES_MAX));
                default -> throw failed;
            };
        }
        if (received.isEnd()) {
            return null;
        }
        try {
            return new WithDescriptors(SessionCodec.decode(incoming, received.length()), received);
        } catch (ProtocolException senseless) {
            received.closeDescriptors();
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
        socket.shutdown();
    }

    @Override
    public void close() {
        socket.close();
    }
}
