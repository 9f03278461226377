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

    /** The value to write; constant and never freed. */
    private static final MemorySegment ONE = Arena.global().allocateFrom(JAVA_LONG, 1);

    /** Receives the value read, which is ignored. */
    private static final MemorySegment SINK = Arena.global().allocate(JAVA_LONG);

    private EventFd(int number) {
        super(number, "eventfd");
    }

    /**
     * Creates an event descriptor that is not signalled.
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

    /** Makes it readable. Does nothing when it is already readable, or closed. */
    public void signal() {
        transfer(WRITE, ONE.address());
    }

    /** Makes it unreadable, however many signals it received. Does nothing when it is not signalled, or closed. */
    public void drain() {
        transfer(READ, SINK.address());
    }

    /** Reads or writes the counter. It fails only when the counter is already empty or full, which is the desired state. */
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
