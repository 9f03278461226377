package dev.lite.os.waiting;

import java.lang.Thread.UncaughtExceptionHandler;

/**
 * Errors after which a process cannot be trusted to keep its promises: it has no memory left, or a file that it has mapped was
 * truncated. Work that must not end by one failure catches every error and continues. Such places {@link #report} what they
 * caught, so that a process that is only a node can end and start again.
 */
public final class Unrecoverable {
    private Unrecoverable() {}

    /** Whether a failure is such an error. A stack overflow is not: it ends the operation that caused it. */
    public static boolean is(Throwable failure) {
        return failure instanceof VirtualMachineError && !(failure instanceof StackOverflowError);
    }

    /**
     * Passes such an error to the process's handler of uncaught exceptions, if there is one, as if this thread had not caught
     * it. Does nothing about other failures. Does not throw: the work of the caller is more important than what the handler throws.
     */
    public static void report(Throwable failure) {
        if (is(failure)) {
            UncaughtExceptionHandler handler = Thread.getDefaultUncaughtExceptionHandler();
            if (handler != null) {
                try {
                    handler.uncaughtException(Thread.currentThread(), failure);
                } catch (Throwable e) {
                    // ignored, as the JVM does it
                }
            }
        }
    }

    /**
     * Notes a further failure at the first one. Without memory, the JVM may throw the same object again, which cannot be noted at
     * itself.
     */
    public static void note(Throwable first, Throwable further) {
        if (further != first) {
            first.addSuppressed(further);
        }
    }
}
