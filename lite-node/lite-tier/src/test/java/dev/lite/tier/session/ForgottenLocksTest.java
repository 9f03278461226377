package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LmrNotFoundException;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSync;
import dev.lite.tier.sync.FewNames;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An attached application that opens more locks than its session may use at a time, and more than it has numbers for. */
class ForgottenLocksTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final int NAMES_MAX = 4;
    private static final int ALL = 20;

    @TempDir(factory = InDevShm.class)
    Path root;

    private TestCluster cluster;
    private TierSync sync;

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, new ShmFabricProvider()).start(1);
        sync = FewNames.session(cluster.node(0), NAMES_MAX);
    }

    @AfterEach
    void stop() {
        FewNames.close(sync);
        cluster.close();
    }

    @Test
    void numbersStayUsableAfterTheSessionHasUsedManyOtherLocks() {
        SessionLocks locks = new SessionLocks(sync);
        long kept = locks.open("kept", LONG);
        long keptToken = locks.acquire(kept, 0, LONG);
        long[] numbers = new long[ALL];
        long[] tokens = new long[ALL];
        for (int round = 0; round < 3; round++) {
            for (int name = 0; name < ALL; name++) {
                if (round == 0) {
                    numbers[name] = locks.open("n" + name, LONG);
                }
                long token = name % 2 == 0 ? locks.tryAcquire(numbers[name], 1) : locks.acquire(numbers[name], 1, LONG);
                assertThat(token).isGreaterThan(tokens[name]);
                tokens[name] = token;
                assertThat(locks.isHeld(numbers[name], token)).isTrue();
                assertThat(locks.releaseAtOnce(numbers[name], token)).isTrue();
                assertThat(locks.isHeld(numbers[name], token)).isFalse();
                assertThat(locks.open("n" + name, LONG)).isEqualTo(numbers[name]);
            }
        }
        assertThat(locks.isHeld(kept, keptToken)).isTrue();
    }

    @Test
    void aNumberWithoutRoomIsForgottenUnlessItsLockIsHeld() {
        SessionLocks locks = new SessionLocks(sync, 8);
        long kept = locks.open("kept", LONG);
        long keptToken = locks.acquire(kept, 0, LONG);
        long first = locks.open("n0", LONG);
        long firstToken = locks.acquire(first, 0, LONG);
        locks.release(first, firstToken);
        for (int name = 1; name < ALL; name++) {
            long number = locks.open("n" + name, LONG);
            locks.release(number, locks.acquire(number, 0, LONG));
        }
        assertThatExceptionOfType(LmrNotFoundException.class).isThrownBy(() -> locks.acquire(first, 0, LONG));
        assertThatExceptionOfType(LmrNotFoundException.class).isThrownBy(() -> locks.tryAcquire(first, 1));
        locks.release(first, firstToken); // late, or again: it is not held
        assertThat(locks.releaseAtOnce(first, firstToken)).isTrue();
        assertThat(locks.isHeld(first, firstToken)).isFalse();
        locks.cancel(first, 7);
        long again = locks.open("n0", LONG);
        assertThat(again).isNotEqualTo(first);
        assertThat(locks.acquire(again, 0, LONG)).isGreaterThan(firstToken);
        assertThat(locks.isHeld(kept, keptToken)).isTrue();
        assertThatExceptionOfType(LmrNotFoundException.class).isThrownBy(() -> locks.release(1_000, 1));
    }

    @Test
    void noNumberIsForgottenWhileAllAreHeld() {
        SessionLocks locks = new SessionLocks(sync, 2);
        locks.acquire(locks.open("a", LONG), 0, LONG);
        long second = locks.open("b", LONG);
        long token = locks.acquire(second, 0, LONG);
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> locks.open("c", LONG))
                .withMessage("this session holds or acquires 2 locks; the limit is 2");
        locks.release(second, token);
        assertThat(locks.open("c", LONG)).isEqualTo(second + 2);
    }
}
