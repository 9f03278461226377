package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** System calls that the C library does not wrap, and calls that the whole package uses. */
final class Syscalls {
    private static final boolean X86_64 = !System.getProperty("os.arch", "").equals("aarch64");

    /** The system call numbers of x86-64, and of aarch64, which uses the generic table. */
    static final long FUTEX = X86_64 ? 202 : 98;

    static final long MEMBARRIER = X86_64 ? 324 : 283;
    static final long PIDFD_OPEN = 434;
    static final long EPOLL_PWAIT2 = 441;
    static final long FUTEX_WAITV = 449;

    private static final int SC_PAGESIZE = 30;
    private static final int ERROR_WORDS_MAX = 256;

    // Always six parameters: registers that a system call ignores cost nothing.
    private static final MethodHandle SYSCALL = CLibrary.variadic(
            "syscall", 1, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle CLOSE = CLibrary.function("close", JAVA_INT, JAVA_INT);
    private static final MethodHandle SYSCONF = CLibrary.function("sysconf", JAVA_LONG, JAVA_INT);
    private static final MethodHandle STRERROR = CLibrary.function("strerror", CLibrary.POINTER, JAVA_INT);
    private static final MethodHandle PPOLL =
            CLibrary.function("ppoll", JAVA_INT, CLibrary.POINTER, JAVA_LONG, CLibrary.POINTER, CLibrary.POINTER);

    private Syscalls() {}

    /** The result of system call {@code number}, -1 with {@link CallState#errno} on failure. */
    static long syscall(CallState state, long number, long a, long b, long c, long d) {
        return syscall(state, number, a, b, c, d, 0, 0);
    }

    /** {@link #syscall(CallState, long, long, long, long, long)} with six arguments. */
    static long syscall(CallState state, long number, long a, long b, long c, long d, long e, long f) {
        try {
            return (long) SYSCALL.invokeExact(state.capture, number, a, b, c, d, e, f);
        } catch (Throwable impossible) {
            throw CLibrary.impossible(impossible);
        }
    }

    /** Closes a descriptor. Errors are ignored, because the caller could not act on them. */
    static void close(int descriptor) {
        try {
            int unused = (int) CLOSE.invokeExact(CallState.current().capture, descriptor);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    static int ppoll(CallState state, long fds, long count, long timespec) {
        try {
            return (int) PPOLL.invokeExact(state.capture, fds, count, timespec, 0L);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    static long pageSize() {
        try {
            return (long) SYSCONF.invokeExact(CallState.current().capture, SC_PAGESIZE);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }

    /** The C library's description of an error number. */
    static String describe(int errno) {
        try {
            long words = (long) STRERROR.invokeExact(CallState.current().capture, errno);
            return MemorySegment.ofAddress(words).reinterpret(ERROR_WORDS_MAX).getString(0);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
    }
}
