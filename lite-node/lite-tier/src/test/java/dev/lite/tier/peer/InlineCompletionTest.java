package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class InlineCompletionTest {
    private final InlineCompletion inline = new InlineCompletion();

    private int triesOf(int posts, boolean hit) {
        int tries = 0;
        for (int count = 0; count < posts; count++) {
            if (inline.isLikely()) {
                tries++;
                inline.note(hit);
            }
        }
        return tries;
    }

    @Test
    void everyPostTriesWhileThereAreHits() {
        assertThat(triesOf(1000, true)).isEqualTo(1000);
    }

    @Test
    void afterMissesOnlyFewPostsTry() {
        assertThat(triesOf(6500, false)).isBetween(90, 110);
    }

    @Test
    void oneHitAfterManyMissesMakesEveryPostTryAgain() {
        int unused = triesOf(1000, false);
        int skipped = 0;
        while (!inline.isLikely()) {
            skipped++;
        }
        assertThat(skipped).isLessThan(70);
        inline.note(true);
        assertThat(triesOf(1000, true)).isEqualTo(1000);
    }

    @Test
    void aSingleMissBetweenHitsStopsNothing() {
        for (int count = 0; count < 100; count++) {
            assertThat(triesOf(3, false)).isEqualTo(3);
            assertThat(triesOf(1, true)).isEqualTo(1);
        }
    }
}
