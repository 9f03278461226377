package dev.lite.session.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Threads that wait for futures poll, and complete what has ended. */
class HelpedFuturesTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final int ROUNDS = 20_000;

    /** What a poll finds; runs on the polling thread. */
    private volatile Runnable found = () -> {};

    private final AtomicInteger waits = new AtomicInteger();
    private final AtomicInteger signals = new AtomicInteger();
    private final AtomicReference<@Nullable Thread> parked = new AtomicReference<>();
    /** How many threads cannot be started. */
    private final AtomicInteger threadsMissing = new AtomicInteger();

    private final HelpedFutures futures = new HelpedFutures(this::newWait, this::startThread);

    private void startThread(Runnable task) {
        if (threadsMissing.getAndUpdate(missing -> Math.max(0, missing - 1)) > 0) {
            throw new OutOfMemoryError("no memory for a thread, which the test expects");
        }
        Thread unused = Thread.ofVirtual().start(task);
    }

    private PollingHelp.Wait newWait(BooleanSupplier over) {
        waits.incrementAndGet();
        return new PollingHelp.Wait() {
            private volatile @Nullable Thread waiting;

            @Override
            public void await(long deadlineNs) {
                found.run();
                waiting = Thread.currentThread();
                parked.set(Thread.currentThread());
                while (!over.getAsBoolean()
                        && deadlineNs - System.nanoTime() > 0
                        && !Thread.currentThread().isInterrupted()) {
                    LockSupport.parkNanos(this, deadlineNs - System.nanoTime());
                }
                waiting = null;
            }

            @Override
            public void signal() {
                signals.incrementAndGet();
                LockSupport.unpark(waiting);
            }
        };
    }

    /** Ends an operation, as the thread that sees its end does. */
    private void end(CompletableFuture<Thread> future) {
        futures.complete(future, () -> future.complete(Thread.currentThread()), false);
    }

    private List<CompletableFuture<Thread>> several(int count) {
        List<CompletableFuture<Thread>> several = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            several.add(futures.newFuture());
        }
        return several;
    }

    @Test
    void aThreadThatWaitsCompletesAllThatItsPollFinds() {
        List<CompletableFuture<Thread>> several = several(3);
        found = () -> several.forEach(this::end);
        assertThat(several.getFirst().join()).isSameAs(Thread.currentThread());
        assertThat(several).allSatisfy(each -> assertThat(each.join()).isSameAs(Thread.currentThread()));
        assertThat(waits).hasValue(1);
    }

    @Test
    void asManyOperationsFollowAsEndedTogetherButOne() {
        Waits.until("the thread is not preempted, which ends the guess", () -> {
            List<CompletableFuture<Thread>> several = several(3);
            found = () -> several.forEach(this::end);
            several.getFirst().join();
            List<Boolean> followed = List.of(futures.isFollowed(), futures.isFollowed(), futures.isFollowed());
            assertThat(followed.getLast()).isFalse();
            return followed.equals(List.of(true, true, false));
        });
    }

    @Test
    void operationsFollowEachOtherAlsoIfAllOfThemTakeLong() {
        Waits.until(
                "the thread is not preempted, which ends the guess",
                () -> followed(5).equals(List.of(true, true, true, true, false)));
    }

    @Test
    void afterSomeTimeOneIsNotFollowedSoThatAllAreSent() {
        Waits.until("the thread is not preempted, which ends the guess", () -> {
            List<Boolean> followed = followed(16);
            int first = followed.indexOf(false);
            return first > 2 && first < 12 && followed.get(first + 1);
        });
    }

    /** Whether operations are followed that begin 20 µs after each other, when so many have ended. */
    private List<Boolean> followed(int ended) {
        List<CompletableFuture<Thread>> several = several(ended);
        found = () -> several.forEach(this::end);
        several.getFirst().join();
        List<Boolean> followed = new ArrayList<>();
        for (int i = 0; i < ended; i++) {
            long untilNs = System.nanoTime() + 20_000;
            while (System.nanoTime() < untilNs) {
                Thread.onSpinWait();
            }
            followed.add(futures.isFollowed());
        }
        return followed;
    }

    @Test
    void nothingFollowsAnOperationThatEndedAlone() {
        CompletableFuture<Thread> alone = futures.newFuture();
        found = () -> end(alone);
        alone.join();
        assertThat(futures.isFollowed()).isFalse();
    }

    @Test
    void aStageRunsOnAVirtualThreadAndNotOnTheOneThatPolls() {
        List<CompletableFuture<Thread>> two = several(2);
        CompletableFuture<Thread> stage = two.getLast().thenApply(nothing -> Thread.currentThread());
        found = () -> two.reversed().forEach(this::end);
        two.getFirst().join();
        assertThat(stage).succeedsWithin(LONG);
        assertThat(stage.join().isVirtual()).isTrue();
    }

    @Test
    void aStageThatBlocksDelaysNoOther() {
        List<CompletableFuture<Thread>> two = several(2);
        CompletableFuture<Void> go = new CompletableFuture<>();
        CompletableFuture<Thread> blocked = two.getFirst().thenApply(nothing -> {
            go.join();
            return Thread.currentThread();
        });
        found = () -> two.forEach(this::end);
        two.getLast().join();
        assertThat(blocked).isNotDone();
        go.complete(null);
        assertThat(blocked).succeedsWithin(LONG);
    }

    @Test
    void whatEndsWhileNoThreadCanBeStartedIsCompletedLater() {
        threadsMissing.set(3);
        CompletableFuture<Thread> first = futures.newFuture();
        CompletableFuture<Thread> stage = first.thenApply(thread -> thread);
        end(first); // does not throw: this thread may serve others, too
        assertThat(stage).succeedsWithin(LONG);
        assertThat(threadsMissing).hasValue(0);
        CompletableFuture<Thread> next = futures.newFuture();
        CompletableFuture<Thread> nextStage = next.thenApply(thread -> thread);
        end(next);
        assertThat(nextStage).succeedsWithin(LONG);
    }

    @Test
    void aStageForWhichAWaitingThreadFindsNoOtherIsRunLater() {
        List<CompletableFuture<Thread>> two = several(2);
        CompletableFuture<Thread> stage = two.getLast().thenApply(nothing -> Thread.currentThread());
        threadsMissing.set(4);
        found = () -> two.reversed().forEach(this::end);
        assertThat(two.getFirst()).succeedsWithin(LONG);
        assertThat(stage).succeedsWithin(LONG);
        assertThat(stage.join().isVirtual()).isTrue();
        assertThat(threadsMissing).hasValue(0);
    }

    @Test
    void whoeverCompletesTheFutureWakesTheThreadThatWaits() {
        List<Runnable> ends = new ArrayList<>();
        List<CompletableFuture<Thread>> three = several(3);
        ends.add(() -> three.get(0).complete(Thread.currentThread()));
        ends.add(() -> three.get(1).completeExceptionally(new IllegalStateException("failed")));
        ends.add(() -> three.get(2).cancel(true));
        for (int i = 0; i < ends.size(); i++) {
            parked.set(null);
            Runnable end = ends.get(i);
            Thread other = Thread.ofPlatform().start(() -> {
                Waits.until("the thread waits", () -> parked.get() != null);
                end.run();
            });
            CompletableFuture<Thread> future = three.get(i);
            if (i == 0) {
                assertThat(future.join()).isSameAs(other);
            } else {
                assertThatThrownBy(future::join)
                        .isInstanceOf(i == 1 ? CompletionException.class : CancellationException.class);
            }
            Waits.join(other);
            assertThat(signals).as("signals after %d ends", i + 1).hasValueGreaterThan(i);
        }
    }

    @Test
    void anEndThatAnotherThreadSeesWakesTheThreadThatWaits() {
        CompletableFuture<Thread> future = futures.newFuture();
        Thread other = Thread.ofPlatform().start(() -> {
            Waits.until("the thread waits", () -> parked.get() != null);
            end(future);
        });
        assertThat(future.join()).isSameAs(Thread.currentThread());
        Waits.join(other);
    }

    @Test
    void anInterruptEndsTheWait() {
        CompletableFuture<Thread> future = futures.newFuture();
        Thread.currentThread().interrupt();
        assertThatThrownBy(future::get).isInstanceOf(InterruptedException.class);
        assertThat(future).isNotDone();
    }

    @Test
    void virtualThreadsAndThoseThatWaitForAStageBlockAndPollNothing() {
        CompletableFuture<Thread> future = futures.newFuture();
        CompletableFuture<Thread> stage = future.thenApply(thread -> thread);
        Thread virtual = Thread.ofVirtual().start(future::join);
        Thread waitsForStage = Thread.ofPlatform().start(stage::join);
        Waits.until("both block", () -> isBlocked(virtual) && isBlocked(waitsForStage));
        end(future);
        Waits.join(virtual);
        Waits.join(waitsForStage);
        assertThat(parked).hasNullValue();
    }

    private static boolean isBlocked(Thread thread) {
        return thread.getState() == Thread.State.WAITING;
    }

    @Test
    void noEndIsLostWhileThreadsBeginAndEndTheirWaits() {
        AtomicReference<@Nullable CompletableFuture<Thread>> next = new AtomicReference<>();
        Thread other = Thread.ofPlatform().daemon().start(() -> {
            for (int i = 0; i < ROUNDS; i++) {
                CompletableFuture<Thread> future;
                while ((future = next.getAndSet(null)) == null) {
                    Thread.onSpinWait();
                }
                for (int pause = 0; pause < i % 200; pause++) {
                    Thread.onSpinWait();
                }
                end(future);
            }
        });
        for (int i = 0; i < ROUNDS; i++) {
            CompletableFuture<Thread> future = futures.newFuture();
            next.set(future);
            assertThat(future).succeedsWithin(LONG);
        }
        Waits.join(other);
    }

    /** Else nobody would, and an operation would count towards its limit for ever. */
    @Test
    void theThreadThatSeesAnEndForWhichThereIsNoMemoryCompletesTheFutureItself() {
        Object completions = Inside.field(futures, "completions", Object.class);
        Inside.set(completions, "ended", new ConcurrentLinkedQueue<>() {
            @Override
            public boolean add(Object entry) {
                throw new OutOfMemoryError("no memory for an entry, which the test expects");
            }
        });
        CompletableFuture<Thread> future = futures.newFuture();
        CompletableFuture<Thread> stage = future.thenApply(thread -> thread);
        end(future);
        assertThat(stage).isCompletedWithValue(Thread.currentThread());
    }

    /** Likewise. */
    @Test
    void aThreadThatHelpsCompletesAFutureForWhoseStagesThereIsNeitherAThreadNorMemory() {
        AtomicBoolean full = new AtomicBoolean();
        Object completions = Inside.field(futures, "completions", Object.class);
        Inside.set(completions, "ended", new ConcurrentLinkedQueue<>() {
            @Override
            public boolean add(Object entry) {
                if (full.get()) {
                    throw new OutOfMemoryError("no memory for an entry, which the test expects");
                }
                return super.add(entry);
            }
        });
        CompletableFuture<Thread> awaited = futures.newFuture();
        CompletableFuture<Thread> other = futures.newFuture();
        CompletableFuture<Thread> stage = other.thenApply(thread -> thread);
        found = () -> {
            if (!full.get()) {
                end(other);
                end(awaited);
                threadsMissing.set(1000);
                full.set(true);
            }
        };
        assertThat(awaited.join()).isSameAs(Thread.currentThread());
        assertThat(stage).isCompletedWithValue(Thread.currentThread());
        threadsMissing.set(0);
    }
}
