package dev.lite.session.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.AbstractSet;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class AsyncOperationsTest {
    private static final Duration LONG = Duration.ofSeconds(20);
    private static final Duration SHORT = Duration.ofMillis(30);

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(LONG.toNanos(), TimeUnit.NANOSECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void atTheLimitAnotherOperationWaitsForOneToEnd() {
        AsyncOperations operations = new AsyncOperations(2, new HelpedFutures(WaitingHelp.NONE));
        CountDownLatch go = new CountDownLatch(1);
        CompletableFuture<?> first = operations.begin(() -> await(go), LONG);
        CompletableFuture<?> second = operations.begin(() -> await(go), LONG);
        AtomicInteger begun = new AtomicInteger();
        assertThatThrownBy(() -> operations.begin(begun::incrementAndGet, SHORT))
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("2 asynchronous operations");
        go.countDown();
        first.join();
        second.join();
        operations.begin(begun::incrementAndGet, LONG).join();
        assertThat(begun).hasValue(1);
    }

    @Test
    void aFenceWaitsForAllOperationsStartedBefore() {
        AsyncOperations operations = new AsyncOperations(100, new HelpedFutures(WaitingHelp.NONE));
        CountDownLatch go = new CountDownLatch(1);
        List<CompletableFuture<?>> futures = new ArrayList<>();
        for (int count = 0; count < 50; count++) {
            futures.add(operations.begin(() -> await(go), LONG));
        }
        assertThatThrownBy(() -> operations.fence(SHORT))
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("50");
        go.countDown();
        operations.fence(LONG);
        assertThat(futures).allMatch(CompletableFuture::isDone);
    }

    @Test
    void anInterruptedThreadStartsOperationsAndWaitsForThem() {
        AsyncOperations operations = new AsyncOperations(1, new HelpedFutures(WaitingHelp.NONE));
        CountDownLatch go = new CountDownLatch(1);
        AtomicInteger done = new AtomicInteger();
        Thread.currentThread().interrupt();
        try {
            CompletableFuture<?> operation = operations.begin(
                    () -> {
                        await(go);
                        done.incrementAndGet();
                    },
                    LONG);
            assertThatThrownBy(() -> operations.begin(done::incrementAndGet, SHORT))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessage("this session had 1 asynchronous operations under way, its limit, for 30 ms");
            assertThatThrownBy(() -> operations.fence(SHORT))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessage("fence: an asynchronous operation had not ended within 30 ms");
            go.countDown();
            operations.fence(LONG);
            assertThat(operation).isCompleted();
            assertThat(done).hasValue(1);
        } finally {
            assertThat(Thread.interrupted()).as("interrupted").isTrue();
        }
    }

    @Test
    void aFenceDoesNotWaitForTheStagesOfAnOperationThatHasEnded() {
        AsyncOperations operations = new AsyncOperations(2, new HelpedFutures(WaitingHelp.NONE));
        CountDownLatch go = new CountDownLatch(1);
        CompletableFuture<?> fenced = operations.begin(() -> await(go), LONG).thenRun(() -> operations.fence(LONG));
        go.countDown();
        assertThat(fenced).succeedsWithin(Duration.ofSeconds(10));

        CountDownLatch stageEnds = new CountDownLatch(1);
        CountDownLatch next = new CountDownLatch(1);
        CompletableFuture<?> first = operations.begin(() -> await(next), LONG);
        CompletableFuture<?> blocked = first.thenRun(() -> await(stageEnds));
        next.countDown();
        operations.fence(Duration.ofSeconds(10));
        assertThat(first).isDone();
        assertThat(blocked).isNotDone();
        stageEnds.countDown();
        blocked.join();
    }

    /** Like all other operations of an attached application. */
    @Test
    void anInterruptEndsNeitherAStartNorAFenceAndIsKept() {
        AsyncOperations operations = new AsyncOperations(1, new HelpedFutures(WaitingHelp.NONE));
        CountDownLatch[] mayEnd = {new CountDownLatch(1), new CountDownLatch(1)};
        CompletableFuture<?> first = operations.begin(() -> await(mayEnd[0]), LONG);
        CountDownLatch started = new CountDownLatch(1);
        AtomicBoolean kept = new AtomicBoolean();
        Thread interrupted = Thread.ofPlatform().start(() -> {
            Thread.currentThread().interrupt();
            CompletableFuture<?> second = operations.begin(() -> await(mayEnd[1]), LONG);
            boolean startKept = Thread.interrupted();
            started.countDown();
            operations.fence(LONG);
            kept.set(startKept && second.isDone() && Thread.currentThread().isInterrupted());
        });
        Waits.until("it waits for the limit", () -> interrupted.getState() == Thread.State.TIMED_WAITING);
        mayEnd[0].countDown();
        await(started);
        Waits.until("it waits for the fence", () -> interrupted.getState() == Thread.State.TIMED_WAITING);
        interrupted.interrupt();
        mayEnd[1].countDown();
        Waits.join(interrupted);
        assertThat(kept).isTrue();
        assertThat(first).isDone();
    }

    @Test
    void aFailureCompletesTheFutureAndAFenceIgnoresIt() {
        AsyncOperations operations = new AsyncOperations(1, new HelpedFutures(WaitingHelp.NONE));
        CompletableFuture<?> failed = operations.begin(
                () -> {
                    throw new LmrFreedException("gone");
                },
                LONG);
        operations.fence(LONG);
        assertThatThrownBy(failed::join).hasCauseInstanceOf(LmrFreedException.class);
        operations.begin(() -> {}, LONG).join(); // the failed operation no longer counts
    }

    @Test
    void anOperationForWhichThereIsNoThreadFailsAndDoesNotCountAnyMore() {
        AsyncOperations operations = new AsyncOperations(1, new HelpedFutures(WaitingHelp.NONE, task -> {
            throw new OutOfMemoryError("no memory for a thread, which the test expects");
        }));
        for (int i = 0; i < 2; i++) { // the second one waits for the permit of the first one
            CompletableFuture<?> failed = operations.begin(() -> {}, SHORT);
            assertThatThrownBy(failed::join).hasCauseInstanceOf(OutOfMemoryError.class);
            operations.fence(LONG);
        }
    }

    @Test
    void anOperationThatEndsDuringItsStartIsDoneWhenItsFutureIsHandedOut() {
        AsyncOperations operations = new AsyncOperations(1, new HelpedFutures(WaitingHelp.NONE));
        AsyncOperations.Operation opened = operations.open(LONG);
        operations.end(opened, null, false);
        assertThat(opened.future()).isDone();
        AsyncOperations.Operation failed = operations.open(LONG);
        operations.end(failed, new LmrFreedException("gone"), false);
        assertThat(failed.future()).isCompletedExceptionally();
        operations.open(LONG); // both no longer count
    }

    /** A dependent stage may block, so the thread that ends the operation must not run it: not even the opening thread. */
    @Test
    void aDependentStageNeverRunsOnTheThreadThatEndsTheOperation() {
        AsyncOperations operations = new AsyncOperations(1, new HelpedFutures(WaitingHelp.NONE));
        AsyncOperations.Operation opened = operations.open(LONG);
        CompletableFuture<Thread> ran = opened.future().thenApply(nothing -> Thread.currentThread());
        operations.end(opened, null, false);
        assertThat(ran).succeedsWithin(LONG).isNotSameAs(Thread.currentThread());
    }

    @Test
    void aStageThatBlocksHoldsUpNoOtherFuture() {
        AsyncOperations operations = new AsyncOperations(3, new HelpedFutures(WaitingHelp.NONE));
        CountDownLatch go = new CountDownLatch(1);
        AsyncOperations.Operation blocking = operations.open(LONG);
        AsyncOperations.Operation other = operations.open(LONG);
        CompletableFuture<?> blocked = blocking.future().thenRun(() -> await(go));
        CompletableFuture<?> future = other.future();
        operations.end(blocking, null, false);
        operations.end(other, null, false);
        assertThat(future).succeedsWithin(LONG);
        assertThat(blocked).isNotDone();
        go.countDown();
        assertThat(blocked).succeedsWithin(LONG);
    }

    /** Like a stage that is added between the look for stages and the completion. */
    @Test
    void aStageThatNobodySawHoldsUpOthersForAMomentOnly() {
        AsyncOperations operations = new AsyncOperations(1, new HelpedFutures(WaitingHelp.NONE));
        CountDownLatch go = new CountDownLatch(1);
        CompletableFuture<Void> hidden = new CompletableFuture<>() {
            @Override
            public int getNumberOfDependents() {
                return 0;
            }
        };
        CompletableFuture<?> blocked = hidden.thenRun(() -> await(go));
        CompletableFuture<Void> other = new CompletableFuture<>();
        operations.complete(hidden, () -> hidden.complete(null), false);
        operations.complete(other, () -> other.complete(null), false);
        assertThat(other).succeedsWithin(LONG);
        assertThat(blocked).isNotDone();
        go.countDown();
        assertThat(blocked).succeedsWithin(LONG);
    }

    @Test
    void aThreadThatWaitsHelpsFirstAlsoForAStage() throws InterruptedException, ExecutionException, TimeoutException {
        List<CompletableFuture<?>> helped = new ArrayList<>();
        CompletableFuture<?>[] origin = new CompletableFuture<?>[1];
        WaitingHelp help = (awaited, deadlineNs) -> {
            helped.add((CompletableFuture<?>) awaited);
            origin[0].complete(null);
        };
        AsyncOperations operations = new AsyncOperations(1, new HelpedFutures(help));
        CompletableFuture<Integer> first = operations.newFuture();
        origin[0] = first;
        first.join();
        CompletableFuture<Integer> second = operations.newFuture();
        origin[0] = second;
        CompletableFuture<Integer> stage = second.thenApply(nothing -> 7);
        assertThat(stage.get(LONG.toNanos(), TimeUnit.NANOSECONDS)).isEqualTo(7);
        CompletableFuture<Integer> third = operations.newFuture();
        origin[0] = third;
        third.get();
        assertThat(helped).containsExactly(first, stage, third);
        third.join(); // done: nobody to help
        assertThat(helped).hasSize(3);
    }

    @Test
    void aHelperCompletesAFutureItselfUnlessStagesDependOnIt() {
        AsyncOperations operations = new AsyncOperations(2, new HelpedFutures(WaitingHelp.NONE));
        AsyncOperations.Operation alone = operations.open(LONG);
        CompletableFuture<?> future = alone.future();
        operations.end(alone, null, true);
        assertThat(future).isDone();
        AsyncOperations.Operation staged = operations.open(LONG);
        CompletableFuture<Thread> ran = staged.future().thenApply(nothing -> Thread.currentThread());
        operations.end(staged, null, true);
        assertThat(ran).succeedsWithin(LONG).isNotSameAs(Thread.currentThread());
    }

    /** A set that has no memory for some of its elements, and notices that before or after the element is in it. */
    private static final class Full extends AbstractSet<AsyncOperations.Operation> {
        private final Set<AsyncOperations.Operation> elements = ConcurrentHashMap.newKeySet();
        private final Deque<Boolean> failures = new ArrayDeque<>(List.of(false, true));

        @Override
        public boolean add(AsyncOperations.Operation element) {
            Boolean late = failures.poll();
            if (late == null) {
                return elements.add(element);
            }
            assertThat(!late || elements.add(element)).isTrue();
            throw new OutOfMemoryError("no memory for an element, which the test expects");
        }

        @Override
        public boolean remove(Object element) {
            return elements.remove(element);
        }

        @Override
        public Iterator<AsyncOperations.Operation> iterator() {
            return elements.iterator();
        }

        @Override
        public int size() {
            return elements.size();
        }
    }

    @Test
    void anOperationForWhichThereIsNoMemoryDoesNotCountAndKeepsNoFenceWaiting() {
        Full full = new Full();
        AsyncOperations operations = new AsyncOperations(1, new HelpedFutures(WaitingHelp.NONE), full);
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> operations.open(SHORT)).isInstanceOf(OutOfMemoryError.class);
        }
        operations.fence(SHORT);
        assertThat(full).isEmpty();
        assertThat(operations.begin(() -> {}, SHORT)).succeedsWithin(LONG);
    }
}
