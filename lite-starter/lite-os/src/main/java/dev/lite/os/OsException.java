package dev.lite.os;

import org.jspecify.annotations.Nullable;

/** A system call failed. The message names the call, its subject, and the error as a symbol and a description. */
public final class OsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int errno;
    private final String call;

    /**
     * Creates the exception with the C library's description of the error.
     *
     * @param call the call and its subject, for example {@code bind(/run/x.sock)}
     * @param errno one of {@link Errno}, or any other error of the kernel
     */
    OsException(String call, int errno) {
        this(call, errno, Syscalls.describe(errno), null);
    }

    OsException(String call, int errno, String words, @Nullable Throwable cause) {
        super("%s: %s (%s)".formatted(call, Errno.name(errno), words), cause);
        this.errno = errno;
        this.call = call;
    }

    /** The kernel's error number, see {@link Errno}. */
    public int errno() {
        return errno;
    }

    /** The call and its subject, for example {@code bind(/run/x.sock)}. */
    public String call() {
        return call;
    }
}
