package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Which breaks are armed, at times that the test chooses. */
class BreaksTest {
    private static final long PERIOD_NS = 1L << Breaks.PERIOD_SHIFT;
    private static final int MANY = 100;

    private final Thread one = Thread.ofPlatform().unstarted(() -> {});
    private final Thread other = Thread.ofPlatform().unstarted(() -> {});
    private final Thread virtual = Thread.ofVirtual().unstarted(() -> {});
    private Breaks breaks = new Breaks();

    @Test
    void rareBreaksAreArmed() {
        for (int period = 0; period < 10; period++) {
            assertThat(period(period, Breaks.BREAKS_MIN - 1, 0)).as("armed").isTrue();
        }
    }

    @Test
    void frequentBreaksAreNotArmedFromTheNextPeriodOn() {
        assertThat(period(0, Breaks.BREAKS_MIN, 0)).as("armed at first").isTrue();
        for (int period = 1; period < 10; period++) {
            assertThat(period(period, Breaks.BREAKS_MIN, 0)).as("armed").isFalse();
        }
    }

    @Test
    void breaksAfterALongTimeAreArmed() {
        untilUnarmed(0);
        assertThat(period(5, MANY, 0)).as("armed").isTrue();
    }

    @Test
    void breaksAreArmedAfterTooManyLongOnes() {
        untilUnarmed(0);
        assertThat(period(2, MANY, Breaks.LONG_MAX)).isFalse();
        assertThat(period(3, MANY, Breaks.LONG_MAX + 1))
                .as("armed after as many long ones as may be")
                .isFalse();
        assertThat(period(4, MANY, 0)).as("armed after one more").isTrue();
    }

    @Test
    void ofSeveralThreadsFewerBreaksMayBeLong() {
        for (Thread second : List.of(other, virtual)) {
            breaks = new Breaks();
            untilUnarmed(0);
            assertThat(period(2, MANY, Breaks.LONG_OF_SEVERAL_MAX, second)).isFalse();
            assertThat(period(3, MANY, Breaks.LONG_OF_SEVERAL_MAX + 1, second))
                    .as("armed after as many long ones as may be")
                    .isFalse();
            assertThat(period(4, MANY, 0, second)).as("armed after one more").isTrue();
        }
    }

    @Test
    void aVirtualThreadCountsAsSeveral() {
        for (int period = 0; period < 2; period++) {
            boolean unused = period(period, MANY, 0, virtual, virtual);
        }
        assertThat(period(2, MANY, Breaks.LONG_OF_SEVERAL_MAX + 1, virtual, virtual))
                .isFalse();
        assertThat(period(3, MANY, 0, virtual, virtual)).as("armed").isTrue();
    }

    @Test
    void triesThatFailBecomeRarerAndProcessesTryInTheSamePeriods() {
        List<Long> tries = triesThatFail(0, 1_000);
        assertThat(tries).startsWith(1L, 4L, 8L, 16L, 32L, 64L).contains(128L, 192L, 256L);
        assertThat(tries.stream().filter(period -> period > Breaks.TRY_EVERY_MAX))
                .allMatch(period -> period % Breaks.TRY_EVERY_MAX == 0);
        assertThat(tries).last().isEqualTo(960L);

        breaks = new Breaks();
        List<Long> later = triesThatFail(333, 1_000);
        assertThat(later).last().isEqualTo(960L);
        assertThat(tries).containsAll(later.subList(later.size() - 8, later.size()));
    }

    @Test
    void afterATryThatSucceedsTheNextOneFollowsSoon() {
        List<Long> unused = triesThatFail(0, 200);
        assertThat(period(256, MANY, 0)).as("armed").isTrue(); // breaks after a long time
        for (long period = 257; period <= 320; period++) {
            assertThat(period(period, MANY, 0)).as("armed in %d", period).isEqualTo(period != 320);
        }
        assertThat(period(321, MANY, Breaks.LONG_MAX + 1))
                .as("armed after the try")
                .isFalse();
        assertThat(period(322, MANY, 0)).as("armed after long ones").isTrue();
        assertThat(period(323, MANY, 0)).isTrue();
        assertThat(period(324, MANY, 0)).as("armed in the next try").isFalse();
    }

    @Test
    void aBreakThatTheStandbyThreadEndsTwiceIsLongOnce() {
        untilUnarmed(0);
        for (int i = 0; i < MANY; i++) {
            boolean unused = breaks.begin(2 * PERIOD_NS + i, one);
            for (int times = 0; i == 0 && times < MANY; times++) {
                breaks.end(true);
            }
            breaks.end(false);
        }
        assertThat(period(3, MANY, 0)).as("armed").isFalse();
    }

    /** The periods in which a try began that fails. */
    private List<Long> triesThatFail(long from, long to) {
        List<Long> tries = new ArrayList<>();
        LongStream.range(from, to).forEach(period -> {
            if (!period(period, MANY, MANY)) {
                tries.add(period);
            }
        });
        return tries;
    }

    private void untilUnarmed(long period) {
        assertThat(period(period, MANY, 0)).isTrue();
        assertThat(period(period + 1, MANY, 0)).as("armed").isFalse();
    }

    private boolean period(long number, int count, int longOnes) {
        return period(number, count, longOnes, one, one);
    }

    private boolean period(long number, int count, int longOnes, Thread second) {
        return period(number, count, longOnes, one, second);
    }

    /** Breaks of two threads in turn, the first ones long. Returns whether they are armed, all or none. */
    private boolean period(long number, int count, int longOnes, Thread first, Thread second) {
        boolean armed = false;
        for (int i = 0; i < count; i++) {
            boolean now = breaks.begin(number * PERIOD_NS + i, i % 2 == 0 ? first : second);
            assertThat(i == 0 || now == armed).as("all or none").isTrue();
            armed = now;
            breaks.end(i < longOnes);
        }
        return armed;
    }
}
