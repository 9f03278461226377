package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.ref.Reference;

/**
 * A set of descriptors to wait for, level-triggered. Any thread adds, changes and removes, also while another one waits; one
 * thread at a time waits and looks at what it got. A set may be watched by another set.
 */
public final class Epoll extends Pollable {
    /** Readable, or at its end. */
    public static final int IN = 0x1;
    /** Writable. */
    public static final int OUT = 0x4;
    /** With others: after it was told once, it is told no more until {@link #modify} says so again. */
    public static final int ONCE = 1 << 30;
    /** How many events one wait brings at most; the rest comes with the next. */
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

    /** What the last wait brought. */
    private final MemorySegment events = Arena.ofAuto().allocate(EVENT_BYTES * EVENTS_MAX, Long.BYTES);

    private Epoll(int number) {
        super(number, "epoll");
    }

    /**
     * An empty set.
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
     * Watches.
     *
     * @param interest {@link #IN}, {@link #OUT}, both or 0, and perhaps {@link #ONCE}; the end of a connection counts whatever it is
     * @param key what {@link #key} answers for it
     * @throws OsException EEXIST when it is watched already
     */
    public void add(Pollable watched, int interest, long key) {
        control(CTL_ADD, watched, interest, key);
    }

    /** Changes the interest or key of what is watched. */
    public void modify(Pollable watched, int interest, long key) {
        control(CTL_MOD, watched, interest, key);
    }

    /** Watches no more. */
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
     * Waits until something is ready.
     *
     * @param timeoutNs nanoseconds; 0 or less only looks
     * @return how many are ready, at most {@value #EVENTS_MAX}; 0 when the time is over, or a signal came
     * @throws OsException EBADF when this was closed before; a close during the wait does not end it
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

    /** The key of the {@code index}th that is ready. */
    public long key(int index) {
        return events.get(JAVA_LONG_UNALIGNED, index * EVENT_BYTES + KEY);
    }

    /** Whether the {@code index}th that is ready is readable or at its end. */
    public boolean isReadable(int index) {
        return (events(index) & ~OUT) != 0;
    }

    /** Whether the {@code index}th that is ready is writable or at its end. */
    public boolean isWritable(int index) {
        return (events(index) & ~IN) != 0;
    }

    private int events(int index) {
        return events.get(java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED, index * EVENT_BYTES);
    }
}
