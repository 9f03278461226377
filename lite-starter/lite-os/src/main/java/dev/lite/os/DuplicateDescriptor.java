package dev.lite.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.invoke.MethodHandle;

/** A duplicate of a descriptor that a library owns, for use with {@link Epoll}; the library still closes its own. Any thread. */
public final class DuplicateDescriptor extends Pollable {
    private static final int F_DUPFD_CLOEXEC = 1030;
    private static final MethodHandle FCNTL = CLibrary.variadic("fcntl", 2, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);

    private DuplicateDescriptor(int number, int original) {
        super(number, "duplicate of descriptor " + original);
    }

    /**
     * Duplicates a descriptor.
     *
     * @throws OsException EBADF when there is no such descriptor; EMFILE when the process has none left
     */
    public static DuplicateDescriptor of(int descriptor) {
        Linux.require();
        return new DuplicateDescriptor(duplicate(descriptor), descriptor);
    }

    /** A duplicate that the caller must close; throws as {@link #of}. */
    static int duplicate(int descriptor) {
        var state = CallState.current();
        int number;
        try {
            number = (int) FCNTL.invokeExact(state.capture, descriptor, F_DUPFD_CLOEXEC, 0);
        } catch (Throwable e) {
            throw CLibrary.impossible(e);
        }
        if (number < 0) {
            throw new OsException("fcntl(%d, F_DUPFD_CLOEXEC)".formatted(descriptor), state.errno());
        }
        return number;
    }
}
