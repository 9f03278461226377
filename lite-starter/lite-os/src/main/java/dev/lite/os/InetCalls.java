package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;

/** The calls on TCP sockets. Each returns what its C function returns: -1 with {@link CallState#errno} on failure. */
final class InetCalls {
    static final int SOL_SOCKET = 1;
    static final int SO_REUSEADDR = 2;
    static final int SO_ERROR = 4;
    static final int SO_LINGER = 13;
    static final int IPPROTO_TCP = 6;
    static final int TCP_NODELAY = 1;
    static final int TCP_USER_TIMEOUT = 18;
    static final int SHUT_WR = 1;
    static final int SHUT_RDWR = 2;

    private static final int AF_INET = 2;
    private static final int AF_INET6 = 10;
    private static final int SOCK_STREAM = 1;
    private static final int SOCK_NONBLOCK = 0x800;
    private static final int SOCK_CLOEXEC = 0x80000;
    private static final int MSG_DONTWAIT = 0x40;
    private static final int MSG_NOSIGNAL = 0x4000;
    private static final int IPV4_BYTES = 16;
    private static final int IPV6_BYTES = 28;
    private static final int IPV4_ADDRESS = 4;
    private static final int IPV6_ADDRESS = 8;
    private static final int IPV6_SCOPE = 24;
    private static final ValueLayout.OfShort PORT = JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);
    // struct msghdr, with a list of buffers only
    private static final long IOV = 16;
    private static final long IOV_LENGTH = 24;

    private static final MethodHandle SOCKET = CLibrary.function("socket", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle BIND = CLibrary.function("bind", JAVA_INT, JAVA_INT, CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle LISTEN = CLibrary.function("listen", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle ACCEPT4 =
            CLibrary.function("accept4", JAVA_INT, JAVA_INT, CLibrary.POINTER, CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle CONNECT =
            CLibrary.function("connect", JAVA_INT, JAVA_INT, CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle SEND =
            CLibrary.function("send", JAVA_LONG, JAVA_INT, CLibrary.POINTER, JAVA_LONG, JAVA_INT);
    private static final MethodHandle SENDMSG =
            CLibrary.function("sendmsg", JAVA_LONG, JAVA_INT, CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle RECV =
            CLibrary.function("recv", JAVA_LONG, JAVA_INT, CLibrary.POINTER, JAVA_LONG, JAVA_INT);
    private static final MethodHandle SHUTDOWN = CLibrary.function("shutdown", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle SETSOCKOPT =
            CLibrary.function("setsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle GETSOCKOPT =
            CLibrary.function("getsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, CLibrary.POINTER, CLibrary.POINTER);
    private static final MethodHandle GETSOCKNAME =
            CLibrary.function("getsockname", JAVA_INT, JAVA_INT, CLibrary.POINTER, CLibrary.POINTER);
    private static final MethodHandle GETPEERNAME =
            CLibrary.function("getpeername", JAVA_INT, JAVA_INT, CLibrary.POINTER, CLibrary.POINTER);

    private InetCalls() {}

    /** The calls with arrays; linked only in processes that use them. */
    private static final class OfArrays {
        static final MethodHandle SEND = CLibrary.ofArray("send");
        static final MethodHandle RECV = CLibrary.ofArray("recv");
    }

    /** Creates a stream socket of the address's family, or throws {@link OsException}. */
    static int socket(InetAddress address, boolean blocking) {
        var state = CallState.current();
        int family = address instanceof Inet6Address ? AF_INET6 : AF_INET;
        int type = SOCK_STREAM | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK);
        int descriptor;
        try {
            descriptor = (int) SOCKET.invokeExact(state.capture, family, type, 0);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
        if (descriptor < 0) {
            throw new OsException(
                    "socket(%s, SOCK_STREAM)".formatted(family == AF_INET ? "IPv4" : "IPv6"), state.errno());
        }
        return descriptor;
    }

    static int bind(CallState state, int descriptor, InetSocketAddress address) {
        return withAddress(BIND, state, descriptor, address);
    }

    static int connect(CallState state, int descriptor, InetSocketAddress address) {
        return withAddress(CONNECT, state, descriptor, address);
    }

    private static int withAddress(MethodHandle call, CallState state, int descriptor, InetSocketAddress address) {
        try (var arena = Arena.ofConfined()) {
            var encoded = encode(arena, address);
            return (int) call.invokeExact(state.capture, descriptor, encoded.address(), (int) encoded.byteSize());
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    private static MemorySegment encode(Arena arena, InetSocketAddress address) {
        var host = address.getAddress();
        byte[] bytes = host.getAddress();
        boolean four = host instanceof Inet4Address;
        var encoded = arena.allocate(four ? IPV4_BYTES : IPV6_BYTES, Long.BYTES);
        encoded.set(JAVA_SHORT, 0, (short) (four ? AF_INET : AF_INET6));
        encoded.set(PORT, Short.BYTES, (short) address.getPort());
        MemorySegment.copy(bytes, 0, encoded, JAVA_BYTE, four ? IPV4_ADDRESS : IPV6_ADDRESS, bytes.length);
        if (host instanceof Inet6Address six) {
            encoded.set(JAVA_INT, IPV6_SCOPE, six.getScopeId());
        }
        return encoded;
    }

    /** The socket's own address, or its peer's. */
    static InetSocketAddress name(int descriptor, boolean peer) {
        var call = peer ? GETPEERNAME : GETSOCKNAME;
        try (var arena = Arena.ofConfined()) {
            var state = CallState.current();
            var encoded = arena.allocate(IPV6_BYTES, Long.BYTES);
            var length = arena.allocateFrom(JAVA_INT, IPV6_BYTES);
            int result;
            try {
                result = (int) call.invokeExact(state.capture, descriptor, encoded.address(), length.address());
            } catch (Throwable e) {
                throw CLibrary.impossible(e);
            }
            if (result < 0) {
                throw new OsException(peer ? "getpeername" : "getsockname", state.errno());
            }
            return decode(encoded);
        }
    }

    private static InetSocketAddress decode(MemorySegment encoded) {
        boolean four = encoded.get(JAVA_SHORT, 0) == AF_INET;
        byte[] bytes = new byte[four ? Integer.BYTES : 2 * Long.BYTES];
        MemorySegment.copy(encoded, JAVA_BYTE, four ? IPV4_ADDRESS : IPV6_ADDRESS, bytes, 0, bytes.length);
        try {
            int scope = four ? 0 : encoded.get(JAVA_INT, IPV6_SCOPE);
            var host = scope == 0 ? InetAddress.getByAddress(bytes) : Inet6Address.getByAddress(null, bytes, scope);
            return new InetSocketAddress(host, Short.toUnsignedInt(encoded.get(PORT, Short.BYTES)));
        } catch (UnknownHostException e) {
            throw new AssertionError("%d bytes must be a valid address".formatted(bytes.length), e);
        }
    }

    static int listen(CallState state, int descriptor, int backlog) {
        try {
            return (int) LISTEN.invokeExact(state.capture, descriptor, backlog);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    static int accept(CallState state, int descriptor) {
        try {
            return (int) ACCEPT4.invokeExact(state.capture, descriptor, 0L, 0L, SOCK_CLOEXEC | SOCK_NONBLOCK);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    static long send(CallState state, int descriptor, long address, long length) {
        try {
            return (long) SEND.invokeExact(state.capture, descriptor, address, length, MSG_NOSIGNAL);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    /** The socket must not block. */
    static long send(CallState state, int descriptor, MemorySegment array, long length) {
        try {
            return (long) OfArrays.SEND.invokeExact(
                    state.capture, (long) descriptor, array, length, (long) (MSG_NOSIGNAL | MSG_DONTWAIT));
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    /** The socket must not block. */
    static long receive(CallState state, int descriptor, MemorySegment array, long length) {
        try {
            return (long)
                    OfArrays.RECV.invokeExact(state.capture, (long) descriptor, array, length, (long) MSG_DONTWAIT);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    static long sendVector(CallState state, int descriptor, long iovec, long count) {
        long header = state.inetHeader();
        RawMemory.putLong(header + IOV, iovec);
        RawMemory.putLong(header + IOV_LENGTH, count);
        try {
            return (long) SENDMSG.invokeExact(state.capture, descriptor, header, MSG_NOSIGNAL);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    static long receive(CallState state, int descriptor, long address, long length) {
        try {
            return (long) RECV.invokeExact(state.capture, descriptor, address, length, 0);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    static void shutdown(int descriptor, int how) {
        try {
            // Fails only when the connection is closed already.
            int unused = (int) SHUTDOWN.invokeExact(CallState.current().capture, descriptor, how);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    /** Sets an option of one or two ints. */
    static void option(int descriptor, int level, int option, String name, int... values) {
        try (var arena = Arena.ofConfined()) {
            var state = CallState.current();
            var encoded = arena.allocateFrom(JAVA_INT, values);
            int result;
            try {
                result = (int) SETSOCKOPT.invokeExact(
                        state.capture, descriptor, level, option, encoded.address(), (int) encoded.byteSize());
            } catch (Throwable e) {
                throw CLibrary.impossible(e);
            }
            if (result < 0) {
                throw new OsException("setsockopt(%s, %d)".formatted(name, values[0]), state.errno());
            }
        }
    }

    /** Returns and clears the connection's pending error; 0 for none. */
    static int error(int descriptor) {
        try (var arena = Arena.ofConfined()) {
            var state = CallState.current();
            var value = arena.allocate(JAVA_INT);
            var length = arena.allocateFrom(JAVA_INT, Integer.BYTES);
            int result;
            try {
                result = (int) GETSOCKOPT.invokeExact(
                        state.capture, descriptor, SOL_SOCKET, SO_ERROR, value.address(), length.address());
            } catch (Throwable e) {
                throw CLibrary.impossible(e);
            }
            return result < 0 ? state.errno() : value.get(JAVA_INT, 0);
        }
    }
}
