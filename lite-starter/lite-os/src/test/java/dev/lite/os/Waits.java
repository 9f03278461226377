package dev.lite.os;

import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Deadlines of tests, scaled by {@code lite.test.time-scale}, and waiting for what has no call of its own to wait with. */
final class Waits {
    private static final double SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));
    private static final long POLL_NS = 1_000_000;
    private static final Set<String> CALLS = Set.of(Syscalls.class.getName(), SocketCalls.class.getName());

    private Waits() {}

    static Duration seconds(double seconds) {
        return Duration.ofNanos((long) (seconds * SCALE * 1e9));
    }

    static void until(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + seconds(20).toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("not within the time: " + what);
            }
            LockSupport.parkNanos(POLL_NS);
        }
    }

    /** Gives other threads time to do what they should not do; proves nothing when they do not. */
    static void aMoment(Duration duration) {
        long endNs = System.nanoTime() + duration.toNanos();
        for (long left = duration.toNanos(); left > 0; left = endNs - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** Waits for a thread's end. */
    static void join(Thread thread) {
        try {
            if (!thread.join(seconds(20))) {
                AssertionError hangs = new AssertionError(thread + " did not end");
                hangs.setStackTrace(thread.getStackTrace());
                throw hangs;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    /**
     * Until a thread is inside a system call. A Java thread in a native call shows as runnable; that it is about to sleep, or
     * sleeps, in the kernel is what /proc tells of its task, but not which task it is. So: its top frames are ours.
     */
    static void untilInCall(Thread thread) {
        until(
                thread.getName() + " is in a call",
                () -> Arrays.stream(thread.getStackTrace()).anyMatch(frame -> CALLS.contains(frame.getClassName())));
    }
}
