package dev.lite.os;

import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * A TCP socket that never blocks, except in the methods that say so. It sends from and receives into any memory of the
 * process, without an intermediate buffer. Nagle's algorithm is off.
 *
 * <p>Any thread; at most one thread at a time may send, and one receive. Raw addresses are not checked. Sending and
 * receiving allocate nothing.
 */
public final class TcpSocket extends Pollable {
    /** Returned by {@link #receive} when the peer has ended its output. */
    public static final long END = -1;

    private static final int POLLIN = 0x1;
    private static final int POLLOUT = 0x4;
    private static final int POLLRDHUP = 0x2000;

    TcpSocket(int number, String name) {
        super(number, name);
        try {
            InetCalls.option(number, InetCalls.IPPROTO_TCP, InetCalls.TCP_NODELAY, "TCP_NODELAY", 1);
        } catch (OsException e) {
            super.close();
            throw e;
        }
    }

    /**
     * Takes over a descriptor of a connected TCP socket that does not block, such as one of {@link #detach}; this socket closes it.
     *
     * @param name for messages
     * @throws OsException if it is no such socket; then it is closed
     */
    public static TcpSocket adopt(int descriptor, String name) {
        Linux.require();
        return new TcpSocket(descriptor, name);
    }

    /**
     * Connects. Blocks until connected or until the timeout.
     *
     * @param address a resolved address
     * @param timeoutNs nanoseconds
     * @throws OsException ECONNREFUSED when no server listens, ETIMEDOUT after the timeout, or another network error
     */
    public static TcpSocket connect(InetSocketAddress address, long timeoutNs) {
        var socket = connecting(address);
        try {
            socket.awaitConnected(timeoutNs);
            return socket;
        } catch (OsException e) {
            socket.close();
            throw e;
        }
    }

    /**
     * Begins to connect. Does not block. Call {@link #awaitConnected} before anything is sent or received.
     *
     * @param address a resolved address
     * @throws OsException a network error that the system knows at once
     */
    public static TcpSocket connecting(InetSocketAddress address) {
        Linux.require();
        if (address.isUnresolved()) {
            throw new IllegalArgumentException("the address %s is not resolved".formatted(address));
        }
        int number = InetCalls.socket(address.getAddress(), false);
        var socket = new TcpSocket(number, "to " + text(address));
        try {
            var state = CallState.current();
            int error = InetCalls.connect(state, number, address) == 0 ? 0 : state.errno();
            if (error != 0 && error != Errno.EINPROGRESS && error != Errno.EINTR) {
                throw socket.notConnected(error);
            }
            return socket;
        } catch (OsException e) {
            socket.close();
            throw e;
        }
    }

    /**
     * Blocks until a socket of {@link #connecting} is connected, or until the timeout. A {@link #shutdown} ends this
     * with an error.
     *
     * @param timeoutNs nanoseconds
     * @throws OsException ECONNREFUSED when no server listens, ETIMEDOUT after the timeout, or another network error
     */
    public void awaitConnected(long timeoutNs) {
        int error = awaitWritable(timeoutNs) ? error() : Errno.ETIMEDOUT;
        if (error != 0) {
            throw notConnected(error);
        }
    }

    private int error() {
        int number = descriptor.acquire("getsockopt");
        try {
            return InetCalls.error(number);
        } finally {
            descriptor.release();
        }
    }

    private OsException notConnected(int error) {
        return new OsException("connect(%s)".formatted(descriptor.name()), error);
    }

    /**
     * Sends as many bytes as the system accepts now.
     *
     * @return how many bytes of {@code length} were accepted; 0 when the send buffer is full
     * @throws OsException EPIPE or ECONNRESET when the peer has disconnected, EBADF when this socket is closed
     */
    public long send(long address, long length) {
        int number = descriptor.acquire("send");
        try {
            var state = CallState.current();
            long sent;
            do {
                sent = InetCalls.send(state, number, address, length);
            } while (sent < 0 && state.errno() == Errno.EINTR);
            return taken(state, sent, "send");
        } finally {
            descriptor.release();
        }
    }

    /**
     * {@link #send(long, long)} from an array of bytes, without a copy. A garbage collection waits for the call, which does not block.
     *
     * @param from the array's segment, or a part of it
     */
    public long send(MemorySegment from) {
        int number = descriptor.acquire("send");
        try {
            var state = CallState.current();
            long sent;
            do {
                sent = InetCalls.send(state, number, from, from.byteSize());
            } while (sent < 0 && state.errno() == Errno.EINTR);
            return taken(state, sent, "send");
        } finally {
            descriptor.release();
        }
    }

    /**
     * Sends as many bytes of several ranges, in order, as the system accepts now.
     *
     * @param iovec the address of {@code count} pairs of address and length, 8 bytes each
     * @param count 1 to 1024
     * @return how many bytes were accepted; 0 when the send buffer is full
     * @throws OsException EPIPE or ECONNRESET when the peer has disconnected, EBADF when this socket is closed
     */
    public long sendVector(long iovec, int count) {
        int number = descriptor.acquire("sendmsg");
        try {
            var state = CallState.current();
            long sent;
            do {
                sent = InetCalls.sendVector(state, number, iovec, count);
            } while (sent < 0 && state.errno() == Errno.EINTR);
            return taken(state, sent, "sendmsg");
        } finally {
            descriptor.release();
        }
    }

    private long taken(CallState state, long sent, String call) {
        if (sent >= 0) {
            return sent;
        }
        int errno = state.errno();
        if (errno == Errno.EAGAIN) {
            return 0;
        }
        throw new OsException("%s(%s)".formatted(call, descriptor.name()), errno);
    }

