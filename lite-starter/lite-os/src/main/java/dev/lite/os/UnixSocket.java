package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A connected Unix socket that keeps message boundaries (SOCK_SEQPACKET) and carries file descriptors. Any thread may send,
 * receive, shut down and close; messages stay whole and in order across threads. Blocking calls pin their carrier; virtual threads
 * use {@link #trySend} and {@link #tryReceive}, and wait with {@link SocketWaits}.
 */
public final class UnixSocket extends Pollable {
    /** The maximum number of descriptors in one message. */
    public static final int DESCRIPTORS_MAX = 16;

    /** How long a connect waits for room in the server's queue. */
    private static final long CONNECT_TIMEOUT_NS = 5_000_000_000L;

    private static final int UCRED_BYTES = 12;

    UnixSocket(int number, String name) {
        super(number, name);
    }

    /**
     * Connects to a {@link UnixServerSocket}. Waits at most 5 s while the server's queue is full.
     *
     * @param path at most 106 bytes in UTF-8
     * @throws OsException ENOENT when the socket does not exist, ECONNREFUSED when no server listens, EACCES without
     *     permission, EAGAIN when the server does not accept in time
     */
    public static UnixSocket connect(Path path) {
        return connect(path, CONNECT_TIMEOUT_NS);
    }

    /**
     * {@link #connect(Path)} with a shorter limit of its wait, which nothing else ends.
     *
     * @param timeoutNs how long it waits at most while the server's queue is full, at least 1 ns
     */
    public static UnixSocket connect(Path path, long timeoutNs) {
        if (timeoutNs < 1) {
            throw new IllegalArgumentException("the timeout of a connect must be at least 1 ns, not " + timeoutNs);
        }
        Linux.require();
        byte[] pathBytes = SocketCalls.pathBytes(path);
        int number = SocketCalls.socket();
        var socket = new UnixSocket(number, path.toString());
        try {
            socket.setTimeout(0, Math.min(timeoutNs, CONNECT_TIMEOUT_NS));
            var state = CallState.current();
            int result;
            do {
                result = SocketCalls.connect(state, number, pathBytes);
            } while (result < 0 && state.errno() == Errno.EINTR);
            if (result < 0) {
                throw new OsException("connect(%s)".formatted(path), state.errno());
            }
            socket.setTimeout(0, 0);
        } catch (OsException e) {
            socket.close();
            throw e;
        }
        return socket;
    }

    /**
     * Sends one message. Blocks while the peer's queue is full, at most until the send timeout.
     *
     * @param message native memory that stays open during the call
     * @param length the number of bytes to send from its start, 1 to about 200 KB (the system's socket buffer)
     * @param descriptors open descriptors, at most {@value #DESCRIPTORS_MAX}; the caller still owns them
     * @throws OsException EPIPE or ECONNREFUSED when the peer has disconnected, EAGAIN after the timeout (nothing was
     *     sent), EMSGSIZE when the message is too long, EBADF when this socket is closed
     */
    public void send(MemorySegment message, long length, int... descriptors) {
        boolean unused = send(message, length, true, descriptors);
    }

    /**
     * {@link #send} that does not block.
     *
     * @return false when the peer's queue is full; nothing was sent
     */
    public boolean trySend(MemorySegment message, long length, int... descriptors) {
        return send(message, length, false, descriptors);
    }

    private boolean send(MemorySegment message, long length, boolean waits, int... descriptors) {
        requireNative(message);
        if (length < 1 || length > message.byteSize()) {
            throw new IllegalArgumentException("a message has 1 to %d bytes, the size of its segment; not %d"
                    .formatted(message.byteSize(), length));
        }
        if (descriptors.length > DESCRIPTORS_MAX) {
            throw new IllegalArgumentException(
                    "a message carries at most %d descriptors, not %d".formatted(DESCRIPTORS_MAX, descriptors.length));
        }
        int number = descriptor.acquire("sendmsg");
        try {
            var state = CallState.current();
            state.message.prepareSend(message.address(), length, descriptors);
            long sent;
            do {
                sent = SocketCalls.send(state, number, waits);
            } while (sent < 0 && state.errno() == Errno.EINTR);
            if (sent < 0 && !waits && state.errno() == Errno.EAGAIN) {
                return false;
            }
            if (sent < 0) {
                throw new OsException("sendmsg(%s, %d bytes)".formatted(descriptor.name(), length), state.errno());
            }
            return true;
        } finally {
            descriptor.release();
            Reference.reachabilityFence(message);
        }
    }

    /**
     * Receives one message. Blocks until a message arrives, the peer closes, {@link #shutdown}, or the receive timeout.
     *
     * @param buffer native memory for the message, which stays open during the call
     * @return the message, or {@link Received#isEnd} when the peer closed or died; without the descriptors that
     *     this process could not open: see {@link Received#lacksDescriptors}
     * @throws OsException EMSGSIZE when the message is longer than the buffer or carries more than {@value
     *     #DESCRIPTORS_MAX} descriptors (it is dropped and its descriptors are closed), EAGAIN after the timeout, EBADF
     *     when this socket is closed
     */
    public Received receive(MemorySegment buffer) {
        return Objects.requireNonNull(receive(buffer, true));
    }

    /**
     * {@link #receive} that does not block.
     *
     * @return null when no message has arrived
     */
    public @Nullable Received tryReceive(MemorySegment buffer) {
        return receive(buffer, false);
    }

    private @Nullable Received receive(MemorySegment buffer, boolean waits) {
        requireNative(buffer);
        int number = descriptor.acquire("recvmsg");
        try {
            var state = CallState.current();
            state.message.prepareReceive(buffer.address(), buffer.byteSize());
            long length = receive(state, number, waits);
            if (length < 0 && !waits && state.errno() == Errno.EAGAIN) {
                return null;
            }
            if (length < 0) {
                throw new OsException("recvmsg(%s)".formatted(descriptor.name()), state.errno());
            }
            var received = new Received((int) length, state.message.descriptors(), state.message.lacksDescriptors());
            // If fewer came than fit here, the process has reached its own limit.
            boolean tooMany = received.lacksDescriptors() && received.descriptors().length == DESCRIPTORS_MAX;
            if (state.message.isDataTruncated() || tooMany) {
                received.closeDescriptors();
                throw new OsException(
                        "recvmsg(%s)".formatted(descriptor.name()),
                        Errno.EMSGSIZE,
                        "the message has more than %d bytes or %d descriptors"
                                .formatted(buffer.byteSize(), DESCRIPTORS_MAX),
                        null);
            }
            if (received.isEnd()) {
                // A peer may send an empty message with descriptors; treat it as the end, too.
                received.closeDescriptors();
                return Received.END;
            }
            return received;
        } finally {
            descriptor.release();
            Reference.reachabilityFence(buffer);
        }
    }

    private static long receive(CallState state, int number, boolean waits) {
        boolean reset = false;
        while (true) {
            long length = SocketCalls.receive(state, number, waits);
            if (length >= 0) {
                return length;
            }
            int errno = state.errno();
            if (errno == Errno.ECONNRESET && !reset) {
                // The peer closed without reading all our messages. Reported once; its own messages follow, then the
                // end.
                reset = true;
            } else if (errno != Errno.EINTR) {
                return length;
            }
        }
    }

    /**
     * Sets how long a receive and a send may block; rounded up to microseconds. Does not affect calls that are already
     * blocked.
     *
     * @param receiveNs nanoseconds; 0 for no limit
     * @param sendNs nanoseconds; 0 for no limit
     */
    public void setTimeout(long receiveNs, long sendNs) {
        if ((receiveNs | sendNs) < 0) {
            throw new IllegalArgumentException(
                    "a timeout must be at least 0 ns; receive %d, send %d".formatted(receiveNs, sendNs));
        }
        int number = descriptor.acquire("setsockopt");
        try {
            var state = CallState.current();
            if (SocketCalls.setTimeout(state, number, SocketCalls.SO_RCVTIMEO, receiveNs) < 0
                    || SocketCalls.setTimeout(state, number, SocketCalls.SO_SNDTIMEO, sendNs) < 0) {
                throw new OsException(
                        "setsockopt(%s, receive %d ns, send %d ns)".formatted(descriptor.name(), receiveNs, sendNs),
                        state.errno());
            }
        } finally {
            descriptor.release();
        }
    }

    /** The peer's credentials from the kernel: for an accepted socket, those of the process that called connect. */
    public PeerCredentials peerCredentials() {
        int number = descriptor.acquire("getsockopt");
        try (var arena = Arena.ofConfined()) {
            var state = CallState.current();
            var ucred = arena.allocate(UCRED_BYTES, Integer.BYTES);
            if (SocketCalls.option(state, number, SocketCalls.SO_PEERCRED, ucred) < 0) {
                throw new OsException("getsockopt(%s, SO_PEERCRED)".formatted(descriptor.name()), state.errno());
            }
            return new PeerCredentials(
                    ucred.getAtIndex(JAVA_INT, 0), ucred.getAtIndex(JAVA_INT, 1), ucred.getAtIndex(JAVA_INT, 2));
        } finally {
            descriptor.release();
        }
    }

    /**
     * Ends the connection in both directions: a receive that is blocked, here or at the peer, returns the end, a send throws
     * EPIPE. The descriptor stays open until {@link #close}. Does nothing on a closed socket.
     */
    public void shutdown() {
        int number;
        try {
            number = descriptor.acquire("shutdown");
        } catch (OsException e) {
            return;
        }
        try {
            SocketCalls.shutdown(number);
        } finally {
            descriptor.release();
        }
    }

    /** Shuts down and closes. Calls blocked in other threads return; later calls throw EBADF. Idempotent. */
    @Override
    public void close() {
        shutdown();
        super.close();
    }

    private static void requireNative(MemorySegment segment) {
        if (!segment.isNative()) {
            throw new IllegalArgumentException("a socket needs native memory; this segment is on the heap");
        }
        if (!segment.scope().isAlive()) {
            throw new IllegalStateException("the segment is closed");
        }
    }
}
