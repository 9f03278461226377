package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** A descriptor that is readable from {@link #signal} to {@link #drain}. Any thread. */
public final class EventFd extends Pollable {
    private static final int EFD_CLOEXEC_NONBLOCK = 0x80000 | 0x800;
    private static final MethodHandle EVENTFD = CLibrary.function("eventfd", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle READ =
            CLibrary.function("read", JAVA_LONG, JAVA_INT, CLibrary.POINTER, JAVA_LONG);
    private static final MethodHandle WRITE =
            CLibrary.function("write", JAVA_LONG, JAVA_INT, CLibrary.POINTER, JAVA_LONG);

    /** What is written; never changed, and never freed. */
    private static final MemorySegment ONE = Arena.global().allocateFrom(JAVA_LONG, 1);

    /** What is read goes here, and nobody looks at it. */
    private static final MemorySegment SINK = Arena.global().allocate(JAVA_LONG);

    private EventFd(int number) {
        super(number, "eventfd");
    }

    /**
     * A new one, not signalled.
     *
     * @throws OsException EMFILE when the process has no descriptor left
     */
    public static EventFd create() {
        Linux.require();
        var state = CallState.current();
        int number;
        try {
            number = (int) EVENTFD.invokeExact(state.capture, 0, EFD_CLOEXEC_NONBLOCK);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
        if (number < 0) {
            throw new OsException("eventfd", state.errno());
        }
        return new EventFd(number);
    }

    /** Makes it readable. Does nothing when it is already, or was closed. */
    public void signal() {
        transfer(WRITE, ONE.address());
    }

    /** Makes it unreadable; several signals are one. Does nothing when it is already, or was closed. */
    public void drain() {
        transfer(READ, SINK.address());
    }

    /** Moves the counter; the only failures are a counter that is full or empty, which is what was wanted. */
    private void transfer(MethodHandle call, long address) {
        int number;
        try {
            number = descriptor.acquire("eventfd");
        } catch (OsException e) {
            return;
        }
        try {
            long unused = (long) call.invokeExact(CallState.current().capture, number, address, (long) Long.BYTES);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        } finally {
            descriptor.release();
        }
    }
}
