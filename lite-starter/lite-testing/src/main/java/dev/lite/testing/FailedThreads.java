package dev.lite.testing;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Fails a test class if an assertion failed in another thread than the test's, of which JUnit knows nothing. JUnit finds this extension
 * by itself. Two classes run at a time, so the class that fails may be the other one; the stack trace tells.
 */
public final class FailedThreads implements BeforeAllCallback, AfterAllCallback {
    private static final Queue<AssertionError> FAILED = new ConcurrentLinkedQueue<>();

    /** For JUnit. */
    public FailedThreads() {}

    /** Sets the process' handler of uncaught exceptions, unless there is one. */
    @Override
    public void beforeAll(ExtensionContext context) {
        if (Thread.getDefaultUncaughtExceptionHandler() == null) {
            Thread.setDefaultUncaughtExceptionHandler(FailedThreads::ended);
        }
    }

    private static void ended(Thread thread, Throwable failure) {
        System.err.printf("Exception in thread \"%s\" ", thread.getName()); // as without a handler
        failure.printStackTrace();
        if (failure instanceof AssertionError) {
            FAILED.add(new AssertionError(
                    "an assertion failed in the thread \"%s\"".formatted(thread.getName()), failure));
        }
    }

    /** Throws the first of the failures since the last call; the others are suppressed in it. */
    @Override
    public void afterAll(ExtensionContext context) {
        AssertionError first = FAILED.poll();
        if (first != null) {
            for (AssertionError next; (next = FAILED.poll()) != null; ) {
                first.addSuppressed(next);
            }
            throw first;
        }
    }
}
