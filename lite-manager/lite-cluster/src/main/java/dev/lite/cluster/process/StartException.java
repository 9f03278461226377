package dev.lite.cluster.process;

import org.jspecify.annotations.Nullable;

/**
 * A process cannot start. The text is for people: the message says what failed, the value and the limit; {@link #action}
 * says what to do.
 */
public final class StartException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String action;

    /** Creates the exception from a message, an action and a cause. */
    public StartException(String message, String action, @Nullable Throwable cause) {
        super(message, cause);
        this.action = action;
    }

    /** What to do about it. */
    public String action() {
        return action;
    }

    /** Whether one of LITE's own checks threw an exception, so that its message is for people; others keep their stack trace. */
    public static boolean isOurs(Throwable failure) {
        StackTraceElement[] stack = failure.getStackTrace();
        return stack.length > 0 && stack[0].getClassName().startsWith("dev.lite.");
    }
}
