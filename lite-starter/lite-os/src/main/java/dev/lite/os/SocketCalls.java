package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** The calls on Unix sockets. Each returns what its C function returns: -1 with {@link CallState#errno} on failure. */
final class SocketCalls {
    static final int SO_PEERCRED = 17;
    static final int SO_RCVTIMEO = 20;
    static final int SO_SNDTIMEO = 21;
    private static final int SO_PASSRIGHTS = 83;

    private static final int PATH_BYTES_MAX = 106;
    private static final int AF_UNIX = 1;
    private static final int SOCK_SEQPACKET = 5;
    private static final int SOCK_CLOEXEC = 0x80000;
    private static final int SOL_SOCKET = 1;
    private static final int MSG_DONTWAIT = 0x40;
    private static final int MSG_NOSIGNAL = 0x4000;
    private static final int MSG_CMSG_CLOEXEC = 0x40000000;
    private static final int SHUT_RDWR = 2;
    private static final int SOCKADDR_UN_BYTES = 110;
    private static final int TIMEVAL_BYTES = 16;
    private static final long US_PER_SECOND = 1_000_000;
    private static final long NS_PER_US = 1_000;

    private static final MethodHandle SOCKET = CLibrary.function("socket", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle BIND = CLibrary.function("bind", JAVA_INT, JAVA_INT, CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle LISTEN = CLibrary.function("listen", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle ACCEPT4 =
            CLibrary.function("accept4", JAVA_INT, JAVA_INT, CLibrary.POINTER, CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle CONNECT =
            CLibrary.function("connect", JAVA_INT, JAVA_INT, CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle SENDMSG =
            CLibrary.function("sendmsg", JAVA_LONG, JAVA_INT, CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle RECVMSG =
            CLibrary.function("recvmsg", JAVA_LONG, JAVA_INT, CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle SHUTDOWN = CLibrary.function("shutdown", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle SETSOCKOPT =
            CLibrary.function("setsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle GETSOCKOPT =
            CLibrary.function("getsockopt", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, CLibrary.POINTER, CLibrary.POINTER);

    private SocketCalls() {}

    /** The path's bytes, checked against the kernel's limit (108 bytes including the terminating zero, minus one in reserve). */
    static byte[] pathBytes(Path path) {
        byte[] bytes = path.toString().getBytes(StandardCharsets.UTF_8);
        if (bytes.length == 0 || bytes.length > PATH_BYTES_MAX) {
            throw new IllegalArgumentException("the path of a Unix socket has 1 to %d bytes; '%s' has %d"
                    .formatted(PATH_BYTES_MAX, path, bytes.length));
        }
        return bytes;
    }

    /** Creates a blocking socket, or throws {@link OsException}. */
    static int socket() {
        var state = CallState.current();
        int descriptor;
        try {
            descriptor = (int) SOCKET.invokeExact(state.capture, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
        if (descriptor < 0) {
            throw new OsException("socket(AF_UNIX, SOCK_SEQPACKET)", state.errno());
        }
        return descriptor;
    }

    static int bind(CallState state, int descriptor, byte[] path) {
        try (var arena = Arena.ofConfined()) {
            return (int) BIND.invokeExact(state.capture, descriptor, socketAddress(arena, path), SOCKADDR_UN_BYTES);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    static int connect(CallState state, int descriptor, byte[] path) {
        try (var arena = Arena.ofConfined()) {
            return (int) CONNECT.invokeExact(state.capture, descriptor, socketAddress(arena, path), SOCKADDR_UN_BYTES);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    private static long socketAddress(Arena arena, byte[] path) {
        var address = arena.allocate(SOCKADDR_UN_BYTES, Short.BYTES);
        address.set(JAVA_SHORT, 0, (short) AF_UNIX);
        MemorySegment.copy(path, 0, address, JAVA_BYTE, Short.BYTES, path.length);
        return address.address();
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
            return (int) ACCEPT4.invokeExact(state.capture, descriptor, 0L, 0L, SOCK_CLOEXEC);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    static long send(CallState state, int descriptor, boolean waits) {
        int flags = MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT);
        try {
            return (long) SENDMSG.invokeExact(state.capture, descriptor, state.message.address(), flags);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    static long receive(CallState state, int descriptor, boolean waits) {
        int flags = MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT);
        try {
            return (long) RECVMSG.invokeExact(state.capture, descriptor, state.message.address(), flags);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    static void shutdown(int descriptor) {
        try {
            // Fails only when the peer has disconnected, and then no thread is blocked.
            int unused = (int) SHUTDOWN.invokeExact(CallState.current().capture, descriptor, SHUT_RDWR);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    /** Clears SO_PASSRIGHTS; fails before Linux 6.16. The connections of a listening socket begin with its value. */
    static int refuseDescriptors(CallState state, int descriptor) {
        try (var arena = Arena.ofConfined()) {
            var off = arena.allocateFrom(JAVA_INT, 0);
            return (int) SETSOCKOPT.invokeExact(
                    state.capture, descriptor, SOL_SOCKET, SO_PASSRIGHTS, off.address(), Integer.BYTES);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    /** Sets SO_RCVTIMEO or SO_SNDTIMEO; rounds up to whole microseconds, since 0 means no timeout. */
    static int setTimeout(CallState state, int descriptor, int option, long timeoutNs) {
        long timeoutUs = timeoutNs / NS_PER_US + (timeoutNs % NS_PER_US == 0 ? 0 : 1);
        try (var arena = Arena.ofConfined()) {
            var timeval = arena.allocate(TIMEVAL_BYTES, Long.BYTES);
            timeval.set(JAVA_LONG, 0, timeoutUs / US_PER_SECOND);
            timeval.set(JAVA_LONG, Long.BYTES, timeoutUs % US_PER_SECOND);
            return (int) SETSOCKOPT.invokeExact(
                    state.capture, descriptor, SOL_SOCKET, option, timeval.address(), TIMEVAL_BYTES);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    /** Reads an option of {@code value}'s size into it. */
    static int option(CallState state, int descriptor, int option, MemorySegment value) {
        try (var arena = Arena.ofConfined()) {
            var length = arena.allocateFrom(JAVA_INT, (int) value.byteSize());
            return (int) GETSOCKOPT.invokeExact(
                    state.capture, descriptor, SOL_SOCKET, option, value.address(), length.address());
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }
}
