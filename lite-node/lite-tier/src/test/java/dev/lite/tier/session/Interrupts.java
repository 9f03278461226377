package dev.lite.tier.session;

import com.google.errorprone.annotations.concurrent.GuardedBy;

/** The interrupts of one thread: none is lost, and none comes by itself. */
final class Interrupts {
    private final Thread thread;
    private final CallBook book;

    @GuardedBy("this")
    private boolean pending;

    Interrupts(Thread thread, CallBook book) {
        this.thread = thread;
        this.book = book;
    }

    /** Any thread. */
    synchronized void interrupt() {
        pending = true;
        thread.interrupt();
    }

    /** The thread, after an operation that keeps interrupts. Clears them. */
    synchronized void check(String operation) {
        if (Thread.interrupted() != pending) {
            book.wrong("%s: %s".formatted(operation, pending ? "an interrupt was lost" : "an interrupt from nowhere"));
        }
        pending = false;
    }

    /** The thread has caught an {@link InterruptedException}. */
    synchronized void thrown(String operation) {
        boolean unused = Thread.interrupted(); // a second one may have come
        if (!pending) {
            book.wrong(operation + ": InterruptedException without an interrupt");
        }
        pending = false;
    }
}
