package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Reference;

/**
 * A set of descriptors to wait for, level-triggered. Any thread may add, change and remove descriptors, also while another
 * thread waits. Only one thread at a time may wait and read the results. A set may itself be added to another set.
 */
public final class Epoll extends Pollable {
    /** Readable, or closed by the peer. */
    public static final int IN = 0x1;
    /** Writable. */
    public static final int OUT = 0x4;
    /** Combined with others: report the descriptor once, then not again until the next {@link #modify} (EPOLLONESHOT). */
    public static final int ONCE = 1 << 30;
    /** The maximum number of events that one wait returns; the next wait returns the rest. */
    public static final int EVENTS_MAX = 64;

    private static final int CLOEXEC = 0x80000;
    private static final int CTL_ADD = 1;
    private static final int CTL_DEL = 2;
    private static final int CTL_MOD = 3;
    // struct epoll_event is packed on x86-64 and padded elsewhere.
    private static final boolean PACKED = !System.getProperty("os.arch", "").equals("aarch64");
    private static final long KEY = PACKED ? 4 : 8;
    private static final long EVENT_BYTES = PACKED ? 12 : 16;

    private static final MethodHandle CREATE = CLibrary.function("epoll_create1", JAVA_INT, JAVA_INT);
    private static final MethodHandle CTL =
            CLibrary.function("epoll_ctl", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, CLibrary.POINTER);

    /** The events of the last wait. */
    private final MemorySegment events = Arena.ofAuto().allocate(EVENT_BYTES * EVENTS_MAX, Long.BYTES);

    private Epoll(int number) {
        super(number, "epoll");
    }

    /**
     * Creates an empty set.
     *
     * @throws OsException EMFILE when the process has no descriptor left; ENOSYS before Linux 5.11
     */
    public static Epoll create() {
        Linux.require();
        var state = CallState.current();
        int number;
        try {
            number = (int) CREATE.invokeExact(state.capture, CLOEXEC);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
        if (number < 0) {
            throw new OsException("epoll_create1", state.errno());
        }
        var created = new Epoll(number);
        try {
            int unused = created.await(0);
        } catch (OsException e) {
            created.close();
            throw e;
        }
        return created;
    }

    /**
     * Adds a descriptor to the set.
     *
     * @param interest {@link #IN}, {@link #OUT}, both or 0, optionally with {@link #ONCE}; the end of a connection is
     *     always reported
     * @param key what {@link #key} returns for it
     * @throws OsException EEXIST when it is in the set already
     */
    public void add(Pollable watched, int interest, long key) {
        control(CTL_ADD, watched, interest, key);
    }

    /** Changes the interest and the key of a descriptor in the set. */
    public void modify(Pollable watched, int interest, long key) {
        control(CTL_MOD, watched, interest, key);
    }

    /** Removes a descriptor from the set. */
    public void remove(Pollable watched) {
        control(CTL_DEL, watched, 0, 0);
    }

    private void control(int operation, Pollable watched, int interest, long key) {
        int set = descriptor.acquire("epoll_ctl");
        try {
            int number = watched.descriptor.acquire("epoll_ctl");
            try {
                var state = CallState.current();
                if (control(state, set, operation, number, state.epollEvent(interest, KEY, key)) < 0) {
                    throw new OsException(
                            "epoll_ctl(%d, %s)".formatted(operation, watched.descriptor.name()), state.errno());
                }
            } finally {
                watched.descriptor.release();
            }
        } finally {
            descriptor.release();
        }
    }

    private static int control(CallState state, int set, int operation, int number, long event) {
        try {
            return (int) CTL.invokeExact(state.capture, set, operation, number, event);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    /**
     * Waits until a descriptor is ready.
     *
     * @param timeoutNs nanoseconds; 0 or less returns immediately
     * @return how many are ready, at most {@value #EVENTS_MAX}; 0 after the timeout or a signal
     * @throws OsException EBADF when this set is closed; closing it during the wait does not end the wait
     */
    public int await(long timeoutNs) {
        int set = descriptor.acquire("epoll_pwait2");
        try {
            var state = CallState.current();
            long timespec = state.timespec(Math.max(0, timeoutNs));
            long ready = Syscalls.syscall(state, Syscalls.EPOLL_PWAIT2, set, events.address(), EVENTS_MAX, timespec);
            if (ready < 0 && state.errno() != Errno.EINTR) {
                throw new OsException("epoll_pwait2", state.errno());
            }
            return (int) Math.max(0, ready);
        } finally {
            descriptor.release();
            Reference.reachabilityFence(this);
        }
    }

    /** The key of the ready descriptor at {@code index}. */
    public long key(int index) {
        return events.get(JAVA_LONG_UNALIGNED, index * EVENT_BYTES + KEY);
    }

    /** Whether the ready descriptor at {@code index} is readable or closed by the peer. */
    public boolean isReadable(int index) {
        return (events(index) & ~OUT) != 0;
    }

    /** Whether the ready descriptor at {@code index} is writable or closed by the peer. */
    public boolean isWritable(int index) {
        return (events(index) & ~IN) != 0;
    }

    private int events(int index) {
        return events.get(java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED, index * EVENT_BYTES);
    }
}
