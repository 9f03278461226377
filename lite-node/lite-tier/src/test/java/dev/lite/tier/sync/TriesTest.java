package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TriesTest {
    private final Tries tries = new Tries();

    @Test
    void aTryThatBeganBeforeTheQuestionMayHaveDrawnTheTicketUntilItEnds() {
        int before = tries.begin();
        assertThat(tries.mayHaveDrawn(7)).isTrue();
        assertThat(tries.mayHaveDrawn(7)).isTrue();

        tries.end(before);

        assertThat(tries.mayHaveDrawn(7)).isFalse();
        assertThat(tries.areUnderWay()).isFalse();
    }

    @Test
    void triesThatFollowOneAnotherAllTheTimeDoNotKeepTheAnswerAway() {
        for (long ticket = 0; ticket < 5; ticket++) {
            int before = tries.begin();
            assertThat(tries.mayHaveDrawn(ticket)).isTrue();
            int after = tries.begin();
            tries.end(before);
            assertThat(tries.mayHaveDrawn(ticket)).isFalse();
            int next = tries.begin();
            tries.end(after);
            assertThat(tries.mayHaveDrawn(ticket)).isFalse();
            tries.end(next);
        }
    }

    @Test
    void aQuestionAboutTheNextTicketStartsAnew() {
        int first = tries.begin();
        assertThat(tries.mayHaveDrawn(1)).isTrue();
        int second = tries.begin();
        tries.end(first);
        assertThat(tries.mayHaveDrawn(1)).isFalse();
        assertThat(tries.mayHaveDrawn(2)).isTrue(); // the second one began before
        tries.end(second);
        assertThat(tries.mayHaveDrawn(2)).isFalse();
    }
}
