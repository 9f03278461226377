package dev.lite.client.reattach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.HeldLock;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LmrHandle;
import dev.lite.api.LtLock;
import dev.lite.api.LtSync;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import dev.lite.client.fake.FakeLite;
import dev.lite.client.fake.FakeSync;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Locks, and handles under locks that were lost. */
class ReattachingLocksTest extends ReattachingCases {
    @Test
    void aLockUsesTheCurrentSession() {
        LtSync sync = lite.sync();
        LtLock lock = sync.lock("a");
        assertThat(lock.tryAcquire()).isEmpty();
        sessions.getLast().lose();
        assertThat(lock.tryAcquire()).isEmpty();
        assertThat(sessions).hasSize(2);
        assertThat(sync.lock("a").tryAcquire()).isEmpty();
        assertThat(sessions).hasSize(2);
    }

    @Test
    void aLockWhoseOpeningMeetsTheLossOfTheSessionIsOpenedInTheNextOne() {
        sessions.getLast().sync().losesSessionInNextLock = true;
        LtLock lock = lite.sync().lock(FakeSync.FREE);
        assertThat(sessions).hasSize(2);
        sessions.getLast().lose();
        assertThat(lite.nodes()).hasSize(2);
        sessions.getLast().sync().losesSessionInNextLock = true;
        lock.tryAcquire().orElseThrow().close();
        assertThat(sessions).hasSize(4);
    }

    @Test
    void anAcquireThatTheNextSessionRepeatsHasOnlyTheTimeThatIsLeft() {
        LtLock lock = lite.sync().lock(FakeSync.FREE);
        sessions.getLast().sync().losesSessionInNextAcquireAfter(SHORT);

        lock.acquire(LONG).close();

        assertThat(sessions).hasSize(2);
        assertThat(sessions.getLast().sync().lastDeadline()).isLessThanOrEqualTo(LONG.minus(SHORT));
    }

    @Test
    void noOperationIsRepeatedUnderALockThatWasLostWithItsSession() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.WRITE, Permission.ATOMIC);
        LtLock lock = lite.sync().lock(FakeSync.FREE);
        HeldLock first = lock.acquire(LONG);
        HeldLock second = lock.tryAcquire().orElseThrow();
        sessions.getLast().known("a").losesSessionInNextCall = true;

        assertThatThrownBy(() -> handle.write(0, BYTES))
                .isInstanceOf(SessionLostException.class)
                .hasMessageContaining("2 locks that the application has not closed yet");
        first.close();
        first.close();
        assertThatThrownBy(() -> handle.read(0, BYTES))
                .isInstanceOf(SessionLostException.class)
                .hasMessageContaining("1 lock that the application has not closed yet; close it before");
        assertThatThrownBy(() -> handle.fetchAdd(0, 1)).isInstanceOf(SessionLostException.class);
        assertThatThrownBy(() -> handle.memset(0, 8, (byte) 0)).isInstanceOf(SessionLostException.class);
        second.close();

        handle.write(0, BYTES);
        assertThat(sessions.getLast().known("a").calls)
                .as("at the next session")
                .hasValue(1);
    }

    @Test
    void aHandleContinuesOnlyAfterTheApplicationClosedTheLostLockHoweverLongThatTakes() {
        Duration deadline = Waits.seconds(1);
        ReattachingLite shortLived = open(deadline);
        LmrHandle handle = shortLived.memory().map("a", Permission.READ, Permission.WRITE);
        HeldLock lost = shortLived.sync().lock(FakeSync.FREE).acquire(LONG);
        sessions.getLast().lose();
        assertThatThrownBy(() -> handle.write(0, BYTES)).isInstanceOf(SessionLostException.class);
        Waits.pass(deadline.multipliedBy(2));

        assertThatThrownBy(() -> handle.write(0, BYTES))
                .as("two deadlines later")
                .isInstanceOf(SessionLostException.class);
        lost.close();

        handle.write(0, BYTES);
        assertThat(sessions.getLast().known("a").calls)
                .as("at the next session")
                .hasValue(1);
    }

    @Test
    void aHandleOfAnEarlierSessionWaitsForTheCloseOfALockThatALaterSessionLost() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.WRITE, Permission.ATOMIC);
        sessions.getLast().lose();
        HeldLock lost = lite.sync().lock(FakeSync.FREE).acquire(LONG);
        sessions.getLast().lose();

        assertThatThrownBy(() -> handle.write(0, BYTES))
                .as("under the lock, and first used since the first session")
                .isInstanceOf(SessionLostException.class)
                .hasMessageContaining("1 lock that the application has not closed yet");
        assertThatThrownBy(() -> handle.fetchAdd(0, 1)).isInstanceOf(SessionLostException.class);
        lost.close();

        handle.write(0, BYTES);
        assertThat(sessions.getLast().known("a").calls)
                .as("at the next session")
                .hasValue(1);
    }

    @Test
    void aLockThatIsLostWhileItsHolderWaitsForAnotherMappingKeepsTheHandleFromTheNextSession() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.ATOMIC);
        sessions.getLast().lose();
        HeldLock lost = lite.sync().lock(FakeSync.FREE).acquire(LONG);
        FakeLite second = sessions.getLast();
        Thread holder = Thread.currentThread();
        CountDownLatch maps = new CountDownLatch(1);
        AtomicBoolean adds = new AtomicBoolean();
        second.whenMapping = () -> {
            maps.countDown();
            Waits.until("the holder waits", () -> adds.get() && holder.getState() == Thread.State.TIMED_WAITING);
            second.lose();
        };
        Thread other = Thread.ofVirtual().start(() -> assertThatThrownBy(() -> handle.read(0, BYTES)));
        Waits.await(maps);
        adds.set(true);

        assertThatThrownBy(() -> handle.fetchAdd(0, 1))
                .isInstanceOf(SessionLostException.class)
                .hasMessageContaining("1 lock that the application has not closed yet");
        Waits.join(other);
        lost.close();
    }

    @Test
    void aHandleOfAnEarlierSessionContinuesUnderALockOfTheNextOne() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.WRITE);
        sessions.getLast().lose();
        HeldLock held = lite.sync().lock(FakeSync.FREE).acquire(LONG);
        handle.write(0, BYTES);
        assertThat(sessions.getLast().known("a").calls).hasValue(1);
        held.close();
    }

    @Test
    void theStatisticsNameALostLockUntilTheApplicationClosesIt() {
        HeldLock lost = lite.sync().lock(FakeSync.FREE).acquire(LONG);
        sessions.getLast().lose();
        assertThat(lite.statistics().locks()).as("before the next session").containsExactly(FakeSync.FREE);
        lite.nodes();
        HeldLock held = lite.sync().lock("b").acquire(LONG);
        sessions.getLast().statistics = new LiteStatistics(Map.of(), 3, List.of("f"), List.of("p"), List.of("b"));
        assertThat(lite.statistics())
                .isEqualTo(new LiteStatistics(Map.of(), 3, List.of("f"), List.of("p"), List.of("b", FakeSync.FREE)));
        lost.close();
        assertThat(lite.statistics()).isEqualTo(sessions.getLast().statistics);
        held.close();
    }
}
