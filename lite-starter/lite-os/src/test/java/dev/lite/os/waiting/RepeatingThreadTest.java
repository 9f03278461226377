package dev.lite.os.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

class RepeatingThreadTest {
    private final List<Throwable> reported = new CopyOnWriteArrayList<>();
    private final AtomicInteger steps = new AtomicInteger();

    @Test
    void theStepIsRepeatedUntilItSaysThatItIsTheLast() {
        join(RepeatingThread.unstarted("steps", () -> steps.incrementAndGet() < 5, this::report));
        assertThat(steps).hasValue(5);
        assertThat(reported).isEmpty();
    }

    @Test
    void afterAnExceptionOrAnErrorTheStepIsRepeated() {
        var defect = new IllegalStateException("a defect");
        var error = new StackOverflowError("too deep");
        join(RepeatingThread.unstarted(
                "failing",
                () -> {
                    switch (steps.incrementAndGet()) {
                        case 1 -> throw defect;
                        case 2 -> throw error;
                        default -> {
                            return false;
                        }
                    }
                },
                this::report));
        assertThat(steps).hasValue(3);
        assertThat(reported).containsExactly(defect, error);
    }

    @Test
    void aReportThatFailsDoesNotEndTheThread() {
        join(RepeatingThread.unstarted(
                "failing twice",
                () -> {
                    if (steps.incrementAndGet() == 1) {
                        throw new IllegalStateException("a defect");
                    }
                    return false;
                },
                (message, failure) -> {
                    throw new OutOfMemoryError("no memory for the message");
                }));
        assertThat(steps).hasValue(2);
    }

    /** The JVM throws the same object again when it has no memory for another one. */
    @Test
    void aReportThatFailsWithTheSameErrorDoesNotEndTheThread() {
        join(RepeatingThread.unstarted(
                "failing twice",
                () -> {
                    if (steps.incrementAndGet() == 1) {
                        throw new StackOverflowError("too deep");
                    }
                    return false;
                },
                (message, failure) -> {
                    throw (StackOverflowError) failure;
                }));
        assertThat(steps).hasValue(2);
    }

    @Nested
    @Isolated("it replaces the process' handler of uncaught exceptions")
    class WithAHandlerThatFails {
        @Test
        void anErrorDoesNotEndTheThread() {
            Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
            Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
                throw new OutOfMemoryError("no memory for a report, on purpose");
            });
            try {
                OutOfMemoryError error = new OutOfMemoryError("on purpose");
                join(RepeatingThread.unstarted(
                        "failing",
                        () -> {
                            if (steps.incrementAndGet() == 1) {
                                throw error;
                            }
                            return false;
                        },
                        RepeatingThreadTest.this::report));
                assertThat(steps).hasValue(2);
                assertThat(reported).containsExactly(error);
            } finally {
                Thread.setDefaultUncaughtExceptionHandler(before);
            }
        }
    }

    @Test
    void anInterruptEndsTheThread() {
        CountDownLatch never = new CountDownLatch(1);
        Thread thread = RepeatingThread.unstarted(
                "waiting",
                () -> {
                    never.await();
                    return true;
                },
                this::report);
        thread.start();
        thread.interrupt();
        Waits.until("the thread has ended", () -> !thread.isAlive());
        assertThat(reported).isEmpty();
    }

    private void report(String message, Throwable failure) {
        reported.add(failure);
    }

    private static void join(Thread thread) {
        assertThat(thread.isDaemon()).isTrue();
        thread.start();
        Waits.until("the thread has ended", () -> !thread.isAlive());
    }
}
