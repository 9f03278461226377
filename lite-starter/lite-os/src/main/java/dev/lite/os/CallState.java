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
 * Off-heap memory of one thread for what native calls read and write beside their data: where {@code errno} is captured, and
 * room for the small structures of calls that wait. Made once per thread, so that a futex call allocates nothing.
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

    /** What a function linked with {@code captureCallState} takes first. */
    final MemorySegment capture;

    /** For sending and receiving. */
    final MessageHeader message;

    private final MemorySegment timespec;
    private final MemorySegment pollfd;
    private final MemorySegment epollEvent;
    private final MemorySegment inetHeader;

    private CallState() {
        // The garbage collector frees it some time after the thread ended; nothing refers to it by then.
        var arena = Arena.ofAuto();
        capture = arena.allocate(CAPTURE);
        message = new MessageHeader(arena);
        timespec = arena.allocate(TIMESPEC_BYTES, Long.BYTES);
        pollfd = arena.allocate(POLLFD_BYTES, Long.BYTES);
        epollEvent = arena.allocate(EPOLL_EVENT_BYTES_MAX, Long.BYTES);
        inetHeader = arena.allocate(INET_HEADER_BYTES, Long.BYTES);
    }

    /** The calling thread's. */
    static CallState current() {
        return LOCAL.get();
    }

    /** The error of this thread's last call that failed. */
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

    /** The address of this thread's {@code msghdr} of TCP sockets, of which everything but its list of buffers is 0. */
    long inetHeader() {
        return inetHeader.address();
    }
}
