package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Whether a thread is expected to poll, at times that the tests choose. */
class ExpectedPollsTest {
    private static final long BEGIN_NS = Long.MAX_VALUE - ExpectedPolls.STAGES_NS; // the clock may wrap around

    private final ExpectedPolls polls = new ExpectedPolls(BEGIN_NS);

    @Test
    void nobodyIsExpectedBeforeAThreadHasPolled() {
        assertThat(polls.isExpected()).isFalse();
        assertThat(polls.started(BEGIN_NS)).isFalse();
    }

    @Test
    void aThreadThatHasPolledIsExpectedUntilItIsAwayForLong() {
        assertThat(polls.leave(BEGIN_NS)).isTrue();
        assertThat(polls.isExpected()).isTrue();
        assertThat(polls.goesOn(BEGIN_NS + ExpectedPolls.FRESH_NS - 1, BEGIN_NS))
                .isTrue();
        assertThat(polls.goesOn(BEGIN_NS + ExpectedPolls.FRESH_NS, BEGIN_NS)).isFalse();
        assertThat(polls.isExpected()).isFalse();
    }

    @Test
    void startedCallsShowThatTheThreadIsBack() {
        polls.leave(BEGIN_NS);
        assertThat(polls.started(BEGIN_NS + ExpectedPolls.FRESH_NS / 2)).isTrue();
        assertThat(polls.goesOn(BEGIN_NS + ExpectedPolls.FRESH_NS, BEGIN_NS)).isTrue();
        polls.startedSoonBack(BEGIN_NS + ExpectedPolls.FRESH_NS);
        assertThat(polls.goesOn(BEGIN_NS + ExpectedPolls.FRESH_NS * 3 / 2, BEGIN_NS))
                .isTrue();
        assertThat(polls.goesOn(BEGIN_NS + ExpectedPolls.FRESH_NS * 2, BEGIN_NS))
                .isFalse();
    }

    @Test
    void aThreadThatStartsCallsButDoesNotPollIsNotExpectedForever() {
        polls.leave(BEGIN_NS);
        long nowNs = BEGIN_NS;
        while (polls.isExpected() && nowNs - BEGIN_NS < 2 * ExpectedPolls.UNPOLLED_NS_MAX) {
            assertThat(polls.started(nowNs)).isTrue();
            nowNs += ExpectedPolls.FRESH_NS / 2;
            polls.goesOn(nowNs, BEGIN_NS);
        }
        assertThat(nowNs - BEGIN_NS).isEqualTo(ExpectedPolls.UNPOLLED_NS_MAX);
        assertThat(polls.started(nowNs)).isFalse();
    }

    @Test
    void whoStartsACallAndIsSoonBackIsExpectedThoughNobodyHasPolled() {
        polls.startedSoonBack(BEGIN_NS);
        assertThat(polls.isExpected()).isTrue();
    }

    @Test
    void aFutureWithStagesEndsThatForAWhile() {
        polls.staged(BEGIN_NS);
        assertThat(polls.leave(BEGIN_NS + ExpectedPolls.STAGES_NS - 1)).isFalse();
        assertThat(polls.isExpected()).isFalse();
        assertThat(polls.leave(BEGIN_NS + ExpectedPolls.STAGES_NS)).isTrue();
    }
}
