package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LiteException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtLock;
import dev.lite.os.waiting.RepeatedLines;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Waits;
import dev.lite.tier.FairShares;
import dev.lite.tier.TierSession;
import dev.lite.tier.TierSync;
import dev.lite.tier.session.RpcCommands.Command;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Waits for a lock whose home does not answer, at the end of their session: only an interrupt ends them in time. */
class LockWaitsEndTest {
    private static final Duration LONG = Waits.scaled(Duration.ofSeconds(20));
    private static final int WINDOW = 4096;

    private final Arena arena = Arena.ofShared();
    private final MemorySegment windows = arena.allocate(2L * WINDOW, 64);
    private final CountDownLatch waiting = new CountDownLatch(1);
    private final CountDownLatch homeAnswers = new CountDownLatch(1);
    private final CompletableFuture<LiteException> failed = new CompletableFuture<>();

    private interface Body {
        Object run(String method) throws Exception;
    }

    private static <T> T proxy(Class<T> type, Body body) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> body.run(method.getName())));
    }

    @AfterEach
    void stop() {
        homeAnswers.countDown();
        assertThat(failed).succeedsWithin(LONG);
        arena.close();
    }

    private Object waitForHome() {
        waiting.countDown();
        try {
            homeAnswers.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        throw new LmrUnavailableException("the home of the lock is away");
    }

    private final class OneSlot implements RpcCommands.Slots {
        @Override
        public long window(int slot) {
            return windows.address() + (long) slot * WINDOW;
        }

        @Override
        public int windowBytes() {
            return WINDOW;
        }

        @Override
        public void complete(int slot, int status, long result) {
            throw new IllegalStateException("nobody gets the lock");
        }

        @Override
        public void fail(int slot, LiteException error) {
            failed.complete(error);
        }

        @Override
        public void received(int slot, long call, long origin, int contextBytes, int replyBytesMax) {}

        @Override
        public void received(int slot, int further) {}

        @Override
        public void waitsUntil(long deadlineNs) {}
    }

    /** Starts a wait for a lock and ends the session; returns whether the wait ended in time. */
    private boolean endsInTime(Executor lockWaits) throws InterruptedException {
        LtLock lock = proxy(LtLock.class, method -> waitForHome());
        TierSync sync = proxy(TierSync.class, method -> method.equals("lock") ? lock : 0);
        TierSession tier = proxy(TierSession.class, method -> method.equals("sync") ? sync : "none");
        SessionLocks locks = new SessionLocks(sync);
        RpcCommands commands = new RpcCommands(
                "test",
                tier,
                locks,
                lockWaits,
                new RepeatedLines(10, Duration.ofSeconds(10)),
                new FairShares(8).share("app"));
        long number = locks.open("x", LONG);
        Command command = new Command(1, Op.LOCK, number, 0, 0, 1, 0, TimeUnit.HOURS.toNanos(1), false);
        assertThat(commands.start(command, new OneSlot())).isTrue();
        assertThat(waiting.await(LONG.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
        return commands.end(System.nanoTime() + LONG.toNanos());
    }

    @Test
    void theEndOfASessionEndsAWaitOnASharedThreadAndLeavesTheThreadUninterrupted() throws Exception {
        CompletableFuture<Boolean> interruptedAfterwards = new CompletableFuture<>();
        assertThat(endsInTime(task -> Thread.ofPlatform().daemon().start(() -> {
                    task.run();
                    interruptedAfterwards.complete(Thread.currentThread().isInterrupted());
                })))
                .isTrue();
        assertThat(interruptedAfterwards).succeedsWithin(LONG).isEqualTo(false);
    }

    @Test
    void theEndOfASessionEndsAWaitThatFoundNoSharedThread() throws Exception {
        assertThat(endsInTime(task -> {
                    throw new RejectedExecutionException("all are taken, on purpose");
                }))
                .isTrue();
    }
}
