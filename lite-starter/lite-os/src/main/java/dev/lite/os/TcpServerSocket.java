package dev.lite.os;

import java.net.InetSocketAddress;

/** A listening TCP socket, IPv4 or IPv6. Any thread. */
public final class TcpServerSocket implements AutoCloseable {
    private final Descriptor descriptor;
    private final InetSocketAddress address;

    private TcpServerSocket(int number, InetSocketAddress asked) {
        descriptor = new Descriptor(number, TcpSocket.text(asked));
        address = InetCalls.name(number, false);
    }

    /**
     * Binds and listens.
     *
     * @param address a resolved address; port 0 selects a free port
     * @param backlog the maximum number of connections waiting for {@link #accept}
     * @throws OsException EADDRINUSE when the port is in use, EADDRNOTAVAIL when the address does not belong to this host
     */
    public static TcpServerSocket bind(InetSocketAddress address, int backlog) {
        Linux.require();
        if (address.isUnresolved()) {
            throw new IllegalArgumentException("the address %s is not resolved".formatted(address));
        }
        int number = InetCalls.socket(address.getAddress(), true);
        try {
            // Lets a restarted node bind its port while connections of its previous process are in TIME_WAIT.
            InetCalls.option(number, InetCalls.SOL_SOCKET, InetCalls.SO_REUSEADDR, "SO_REUSEADDR", 1);
            var state = CallState.current();
            if (InetCalls.bind(state, number, address) < 0) {
                throw new OsException("bind(%s)".formatted(TcpSocket.text(address)), state.errno());
            }
            if (InetCalls.listen(state, number, backlog) < 0) {
                throw new OsException("listen(%s, %d)".formatted(TcpSocket.text(address), backlog), state.errno());
            }
            return new TcpServerSocket(number, address);
        } catch (OsException e) {
            Syscalls.close(number);
            throw e;
        }
    }

    /** The address it listens on, with the actual port. */
    public InetSocketAddress address() {
        return address;
    }

    /**
     * Blocks until a peer connects.
     *
     * @throws OsException EBADF or EINVAL when this socket is closed, also during the call; EMFILE when the process has no
     *     descriptor left (the peer keeps waiting)
     */
    public TcpSocket accept() {
        int number = descriptor.acquire("accept4");
        try {
            var state = CallState.current();
            while (true) {
                int accepted = InetCalls.accept(state, number);
                if (accepted >= 0) {
                    return new TcpSocket(accepted, "accepted at " + descriptor.name());
                }
                int errno = state.errno();
                if (errno != Errno.EINTR && errno != Errno.ECONNABORTED) {
                    throw new OsException("accept4(%s)".formatted(descriptor.name()), errno);
                }
            }
        } finally {
            descriptor.release();
        }
    }

    /** Stops listening and ends a blocked {@link #accept}. Accepted connections stay open. Idempotent. */
    @Override
    public void close() {
        int number;
        try {
            number = descriptor.acquire("close");
        } catch (OsException e) {
            return;
        }
        InetCalls.shutdown(number, InetCalls.SHUT_RDWR);
        descriptor.close();
        descriptor.release();
    }

    @Override
    public String toString() {
        return "TcpServerSocket[%s]".formatted(TcpSocket.text(address));
    }
}
