package dev.lite.session.protocol;

import com.google.errorprone.annotations.concurrent.GuardedBy;
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
 * Control messages over a Unix socket that keeps message boundaries. Any thread may send; one thread receives. Owns the socket.
 * Unexpected descriptors are closed at once, so that a peer cannot fill this process's table of descriptors.
 */
public final class SessionChannel implements AutoCloseable {
    private final UnixSocket socket;
    // Freed by the garbage collector: a sender may still use them after another thread closed the channel.
    @GuardedBy("sending")
    private final MemorySegment outgoing = Arena.ofAuto().allocate(SessionProtocol.MESSAGE_BYTES_MAX);

    private final MemorySegment incoming = Arena.ofAuto().allocate(SessionProtocol.MESSAGE_BYTES_MAX);
    private final ReentrantLock sending = new ReentrantLock();

    /** Takes the connected socket over. */
    public SessionChannel(UnixSocket socket) {
        this.socket = socket;
    }

    /**
     * A message and the descriptors that came with it.
     *
     * @param carrier holds the descriptors; the receiver owns them and must take them over or close them
     */
    public record WithDescriptors(SessionMessage message, Received carrier) {}

    /**
     * Sends a message. Waits at most the send timeout while the peer does not read.
     *
     * @param descriptors sent with the message; they stay open here
     * @throws OsException EAGAIN after the timeout, EPIPE or ECONNRESET when the peer has closed the connection
     * @throws IllegalArgumentException when a field exceeds its limit; nothing was sent
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
     * @return null when the peer has closed the connection, or this channel was shut down or closed
     * @throws ProtocolException when the message is invalid
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

    /** {@link #receive} of a message that may carry descriptors; the caller owns them. */
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
        } catch (ProtocolException invalid) {
            received.closeDescriptors();
            throw invalid;
        }
    }

    /** Sets how long receive and send may block, in nanoseconds; 0 means without limit. */
    public void setTimeout(long receiveNs, long sendNs) {
        socket.setTimeout(receiveNs, sendNs);
    }

    /** The credentials of the process at the other end, from the kernel. */
    public PeerCredentials peerCredentials() {
        return socket.peerCredentials();
    }

    /** Shuts both directions down: a receive that waits in another thread returns the messages that had arrived, then null. */
    public void shutdown() {
        socket.shutdown();
    }

    @Override
    public void close() {
        socket.close();
    }
}
