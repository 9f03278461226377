package dev.lite.tier.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.tier.testing.Seeds;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Test;

class FreeRunsTest {
    private static final int GRANULE = 64;

    @Test
    void adjacentRunsAreJoinedOnBothSides() {
        FreeRuns runs = new FreeRuns();
        runs.add(0, 64);
        runs.add(128, 64);
        assertThat(runs.longest()).isEqualTo(64);
        runs.add(64, 64);
        assertThat(runs.longest()).isEqualTo(192);
        assertThat(runs.total()).isEqualTo(192);
    }

    @Test
    void theShortestFittingRunIsUsed() {
        FreeRuns runs = new FreeRuns();
        runs.add(0, 640);
        runs.add(1024, 128);
        runs.add(2048, 256);
        assertThat(runs.take(64, 2, 64)).isEqualTo(new FreeRuns.Run(1024, 128));
    }

    @Test
    void withoutAFittingRunTheLongestOneGivesWhatItHas() {
        FreeRuns runs = new FreeRuns();
        runs.add(0, 128);
        runs.add(1024, 320);
        assertThat(runs.take(128, 100, 64)).isEqualTo(new FreeRuns.Run(1024, 256));
        assertThat(runs.total()).isEqualTo(192);
    }

    @Test
    void aFittingRunIsFoundAfterMisalignedRuns() {
        FreeRuns runs = new FreeRuns();
        runs.add(64, 8192); // too short once it is aligned
        runs.add(3 * 16384 + 64, 8320); // too short, too, although it is the longest
        runs.add(16384, 8256);
        assertThat(runs.take(8192, 1, 4096)).isEqualTo(new FreeRuns.Run(16384, 8192));
    }

    @Test
    void nothingIsAllocatedIfNoRunHasOneUnit() {
        FreeRuns runs = new FreeRuns();
        runs.add(64, 4096);
        assertThat(runs.take(4096, 1, 4096)).isNull();
        assertThat(runs.total()).isEqualTo(4096);
    }

    /** Compares with a bitmap of granules: nothing is allocated twice or lost, and a fit is found whenever there is one. */
    @Test
    void randomAllocationsAndFreesAgreeWithABitmap() {
        Seeds.forEach(50, random -> {
            int granules = 4096;
            FreeRuns runs = new FreeRuns();
            BitSet free = new BitSet();
            runs.add(0, (long) granules * GRANULE);
            free.set(0, granules);
            List<FreeRuns.Run> taken = new ArrayList<>();
            for (int step = 0; step < 500; step++) {
                if (random.nextInt(5) < 2 && !taken.isEmpty()) {
                    FreeRuns.Run back = taken.remove(random.nextInt(taken.size()));
                    runs.add(back.offset(), back.length());
                    free.set((int) (back.offset() / GRANULE), (int) ((back.offset() + back.length()) / GRANULE));
                } else {
                    boolean paged = random.nextBoolean();
                    int alignment = paged ? 4096 : GRANULE;
                    int unit = alignment * (1 + random.nextInt(paged ? 4 : 63));
                    int units = 1 + random.nextInt(4);
                    boolean wholeFits = fits(free, granules, unit * units / GRANULE, alignment / GRANULE);
                    boolean oneFits = fits(free, granules, unit / GRANULE, alignment / GRANULE);
                    FreeRuns.Run run = runs.take(unit, units, alignment);
                    assertThat(run != null).isEqualTo(oneFits);
                    if (run == null) {
                        continue;
                    }
                    assertThat(run.offset() % alignment).isZero();
                    assertThat(run.length() % unit).isZero();
                    assertThat(run.length()).isBetween((long) unit, (long) unit * units);
                    if (wholeFits) {
                        assertThat(run.length()).isEqualTo((long) unit * units);
                    }
                    int from = (int) (run.offset() / GRANULE);
                    int to = (int) ((run.offset() + run.length()) / GRANULE);
                    assertThat(free.nextClearBit(from)).isGreaterThanOrEqualTo(to);
                    free.clear(from, to);
                    taken.add(run);
                }
                assertThat(runs.total()).isEqualTo((long) free.cardinality() * GRANULE);
            }
        });
    }

    private static boolean fits(BitSet free, int granules, int wanted, int alignment) {
        for (int at = 0; at + wanted <= granules; at += alignment) {
            int end = free.nextClearBit(at);
            if (end >= at + wanted) {
                return true;
            }
        }
        return false;
    }
}
