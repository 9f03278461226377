package dev.lite.os;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * A file descriptor that is closed exactly once, and not before the last call that uses it has returned: a closed number may
 * be given to another file at once, and a late call would then act on that one. Thread-safe.
 */
final class Descriptor {
    private static final int CLOSED = Integer.MIN_VALUE;

    private final int number;
    private final String name;
    /** The number of calls under way; negative, and never growing again, once closed. */
    private final AtomicInteger users = new AtomicInteger();

    Descriptor(int number, String name) {
        this.number = number;
        this.name = name;
    }

    /**
     * The number, open until {@link #release}.
     *
     * @throws OsException EBADF when it was closed
     */
    int acquire(String call) {
        int before;
        do {
            before = users.get();
            if (before < 0) {
                throw new OsException("%s(%s)".formatted(call, name), Errno.EBADF, "it was closed", null);
            }
        } while (!users.compareAndSet(before, before + 1));
        return number;
    }

    void release() {
        if (users.decrementAndGet() == CLOSED) {
            Syscalls.close(number);
        }
    }

    /** Refuses further use, and closes now or when the last call under way returns. A second call does nothing. */
    void close() {
        if (users.getAndUpdate(before -> before | CLOSED) == 0) {
            Syscalls.close(number);
        }
    }

    /** What messages call it. */
    String name() {
        return name;
    }
}
