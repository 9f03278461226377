package dev.lite.os;

import dev.lite.testing.Waits;
import java.util.Arrays;
import java.util.Set;

/** Lets tests wait for threads that block in the kernel. */
final class SystemCalls {
    private static final Set<String> CALLERS = Set.of(Syscalls.class.getName(), SocketCalls.class.getName());

    private SystemCalls() {}

    /**
     * Waits until a thread is inside a system call. Java shows a thread in a native call as runnable, and /proc does not say which
     * task belongs to which thread; so this polls the stack of the thread for the classes that make system calls.
     */
    static void awaitIn(Thread thread) {
        Waits.until(
                thread.getName() + " is in a call",
                () -> Arrays.stream(thread.getStackTrace()).anyMatch(frame -> CALLERS.contains(frame.getClassName())));
    }
}
