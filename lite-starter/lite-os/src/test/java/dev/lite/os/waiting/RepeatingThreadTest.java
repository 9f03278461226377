package dev.lite.os.waiting;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

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
