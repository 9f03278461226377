package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.HeldLock;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtLock;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSync;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Attempts to acquire a lock that their application has given up: the lock must not stay held. */
class CancelledLocksTest {
    private static final Duration LONG = Waits.scaled(Duration.ofSeconds(20));
    private static final int MANY = 200;

    private final AtomicInteger acquired = new AtomicInteger();
    private final AtomicInteger closed = new AtomicInteger();
    private volatile Optional<HeldLock> outcome = Optional.empty();
    private volatile boolean broken;
    /** Whether the session has lost another lock, which refuses its attempts. */
    private volatile boolean lost;

    private final AtomicInteger losses = new AtomicInteger();
    private final ThreadLocal<Boolean> isSlow = ThreadLocal.withInitial(() -> false);
    private final CountDownLatch inside = new CountDownLatch(1);
    private final CountDownLatch mayEnd = new CountDownLatch(1);
    private final SessionLocks locks = new SessionLocks(sync());
    private final long number = locks.open("x", LONG);

    private TierSync sync() {
        LtLock lock = proxy(LtLock.class, method -> tried());
        return proxy(TierSync.class, method -> method.equals("lock") ? lock : losses.get());
    }

    private interface Body {
        Object run(String method) throws Exception;
    }

    private static <T> T proxy(Class<T> type, Body body) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) -> body.run(method.getName())));
    }

    private Optional<HeldLock> tried() throws InterruptedException {
        if (isSlow.get()) {
            inside.countDown();
            assertThat(mayEnd.await(LONG.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
            return Optional.of(held());
        }
        if (broken) {
            throw new LmrUnavailableException("the home of the lock is away");
        }
        return outcome;
    }

    private HeldLock held() {
        acquired.incrementAndGet();
        return proxy(HeldLock.class, method -> switch (method) {
            case "close" -> closed.incrementAndGet();
            case "isHeld" -> true;
            default -> 7L;
        });
    }

    private void holdOther() {
        outcome = Optional.of(proxy(HeldLock.class, method -> switch (method) {
            case "isHeld" -> !lost;
            case "name" -> "y";
            default -> 3L;
        }));
        assertThat(locks.tryAcquire(locks.open("y", LONG), 1_000)).isEqualTo(3);
        outcome = Optional.empty();
    }

    /** An attempt that does not get the lock, for one of three reasons. */
    private void fails(long attempt) {
        broken = attempt % 3 == 0;
        lost = attempt % 3 == 1;
        losses.addAndGet(lost ? 1 : 0);
        if (broken || lost) {
            assertThat(catchThrowable(() -> locks.tryAcquire(number, attempt)))
                    .isInstanceOf(LmrUnavailableException.class);
        } else {
            assertThat(locks.tryAcquire(number, attempt)).isZero();
        }
        broken = false;
        lost = false;
    }

    private void failAndCancelMany() {
        for (long attempt = 2; attempt <= MANY; attempt++) {
            fails(attempt);
            locks.cancel(number, attempt);
        }
    }

    private void cancelAndFailMany() {
        for (long attempt = 2; attempt <= MANY; attempt++) {
            locks.cancel(number, attempt);
            fails(attempt);
        }
    }

    private FutureTask<Long> slowAttempt() throws InterruptedException {
        FutureTask<Long> slow = new FutureTask<>(() -> {
            isSlow.set(true);
            return locks.tryAcquire(number, 1);
        });
        Thread.ofPlatform().daemon().start(slow);
        assertThat(inside.await(LONG.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
        return slow;
    }

    @Test
    void anAttemptThatIsCancelledUnderWayReleasesTheLockHoweverManyLaterOnesFailAndAreCancelled() throws Exception {
        holdOther();
        FutureTask<Long> slow = slowAttempt();
        locks.cancel(number, 1);
        failAndCancelMany();
        cancelAndFailMany();
        for (long attempt = MANY; attempt <= 2 * MANY; attempt++) {
            locks.cancel(number, attempt); // an application may cancel what it has not begun
        }
        mayEnd.countDown();
        assertThat(slow.get(LONG.toNanos(), TimeUnit.NANOSECONDS)).isZero();
        assertThat(acquired).hasValue(1);
        assertThat(closed).hasValue(1);
    }

    @Test
    void anAttemptThatIsCancelledBeforeItBeginsReleasesTheLockHoweverManyOthersFailAndAreCancelled() {
        holdOther();
        locks.cancel(number, 1);
        failAndCancelMany();
        cancelAndFailMany();
        outcome = Optional.of(held());
        assertThat(locks.tryAcquire(number, 1)).isZero();
        assertThat(closed).hasValue(1);
    }

    @Test
    void aCancelThatComesAfterItsAttemptHasFailedDoesNotConcernTheNextAttempt() {
        holdOther();
        fails(1);
        locks.cancel(number, 1);
        outcome = Optional.of(held());
        assertThat(locks.tryAcquire(number, 2)).isEqualTo(7);
        assertThat(closed).hasValue(0);
        locks.cancel(number, 2);
        assertThat(closed).hasValue(1);
    }

    /** Else an application could fill the node's heap with them. */
    @Test
    void theNumbersOfCancelledAttemptsAreBoundedOverAllLocksOfASession() {
        for (long one = 0; one <= SessionLocks.CANCELS_MAX; one++) {
            locks.cancel(several(one), MANY + one);
        }
        outcome = Optional.of(held());
        assertThat(locks.tryAcquire(several(1), MANY + 1))
                .as("the oldest but one")
                .isZero();
        assertThat(closed).hasValue(1);
        assertThat(locks.tryAcquire(several(0), MANY)).as("the oldest").isEqualTo(7);
    }

    @Test
    void theNumbersOfFailedAttemptsAreBoundedOverAllLocksOfASession() {
        for (long one = 0; one <= SessionLocks.CANCELS_MAX; one++) {
            assertThat(locks.tryAcquire(several(one), MANY + one)).isZero();
        }
        locks.cancel(several(1), MANY + 1);
        locks.cancel(several(0), MANY);
        outcome = Optional.of(held());
        assertThat(locks.tryAcquire(several(1), MANY + 1))
                .as("the oldest but one")
                .isEqualTo(7);
        assertThat(locks.tryAcquire(several(0), MANY)).as("the oldest").isZero();
    }

    /** One of a hundred locks. */
    private long several(long one) {
        return locks.open("lock-" + one % 100, LONG);
    }

    /** Else the node waits with a ticket for an application that has given up. */
    @Test
    void openingALockAgainAndWaitingForItHaveOneDeadline() {
        Duration opening = Duration.ofMillis(50);
        List<Duration> waits = new ArrayList<>();
        LtLock lock = (LtLock) Proxy.newProxyInstance(
                LtLock.class.getClassLoader(), new Class<?>[] {LtLock.class}, (proxy, method, arguments) -> {
                    waits.add((Duration) arguments[0]);
                    return held();
                });
        TierSync slow = proxy(TierSync.class, method -> {
            if (!method.equals("lock")) {
                return 0;
            }
            Waits.pass(opening);
            return lock;
        });
        SessionLocks of = new SessionLocks(slow);
        assertThat(of.acquire(of.open("x", LONG), 1, LONG)).isEqualTo(7);
        assertThat(waits).hasSize(1).allMatch(wait -> wait.compareTo(LONG.minus(opening)) <= 0);
    }
}
