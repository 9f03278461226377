package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.invoke.MethodHandle;

/** The priority of the calling thread at Linux' scheduler. Java's own thread priorities have no effect there. */
public final class ThreadPriority {
    private static final int PRIO_PROCESS = 0;
    private static final int SELF = 0;

    private static final MethodHandle SETPRIORITY =
            CLibrary.function("setpriority", JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);

    private static final MethodHandle SCHED_YIELD = CLibrary.function("sched_yield", JAVA_INT);

    private ThreadPriority() {}

    /**
     * Lets other threads that want this processor run first, as {@link Thread#yield} of a platform thread does. A virtual thread's yield
     * only gives its carrier away; this call gives the carrier's processor away.
     */
    public static void yieldProcessor() {
        try {
            int unused = (int) SCHED_YIELD.invokeExact(CallState.current().capture);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    /**
     * Lets the calling platform thread run behind others that want a processor. It cannot be undone.
     *
     * @param nice 1 to 19: by how much; 10 leaves it about a tenth of the processor time of a normal thread that competes with it
     * @throws IllegalStateException in a virtual thread
     */
    public static void lower(int nice) {
        if (Thread.currentThread().isVirtual()) {
            throw new IllegalStateException("a virtual thread has no priority of its own");
        }
        if (nice < 1 || nice > 19) {
            throw new IllegalArgumentException("nice is %d; it must be 1 to 19".formatted(nice));
        }
        var state = CallState.current();
        int result;
        try {
            result = (int) SETPRIORITY.invokeExact(state.capture, PRIO_PROCESS, SELF, nice);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
        if (result < 0) {
            throw new OsException("setpriority(%d)".formatted(nice), state.errno());
        }
    }
}
