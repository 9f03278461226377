package dev.lite.os;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * A file descriptor that is closed exactly once, and only after the last call that uses it has returned. The kernel reuses
 * closed numbers, so a late call could otherwise act on another file. Thread-safe.
 */
final class Descriptor {
    private static final int CLOSED = Integer.MIN_VALUE;

    private final int number;
    private final String name;
    /** The number of calls in progress; negative once closed, and then it only decreases. */
    private final AtomicInteger users = new AtomicInteger();

    Descriptor(int number, String name) {
        this.number = number;
        this.name = name;
    }

    /**
     * Returns the descriptor's number, which stays open until {@link #release}.
     *
     * @throws OsException EBADF when this descriptor is closed
     */
    int acquire(String call) {
        int before;
        do {
            before = users.get();
            if (before < 0) {
                throw new OsException("%s(%s)".formatted(call, name), Errno.EBADF, "the descriptor is closed", null);
            }
        } while (!users.compareAndSet(before, before + 1));
        return number;
    }

    void release() {
        if (users.decrementAndGet() == CLOSED) {
            Syscalls.close(number);
        }
    }

    /** Refuses further use, and closes the descriptor now or when the last call in progress returns. Idempotent. */
    void close() {
        if (users.getAndUpdate(before -> before | CLOSED) == 0) {
            Syscalls.close(number);
        }
    }

    /** The name used in messages. */
    String name() {
        return name;
    }
}
