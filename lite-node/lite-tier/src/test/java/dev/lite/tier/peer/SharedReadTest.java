package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class SharedReadTest {
    private final AtomicInteger begun = new AtomicInteger();
    private final Semaphore mayEnd = new Semaphore(0);
    private final SharedRead shared = new SharedRead("reading", deadline -> {
        int number = begun.incrementAndGet();
        Waits.until("the read may end", mayEnd::tryAcquire);
        if (number == 1) {
            throw new ClusterUnavailableException("the first read fails");
        }
    });

    private CompletableFuture<Void> read() {
        return CompletableFuture.runAsync(
                () -> shared.read(Deadline.in(Waits.seconds(20))), Thread::startVirtualThread);
    }

    private void begin(int number) {
        Waits.until("read %d has begun".formatted(number), () -> begun.get() == number);
    }

    private List<CompletableFuture<Void>> readWhileAnotherReads(int readers) {
        List<Thread> threads = new ArrayList<>();
        List<CompletableFuture<Void>> ends = new ArrayList<>();
        for (int reader = 0; reader < readers; reader++) {
            CompletableFuture<Void> end = new CompletableFuture<>();
            ends.add(end);
            threads.add(Thread.ofPlatform().start(() -> {
                shared.read(Deadline.in(Waits.seconds(20)));
                end.complete(null);
            }));
        }
        Waits.until(
                "they wait",
                () -> threads.stream().allMatch(thread -> thread.getState() == Thread.State.TIMED_WAITING));
        return ends;
    }

    @Test
    void thoseThatWaitDuringAReadShareTheNextOne() {
        CompletableFuture<Void> failing = read();
        begin(1);
        mayEnd.release();
        assertThat(failing).failsWithin(Waits.seconds(10)).withThrowableOfType(ExecutionException.class);

        CompletableFuture<Void> alone = read();
        begin(2);
        List<CompletableFuture<Void>> together = readWhileAnotherReads(5);
        mayEnd.release();
        assertThat(alone).succeedsWithin(Waits.seconds(10));
        begin(3);
        assertThat(together).as("read 2 began before they asked").noneMatch(CompletableFuture::isDone);
        mayEnd.release();
        assertThat(together).allSatisfy(one -> assertThat(one).succeedsWithin(Waits.seconds(10)));
        assertThat(begun).hasValue(3);
    }

    @Test
    void whenAReadFailsTheOthersTryThemselves() {
        CompletableFuture<Void> failing = read();
        begin(1);
        List<CompletableFuture<Void>> others = readWhileAnotherReads(2);
        mayEnd.release(2);
        assertThat(failing).failsWithin(Waits.seconds(10)).withThrowableOfType(ExecutionException.class);
        assertThat(others).allSatisfy(one -> assertThat(one).succeedsWithin(Waits.seconds(10)));
        assertThat(begun).hasValue(2);
    }

    @Test
    void aCallerWaitsForAnothersReadUpToItsDeadline() {
        CompletableFuture<Void> slow = read();
        begin(1);
        assertThatExceptionOfType(ClusterUnavailableException.class)
                .isThrownBy(() -> shared.read(Deadline.in(Waits.seconds(0.05))))
                .withMessageContaining("reading");
        mayEnd.release();
        assertThat(slow).failsWithin(Waits.seconds(10)).withThrowableOfType(ExecutionException.class);
    }
}
