package dev.lite.os;

import java.net.InetSocketAddress;

/**
 * A TCP socket that never blocks, except in the methods that say so. It sends from and receives into any memory of the
 * process, so that no byte passes through a buffer that nobody needs. Nagle's delay is off.
 *
 * <p>Any thread; one at a time sends, one receives. Raw addresses are not checked. Sending and receiving allocate nothing.
 */
public final class TcpSocket extends Pollable {
    /** What {@link #receive} answers when the peer sends no more. */
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
     * Connects. Blocks until the connection is there, or the time is over.
     *
     * @param address resolved
     * @param timeoutNs nanoseconds
     * @throws OsException ECONNREFUSED when nobody listens, ETIMEDOUT when the time is over, and what else the network says
     */
    public static TcpSocket connect(InetSocketAddress address, long timeoutNs) {
        Linux.require();
        if (address.isUnresolved()) {
            throw new IllegalArgumentException("the address %s is not resolved".formatted(address));
        }
        int number = InetCalls.socket(address.getAddress(), false);
        var socket = new TcpSocket(number, "to " + text(address));
        try {
            var state = CallState.current();
            int result = InetCalls.connect(state, number, address);
            int error = result == 0 ? 0 : state.errno();
            if (error == Errno.EINPROGRESS || error == Errno.EINTR) {
                error = socket.awaitWritable(timeoutNs) ? InetCalls.error(number) : Errno.ETIMEDOUT;
            }
            if (error != 0) {
                throw new OsException("connect(%s)".formatted(text(address)), error);
            }
            return socket;
        } catch (OsException e) {
            socket.close();
            throw e;
        }
    }

    /**
     * Sends what the system takes now.
     *
     * @return how many bytes of {@code length} were taken; 0 when there is no room
     * @throws OsException EPIPE or ECONNRESET when the peer is gone, EBADF when this was closed
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
     * Sends what the system takes now of several ranges, one after the other.
     *
     * @param iovec the address of {@code count} pairs of an address and a length, 8 bytes each
     * @param count 1 to 1024
     * @return how many bytes were taken; 0 when there is no room
     * @throws OsException EPIPE or ECONNRESET when the peer is gone, EBADF when this was closed
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
     * Receives what is there.
     *
     * @param length at least 1
     * @return how many bytes; 0 when there are none now, {@link #END} when none will come
     * @throws OsException ECONNRESET or ETIMEDOUT when the peer is gone, EBADF when this was closed
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

    /** Blocks until there is something to receive, the end included; false when the time is over first. Nanoseconds. */
    public boolean awaitReadable(long timeoutNs) {
        return await(POLLIN, timeoutNs);
    }

    /** Blocks until there is room to send, or nothing will ever be taken; false when the time is over first. Nanoseconds. */
    public boolean awaitWritable(long timeoutNs) {
        return await(POLLOUT, timeoutNs);
    }

    /** Blocks until the peer said that it sends no more, or is gone; false when the time is over first. Nanoseconds. */
    public boolean awaitPeerEnd(long timeoutNs) {
        return await(POLLRDHUP, timeoutNs);
    }

    /** Whether the peer reset the connection, or both sides ended it; what came before may still be there to be received. */
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
     * How long sent data may stay unacknowledged before the system gives the connection up.
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

    /** Tells the peer that no more comes. Does nothing when it is gone, or this was closed. */
    public void shutdownOutput() {
        shutdown(InetCalls.SHUT_WR);
    }

    /** Ends both directions: blocked calls of other threads return. Does nothing when this was closed. */
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

    /** Closes so that the peer learns it at once by a reset, and what was not sent or received yet is dropped. */
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

    /** An address as {@code host:port}, or {@code [host]:port} when it is an IPv6 one. */
    static String text(InetSocketAddress address) {
        var host = address.getAddress().getHostAddress();
        return (host.contains(":") ? "[%s]:%d" : "%s:%d").formatted(host, address.getPort());
    }
}
