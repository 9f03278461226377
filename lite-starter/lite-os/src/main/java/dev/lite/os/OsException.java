package dev.lite.os;

import org.jspecify.annotations.Nullable;

/** The kernel refused a call. The message names the call, what it was about, and the error: symbol and words. */
public final class OsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int errno;
    private final String call;

    /**
     * With the C library's words for the error.
     *
     * @param call the call and what it was about, for example {@code bind(/run/x.sock)}
     * @param errno one of {@link Errno}, or any other of the kernel's
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

    /** The call and what it was about, for example {@code bind(/run/x.sock)}. */
    public String call() {
        return call;
    }
}