    /**
     * Receives the bytes that are available.
     *
     * @param length at least 1
     * @return how many bytes; 0 when none are available now, {@link #END} when the peer has ended its output
     * @throws OsException ECONNRESET or ETIMEDOUT when the peer has disconnected, EBADF when this socket is closed
     */
    public long receive(long address, long length) {
        int number = descriptor.acquire("recv");
        try {
            var state = CallState.current();
            long received;
            do {
                received = InetCalls.receive(state, number, address, length);
            } while (received < 0 && state.errno() == Errno.EINTR);
            return received == 0 ? END : taken(state, received, "recv");
        } finally {
            descriptor.release();
        }
    }

    /**
     * {@link #receive(long, long)} into an array of bytes, without a copy. A garbage collection waits for the call, which does not block.
     *
     * @param to the array's segment, or a part of it; at least 1 byte
     */
    public long receive(MemorySegment to) {
        int number = descriptor.acquire("recv");
        try {
            var state = CallState.current();
            long received;
            do {
                received = InetCalls.receive(state, number, to, to.byteSize());
            } while (received < 0 && state.errno() == Errno.EINTR);
            return received == 0 ? END : taken(state, received, "recv");
        } finally {
            descriptor.release();
        }
    }

    /** Blocks until data or the end of the input is available; false after the timeout in nanoseconds. */
    public boolean awaitReadable(long timeoutNs) {
        return await(POLLIN, timeoutNs);
    }

    /** Blocks until the send buffer has room or the connection has failed; false after the timeout in nanoseconds. */
    public boolean awaitWritable(long timeoutNs) {
        return await(POLLOUT, timeoutNs);
    }

    /** Blocks until the peer has ended its output or disconnected; false after the timeout in nanoseconds. */
    public boolean awaitPeerEnd(long timeoutNs) {
        return await(POLLRDHUP, timeoutNs);
    }

    /** Whether the peer reset the connection, or both sides ended it. Data received before may still be read. */
    public boolean isReset() {
        return await(0, 0);
    }

    private boolean await(int events, long timeoutNs) {
        long start = System.nanoTime();
        int number = descriptor.acquire("ppoll");
        try {
            var state = CallState.current();
            long left = timeoutNs;
            while (true) {
                int ready = Syscalls.ppoll(state, state.pollfd(number, events), 1, state.timespec(Math.max(0, left)));
                if (ready >= 0) {
                    return ready > 0;
                }
                if (state.errno() != Errno.EINTR) {
                    throw new OsException("ppoll(%s)".formatted(descriptor.name()), state.errno());
                }
                left = timeoutNs - (System.nanoTime() - start);
            }
        } finally {
            descriptor.release();
        }
    }

    /**
     * Sets how long sent data may stay unacknowledged before the system drops the connection.
     *
     * @param timeoutMs milliseconds, at least 1
     */
    public void setUserTimeout(int timeoutMs) {
        int number = descriptor.acquire("setsockopt");
        try {
            InetCalls.option(number, InetCalls.IPPROTO_TCP, InetCalls.TCP_USER_TIMEOUT, "TCP_USER_TIMEOUT", timeoutMs);
        } finally {
            descriptor.release();
        }
    }

    /** The peer's address as {@code host:port}. */
    public String peer() {
        int number = descriptor.acquire("getpeername");
        try {
            return text(InetCalls.name(number, true));
        } finally {
            descriptor.release();
        }
    }

    /** The peer's address. */
    public InetAddress peerAddress() {
        int number = descriptor.acquire("getpeername");
        try {
            return InetCalls.name(number, true).getAddress();
        } finally {
            descriptor.release();
        }
    }

    /** Ends the output. Does nothing when the peer has disconnected, or this socket is closed. */
    public void shutdownOutput() {
        shutdown(InetCalls.SHUT_WR);
    }

    /** Ends both directions; blocked calls of other threads return. Does nothing when this socket is closed. */
    public void shutdown() {
        shutdown(InetCalls.SHUT_RDWR);
    }

    private void shutdown(int how) {
        int number;
        try {
            number = descriptor.acquire("shutdown");
        } catch (OsException e) {
            return;
        }
        try {
            InetCalls.shutdown(number, how);
        } finally {
            descriptor.release();
        }
    }

    /** Closes with a reset, which the peer notices immediately; data not yet sent or received is dropped. */
    public void abort() {
        int number;
        try {
            number = descriptor.acquire("setsockopt");
        } catch (OsException e) {
            return;
        }
        try {
            InetCalls.option(number, InetCalls.SOL_SOCKET, InetCalls.SO_LINGER, "SO_LINGER", 1, 0);
        } finally {
            descriptor.release();
            close();
        }
    }

    /**
     * Hands the connection over, and closes this socket without ending the connection. Calls of other threads that are in progress still
     * act on it. The descriptor does not block, keeps its options, and is in no {@link Epoll}.
     *
     * @return a descriptor, which the caller must close
     * @throws OsException EBADF when this socket is closed; EMFILE when the process has no descriptor left, and then the connection ends
     */
    public int detach() {
        int number = descriptor.acquire("fcntl");
        try {
            return DuplicateDescriptor.duplicate(number);
        } finally {
            descriptor.release();
            close();
        }
    }

    /** An address as {@code host:port}, or {@code [host]:port} for IPv6. */
    static String text(InetSocketAddress address) {
        var host = address.getAddress().getHostAddress();
        return (host.contains(":") ? "[%s]:%d" : "%s:%d").formatted(host, address.getPort());
    }
}
