package dev.lite.os.waiting;

import java.lang.Thread.UncaughtExceptionHandler;

/**
 * Errors after which a process cannot be trusted to keep its promises: it has no memory left, or a file that it has mapped was
 * truncated. Work that must not end by one failure catches every error and continues. Such places {@link #report} what they
 * caught, so that a process that is only a node can end and start again.
 */
public final class Unrecoverable {
    /** Made in advance, so without a stack trace. Keeps nothing that is noted at it. */
    @SuppressWarnings("StaticAssignmentOfThrowable") // there may be no memory on demand
    private static final RuntimeException UNDESCRIBED =
            new RuntimeException("it failed, and there was no memory to say why", null, false, false) {};

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
     * How an operation ends whose failure could not be described, for example because there is no memory for an
     * exception. Needs no memory: an operation that nobody else ends must end all the same. Reports like {@link #report}.
     *
     * @param why the description failed
     */
    public static RuntimeException undescribed(Throwable why) {
        report(why);
        return why instanceof RuntimeException failure ? failure : UNDESCRIBED;
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
