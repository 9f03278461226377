package dev.lite.os.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A task runs once, or its start throws. */
class TaskStartTest {
    private final AtomicInteger runs = new AtomicInteger();

    @Test
    void aTaskRunsOnAThreadOfItsOwn() {
        Thread starter = Thread.currentThread();
        List<Thread> ran = new ArrayList<>();
        TaskStart.virtual("task", () -> {
            ran.add(Thread.currentThread());
            runs.incrementAndGet();
        });
        Waits.until("it has run", () -> runs.get() == 1);
        assertThat(ran).hasSize(1).doesNotContain(starter);
        assertThat(ran.getFirst().isVirtual()).isTrue();
        assertThat(ran.getFirst().getName()).isEqualTo("task");
    }

    /** As when the system has no thread for a further carrier. */
    @Test
    void aStartThatThrowsAfterItsTaskHasBegunHasSucceeded() {
        TaskStart.on(
                task -> {
                    Waits.join(Thread.ofVirtual().start(task));
                    throw new OutOfMemoryError("on purpose");
                },
                runs::incrementAndGet);
        assertThat(runs).hasValue(1);
    }

    @Test
    void aTaskThatThisThreadRunsThrowsItsOwnFailure() {
        assertThatThrownBy(() -> TaskStart.on(Runnable::run, () -> {
                    throw new IllegalStateException("the task's");
                }))
                .hasMessage("the task's");
    }

    @Test
    void aTaskWhoseStartThrewDoesNotRunLater() {
        List<Runnable> started = new ArrayList<>();
        assertThatThrownBy(() -> TaskStart.on(
                        task -> {
                            started.add(task);
                            throw new OutOfMemoryError("on purpose");
                        },
                        runs::incrementAndGet))
                .isInstanceOf(OutOfMemoryError.class);
        started.forEach(Runnable::run);
        assertThat(runs).hasValue(0);
    }

    @Test
    void aRefusedTaskDoesNotRun() {
        assertThatThrownBy(() -> TaskStart.on(
                        task -> {
                            throw new RejectedExecutionException("closed");
                        },
                        runs::incrementAndGet))
                .isInstanceOf(RejectedExecutionException.class);
        assertThat(runs).hasValue(0);
    }
}
