package dev.lite.os.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.os.ThreadPriority;
import dev.lite.testing.Waits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class StagedWaitTest {
    private static final int PAUSES = 1000;

    /** What a look costs over a socket, about. */
    private static final int COST = 10;

    /** With a clock by which no yield is late, whatever else this machine does. */
    private static StagedWait inTime() {
        return new StagedWait(PAUSES, null, () -> 0, false, false);
    }

    /** The pauses of the next wait, which is in vain; it ends before the first yield. */
    private static int pausesInVain(StagedWait wait) {
        int pauses = 0;
        for (int left = wait.begin(1); left > 0xff; left = wait.pause(left)) {
            pauses++;
        }
        return pauses;
    }

    private static void hitAtThirdLook(StagedWait wait) {
        wait.hit(wait.pause(wait.pause(wait.begin(1))));
    }

    @Test
    void waitsInVainShortenThePausesAndHitsBringThemBack() {
        StagedWait wait = new StagedWait(PAUSES);
        assertThat(pausesInVain(wait)).isEqualTo(PAUSES);
        for (int i = 0; i < 10; i++) {
            pausesInVain(wait);
        }
        assertThat(pausesInVain(wait)).isLessThan(PAUSES / 2);
        for (int i = 0; i < 10; i++) {
            hitAtThirdLook(wait);
        }
        assertThat(pausesInVain(wait)).isEqualTo(PAUSES);
    }

    @Test
    void allPausesAreTriedAgainSoonAndThenAfterMoreAndMoreWaits() {
        StagedWait wait = new StagedWait(PAUSES);
        List<Integer> tries = new ArrayList<>();
        for (int i = 0; i <= 300; i++) {
            if (pausesInVain(wait) == PAUSES) {
                tries.add(i);
            }
        }
        assertThat(tries).containsExactly(0, 8, 24, 56, 120, 184, 248);
    }

    @Test
    void afterPausesYieldsFollowAndThenTheSleep() {
        assertThat(stepsInVain(inTime())).isEqualTo(PAUSES + 100);
    }

    @Test
    void aYieldThatTakesTooLongEndsTheWait() {
        AtomicLong nowNs = new AtomicLong();
        AtomicInteger yields = new AtomicInteger();
        Runnable third = () -> nowNs.addAndGet(yields.incrementAndGet() == 3 ? 200_001 : 200_000);
        StagedWait wait = new StagedWait(PAUSES, third, nowNs::get, false, false);
        assertThat(stepsInVain(wait)).isEqualTo(PAUSES + 3);
        assertThat(yields).hasValue(3);
    }

    @Test
    void followersMixPausesWithYieldsForAWhileAfterAWaitInVain() {
        AtomicInteger yields = new AtomicInteger();
        StagedWait wait = new StagedWait(PAUSES, yields::incrementAndGet, () -> 0, false, true);
        assertThat(pausesInVain(wait)).isEqualTo(PAUSES);
        assertThat(yields).as("while pauses succeed").hasValue(0);
        for (int i = 1; i <= StagedWait.MIXED_WAITS; i++) {
            assertThat(yieldsWithin(wait, 2 * StagedWait.PAUSES_BETWEEN, yields))
                    .as("wait %d", i)
                    .isEqualTo(i < StagedWait.MIXED_WAITS ? 2 : 0);
        }
    }

    private static int yieldsWithin(StagedWait wait, int pauses, AtomicInteger yields) {
        int before = yields.get();
        int left = wait.begin(1);
        for (int i = 0; i < pauses; i++) {
            left = wait.pause(left);
        }
        wait.hit(left);
        return yields.get() - before;
    }

    private static int stepsInVain(StagedWait wait) {
        int steps = 0;
        for (int left = wait.begin(1); left != 0; left = wait.pause(left)) {
            steps++;
        }
        return steps;
    }

    @Test
    void aVirtualThreadYieldsItsPlaceOnTheCarrierOrTheCarriersProcessor() {
        AtomicInteger places = new AtomicInteger();
        AtomicInteger processors = new AtomicInteger();
        Waits.join(Thread.ofVirtual().start(() -> {
            places.set(stepsInVain(new StagedWait(PAUSES)));
            processors.set(stepsInVain(StagedWait.ofCarrier(PAUSES, ThreadPriority::yieldProcessor)));
        }));
        assertThat(places).hasValue(PAUSES + 100); // others on the carrier are no busy processes
        assertThat(processors.get()).isBetween(PAUSES + 1, PAUSES + 100);
    }

    @Test
    void aLookThatCostsManyPausesIsMadeFewerTimes() {
        StagedWait wait = new StagedWait(PAUSES);
        int pauses = 0;
        for (int left = wait.begin(10); left > 0xff; left = wait.pause(left)) {
            pauses++;
        }
        assertThat(pauses).isEqualTo(PAUSES / 10);
    }

    @Test
    void aWaitMaySkipItsPausesButNotWhenItHasNoYields() {
        StagedWait wait = new StagedWait(PAUSES);
        assertThat(StagedWait.yieldsOnly(wait.begin(1))).isEqualTo(100);
        int withoutYields = wait.begin(1) - 100;
        assertThat(StagedWait.yieldsOnly(withoutYields)).isEqualTo(withoutYields);
    }

    @Test
    void afterWaitsThatEndedAtTheirFirstLookTheNextSkipTheirPauses() {
        StagedWait wait = inTime();
        for (int i = 0; i < StagedWait.READY_IN_A_ROW; i++) {
            assertThat(wait.begin(COST)).isGreaterThan(0xff);
            wait.ready(wait.begin(COST));
        }
        for (int i = 0; i < 3; i++) {
            assertThat(wait.begin(COST)).as("only yields").isBetween(1, 0xff);
            wait.ready(wait.begin(COST));
        }

        wait.hit(wait.pause(wait.begin(COST))); // one that waited
        assertThat(wait.begin(COST)).isGreaterThan(0xff);
        for (int i = 0; i < StagedWait.READY_IN_A_ROW; i++) {
            wait.ready(wait.begin(COST));
            wait.hit(wait.pause(wait.begin(COST)));
        }
        assertThat(wait.begin(COST)).as("they were not in a row").isGreaterThan(0xff);
    }

    @Test
    void pausesAreNotSkippedWhereALookCostsNothingOrYieldsAreSuspended() {
        StagedWait wait = new StagedWait(PAUSES);
        for (int i = 0; i < 2 * StagedWait.READY_IN_A_ROW; i++) {
            wait.ready(wait.begin(1));
        }
        assertThat(wait.begin(1)).isGreaterThan(0xff);
        assertThat(wait.begin(COST)).isBetween(1, 0xff);
        late(wait);
        assertThat(wait.begin(COST)).as("no yields, so all pauses").isGreaterThan(0xff);
    }

    @Test
    void pausesThatWereShortenedGrowAgainWhenTheFirstLookSucceeds() {
        StagedWait wait = inTime();
        for (int left = wait.begin(1); left != 0; ) {
            left = wait.pause(left);
        }
        int shortened = wait.begin(1);
        wait.ready(shortened);
        assertThat(wait.begin(1)).isGreaterThan(shortened);
    }

    /** A yield is late that begins after all before have ended. */
    private static void late(StagedWait wait) {
        long nowNs = System.nanoTime();
        wait.late(nowNs, nowNs);
    }

    private static int waitsWithoutYields(StagedWait wait) {
        int waits = 0;
        while ((wait.begin(1) & 0xff) == 0) {
            waits++;
        }
        return waits;
    }

    @Test
    void lateYieldsInSuccessionSuspendYieldsForMoreAndMoreWaits() {
        StagedWait wait = new StagedWait(PAUSES);
        List<Integer> suspended = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            late(wait);
            suspended.add(waitsWithoutYields(wait));
        }
        assertThat(suspended).containsExactly(64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 16384);
    }

    @Test
    void aLateYieldAmongManyInTimeSuspendsNothing() {
        StagedWait wait = new StagedWait(PAUSES);
        late(wait);
        late(wait);
        waitsWithoutYields(wait);
        for (int late = 0; late < 2; late++) {
            for (int i = 0; i < 16; i++) {
                wait.hit(StagedWait.yieldsOnly(wait.begin(1)));
            }
            late(wait);
            assertThat(waitsWithoutYields(wait)).isZero();
        }
        late(wait);
        assertThat(waitsWithoutYields(wait)).isEqualTo(64);
    }

    @Test
    void lateYieldsOfSeveralThreadsAtTheSameTimeCountAsOne() {
        assertThat(waitsAfterTwoLateYields(new StagedWait(PAUSES), 200)).isEqualTo(64);
        assertThat(waitsAfterTwoLateYields(new StagedWait(PAUSES), 300)).isEqualTo(128);
    }

    @Test
    void amongThreadsThatTakeTurnsEachLateYieldCounts() {
        assertThat(waitsAfterTwoLateYields(StagedWait.ofTurns(PAUSES), 200)).isEqualTo(128);
    }

    /** The first yield takes from 100 to 300; the waits without yields after it and a second one. */
    private static int waitsAfterTwoLateYields(StagedWait wait, long secondBegin) {
        long nowNs = System.nanoTime();
        wait.late(nowNs + 100, nowNs + 300);
        wait.late(nowNs + secondBegin, nowNs + 400);
        return waitsWithoutYields(wait);
    }

    @Test
    void aThreadThatFindsItsWorkAtOnceGivesWayInEverySecondWait() {
        AtomicInteger yields = new AtomicInteger();
        StagedWait wait = new StagedWait(PAUSES, yields::incrementAndGet, () -> 0, false, false);
        for (int i = 1; i <= 10; i++) {
            wait.giveWay();
            assertThat(yields).as("after %d waits", i).hasValue(i / 2);
        }
    }

    @Test
    void afterALateYieldAThreadGivesNoWayForManyTimesAsLong() {
        AtomicInteger yields = new AtomicInteger();
        AtomicLong nowNs = new AtomicLong();
        Runnable late = () -> {
            yields.incrementAndGet();
            nowNs.addAndGet(300_000);
        };
        StagedWait wait = new StagedWait(PAUSES, late, nowNs::get, false, false);
        giveWayTwice(wait);
        assertThat(yields).hasValue(1);
        nowNs.addAndGet(64 * 300_000 - 1);
        giveWayTwice(wait);
        assertThat(yields).as("too early").hasValue(1);
        nowNs.addAndGet(1);
        giveWayTwice(wait);
        assertThat(yields).hasValue(2);
        assertThat(wait.begin(1) & 0xff).as("yields of waits").isPositive();
    }

    @Test
    void aThreadThatSleepsAtOnceGivesNoWay() {
        AtomicInteger yields = new AtomicInteger();
        StagedWait wait = new StagedWait(0, yields::incrementAndGet, () -> 0, false, false);
        giveWayTwice(wait);
        assertThat(yields).hasValue(0);
    }

    private static void giveWayTwice(StagedWait wait) {
        wait.giveWay();
        wait.giveWay();
    }

    @Test
    void withoutPausesTheThreadSleepsAtOnce() {
        StagedWait wait = new StagedWait(0);
        for (int i = 0; i < 200; i++) {
            assertThat(wait.begin(1)).isZero();
        }
    }

    @Test
    void aNegativeNumberOfPausesIsRefused() {
        assertThatThrownBy(() -> new StagedWait(-1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("-1");
    }
}
