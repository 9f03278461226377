package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Which breaks are armed, at times that the test chooses. */
class UnarmedBreaksTest {
    private final UnarmedBreaks breaks = new UnarmedBreaks();
    private long nowNs = 5 * UnarmedBreaks.PERIOD_NS;

    @Test
    void breaksAreArmedUntilEventsWakeTheStandbyThreadOften() {
        breakAndWake(UnarmedBreaks.WAKE_UPS_MIN - 1, 100);
        assertThat(breaks.begin()).as("unarmed").isFalse();
        breakAndWake(1, 0);
        assertThat(breaks.begin()).as("unarmed").isTrue();
        assertThat(breaks.mayStay()).isTrue();
    }

    @Test
    void wakeUpsWithFewBreaksChangeNothing() {
        breakAndWake(UnarmedBreaks.WAKE_UPS_MIN, UnarmedBreaks.BREAKS_MIN - 1);
        assertThat(breaks.mayStay()).isFalse();
    }

    @Test
    void wakeUpsOfDifferentPeriodsDoNotAddUp() {
        for (int period = 0; period < 10; period++) {
            nowNs += UnarmedBreaks.PERIOD_NS + 1;
            breakAndWake(UnarmedBreaks.WAKE_UPS_MIN - 1, 100);
        }
        assertThat(breaks.mayStay()).isFalse();
    }

    @Test
    void breaksOfSeveralThreadsAreArmed() {
        boolean unused = breaks.look(false, nowNs);
        manyBreaksOfTwoThreads();
        breakAndWake(UnarmedBreaks.WAKE_UPS_MIN, 100);
        assertThat(breaks.mayStay()).isFalse();
    }

    @Test
    void theStandbyThreadLooksOftenOnlyWhileBreaksAreNotArmed() {
        assertThat(breaks.pauseNs(1_000_000_000)).isEqualTo(1_000_000_000);
        untilUnarmed();
        assertThat(breaks.pauseNs(1_000_000_000)).isEqualTo(UnarmedBreaks.LOOK_NS);
        assertThat(breaks.pauseNs(1_000)).isEqualTo(1_000);
    }

    @Test
    void aBreakThatLastsFromOneLookToTheNextMustBeArmed() {
        untilUnarmed();
        breaks.begin();
        assertThat(look()).as("it may have begun just now").isFalse();
        assertThat(look()).isTrue();
        breaks.begin();
        assertThat(look()).as("another one").isFalse();
    }

    @Test
    void breaksAreArmedAfterTooManyLongOnesAndTheNextTryComesLaterEachTime() {
        long lastTryNs = 0;
        for (int fails = 0; fails < 10; fails++) {
            long beginNs = nowNs;
            untilUnarmed();
            long tryNs = nowNs - beginNs;
            if (fails > 1 && lastTryNs < UnarmedBreaks.TRY_NS_MAX / 2) {
                assertThat(tryNs).isGreaterThan(lastTryNs + lastTryNs / 2);
            }
            lastTryNs = tryNs;
            assertThat(periodIsUnarmedAfter(UnarmedBreaks.LONG_MAX)).isTrue();
            assertThat(periodIsUnarmedAfter(UnarmedBreaks.LONG_MAX + 1)).isFalse();
        }
        assertThat(lastTryNs).isLessThan(UnarmedBreaks.TRY_NS_MAX + 10 * UnarmedBreaks.PERIOD_NS);
    }

    @Test
    void breaksAreArmedAgainIfAnotherThreadMakesSomeOfThem() {
        untilUnarmed();
        manyBreaksOfTwoThreads();
        assertThat(periodIsUnarmedAfter(0)).isFalse();
    }

    @Test
    void breaksAreArmedAgainIfThereAreFew() {
        untilUnarmed();
        assertThat(periodIsUnarmedAfter(0)).isTrue();
        nowNs += UnarmedBreaks.PERIOD_NS + 1;
        assertThat(breaks.look(false, nowNs))
                .as("the last one may last, and nobody looks after it any more")
                .isTrue();
        assertThat(breaks.mayStay()).isFalse();
    }

    @Test
    void breaksAreArmedNowAndThenToSeeWhetherEventsStillWakeTheStandbyThread() {
        untilUnarmed();
        int periods = 0;
        while (periodIsUnarmedAfter(0)) {
            periods++;
        }
        assertThat(periods).isEqualTo(UnarmedBreaks.PERIODS_MAX - 1);
        breakAndWake(UnarmedBreaks.WAKE_UPS_MIN, 100);
        assertThat(breaks.mayStay()).as("at once, since no break was long").isTrue();
    }

    private void manyBreaksOfTwoThreads() {
        for (int i = 0; i < UnarmedBreaks.BREAKS_MIN; i++) {
            breaks.begin();
            Thread other = Thread.ofPlatform().start(breaks::begin);
            while (other.isAlive()) {
                Thread.onSpinWait();
            }
        }
    }

    private void breakAndWake(int wakeUps, int count) {
        boolean unused = breaks.look(false, nowNs); // may begin a period
        for (int i = 0; i < count; i++) {
            breaks.begin();
        }
        for (int i = 0; i < wakeUps; i++) {
            nowNs += 1_000;
            boolean arm = breaks.look(true, nowNs);
            assertThat(arm).as("armed breaks need nothing").isFalse();
        }
    }

    private void untilUnarmed() {
        for (int i = 0; i < 1_000 && !breaks.mayStay(); i++) {
            nowNs += UnarmedBreaks.PERIOD_NS + 1;
            breakAndWake(UnarmedBreaks.WAKE_UPS_MIN, 100);
        }
        assertThat(breaks.mayStay()).isTrue();
    }

    private boolean look() {
        nowNs += UnarmedBreaks.LOOK_NS;
        return breaks.look(false, nowNs);
    }

    /** A period of many breaks; so many are long. */
    private boolean periodIsUnarmedAfter(int longOnes) {
        for (int i = 0; i < 100; i++) {
            breaks.begin();
        }
        boolean unused = breaks.look(false, nowNs + 1);
        for (int i = 0; i < longOnes; i++) {
            breaks.wasLong();
        }
        breaks.begin();
        nowNs += UnarmedBreaks.PERIOD_NS + 2;
        unused = breaks.look(false, nowNs);
        return breaks.mayStay();
    }
}
