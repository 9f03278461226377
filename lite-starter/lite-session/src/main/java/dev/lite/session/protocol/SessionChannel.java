package dev.lite.session.protocol;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.PeerCredentials;
import dev.lite.os.Received;
import dev.lite.os.SocketWaits;
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
    /** Null: waits block in the socket's calls. */
    private final SocketWaits.@Nullable Watched waits;

    // Freed by the garbage collector: a sender may still use them after another thread closed the channel.
    @GuardedBy("sending")
    private final MemorySegment outgoing = Arena.ofAuto().allocate(SessionProtocol.MESSAGE_BYTES_MAX);

    private final MemorySegment incoming = Arena.ofAuto().allocate(SessionProtocol.MESSAGE_BYTES_MAX);
    private final ReentrantLock sending = new ReentrantLock();

    // For waits outside the socket's calls; 0 means without limit.
    private volatile long receiveNs;
    private volatile long sendNs;

    /** Takes the connected socket over. Waiting threads block in the kernel, so they are platform threads. */
    public SessionChannel(UnixSocket socket) {
        this.socket = socket;
        this.waits = null;
    }

    /**
     * Takes the connected socket over. Virtual threads may wait, and hold no carrier meanwhile.
     *
     * @throws OsException when the system has no room for one more socket in the set; the socket is closed
     */
    public SessionChannel(UnixSocket socket, SocketWaits set) {
        this.socket = socket;
        try {
            this.waits = set.watch(socket);
        } catch (RuntimeException | Error failed) {
            socket.close();
            throw failed;
        }
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
            if (waits == null) {
                socket.send(outgoing, length, descriptors);
            } else {
                send(waits, length, descriptors);
            }
        } finally {
            sending.unlock();
        }
    }

    @GuardedBy("sending")
    private void send(SocketWaits.Watched waits, int length, int... descriptors) {
        long timeoutNs = sendNs == 0 ? Long.MAX_VALUE : sendNs;
        long beginNs = System.nanoTime();
        while (!socket.trySend(outgoing, length, descriptors)) {
            waits.awaitWritable(timeoutNs - (System.nanoTime() - beginNs));
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
            received = waits == null ? socket.receive(incoming) : receive(waits);
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

    private Received receive(SocketWaits.Watched waits) {
        long timeoutNs = receiveNs == 0 ? Long.MAX_VALUE : receiveNs;
        long beginNs = System.nanoTime();
        Received received;
        while ((received = socket.tryReceive(incoming)) == null) {
            waits.awaitReadable(timeoutNs - (System.nanoTime() - beginNs));
        }
        return received;
    }

    /** Sets how long receive and send may wait, in nanoseconds; 0 means without limit. */
    public void setTimeout(long receiveNs, long sendNs) {
        if (waits == null) {
            socket.setTimeout(receiveNs, sendNs);
        } else {
            this.receiveNs = receiveNs;
            this.sendNs = sendNs;
        }
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
        if (waits != null) {
            waits.close();
        }
        socket.close();
    }
}
