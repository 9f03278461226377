package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.VarHandle;

/**
 * One thread's off-heap memory for native calls: the captured {@code errno} and small structures such as {@code timespec}.
 * Created once per thread, so that calls allocate nothing.
 */
final class CallState {
    private static final StructLayout CAPTURE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = CAPTURE.varHandle(PathElement.groupElement("errno"));
    private static final int TIMESPEC_BYTES = 16;
    private static final int POLLFD_BYTES = 8;
    private static final int EPOLL_EVENT_BYTES_MAX = 16;
    private static final int INET_HEADER_BYTES = 56;
    private static final long NS_PER_SECOND = 1_000_000_000;
    private static final ThreadLocal<CallState> LOCAL = ThreadLocal.withInitial(CallState::new);

    /** The first argument of every function linked with {@code captureCallState}. */
    final MemorySegment capture;

    /** The {@code msghdr} for sending and receiving on Unix sockets. */
    final MessageHeader message;

    private final MemorySegment timespec;
    private final MemorySegment pollfd;
    private final MemorySegment epollEvent;
    private final MemorySegment inetHeader;

    private CallState() {
        // The garbage collector frees it after the thread has ended.
        var arena = Arena.ofAuto();
        capture = arena.allocate(CAPTURE);
        message = new MessageHeader(arena);
        timespec = arena.allocate(TIMESPEC_BYTES, Long.BYTES);
        pollfd = arena.allocate(POLLFD_BYTES, Long.BYTES);
        epollEvent = arena.allocate(EPOLL_EVENT_BYTES_MAX, Long.BYTES);
        inetHeader = arena.allocate(INET_HEADER_BYTES, Long.BYTES);
    }

    /** The calling thread's state. */
    static CallState current() {
        return LOCAL.get();
    }

    /** The {@code errno} of this thread's last failed call. */
    int errno() {
        return (int) ERRNO.get(capture, 0L);
    }

    /** The address of this thread's {@code timespec}, holding a duration; valid until the next call of this method. */
    long timespec(long durationNs) {
        timespec.set(JAVA_LONG, 0, durationNs / NS_PER_SECOND);
        timespec.set(JAVA_LONG, Long.BYTES, durationNs % NS_PER_SECOND);
        return timespec.address();
    }

    /** The address of this thread's {@code pollfd}; valid until the next call of this method. */
    long pollfd(int descriptor, int events) {
        pollfd.set(JAVA_INT, 0, descriptor);
        pollfd.set(JAVA_INT, Integer.BYTES, events);
        return pollfd.address();
    }

    /** The address of this thread's {@code epoll_event}; valid until the next call of this method. */
    long epollEvent(int events, long keyOffset, long key) {
        epollEvent.set(JAVA_INT, 0, events);
        epollEvent.set(JAVA_LONG_UNALIGNED, keyOffset, key);
        return epollEvent.address();
    }

    /** The address of this thread's {@code msghdr} for TCP sockets; every field except its buffer list is 0. */
    long inetHeader() {
        return inetHeader.address();
    }
}
