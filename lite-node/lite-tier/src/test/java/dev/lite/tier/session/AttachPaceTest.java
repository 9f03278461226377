package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class AttachPaceTest {
    private final AttachPace pace = new AttachPace();

    /** Of a user id that attaches all the time: the first turn that has not come yet. */
    private long firstWait(int uid) {
        for (int attach = 0; attach < 1_000_000; attach++) {
            long waitNs = pace.takeTurn(uid);
            if (waitNs > 0) {
                return waitNs;
            }
        }
        return 0;
    }

    @Test
    void oneUserWhoAttachesAllTheTimeWaitsAndOthersDoNot() {
        assertThat(pace.takeTurn(1)).isZero();
        assertThat(firstWait(1)).isPositive().isLessThanOrEqualTo(AttachPace.WAIT_MAX.toNanos());
        assertThat(pace.takeTurn(2)).isZero();
    }

    @Test
    void noTurnIsFartherAwayThanTheLongestWait() {
        for (int attach = 0; attach < 10_000; attach++) {
            assertThat(pace.takeTurn(1)).isBetween(0L, AttachPace.WAIT_MAX.toNanos());
        }
    }

    @Test
    void aUserIdThatWasForgottenBeginsAnew() {
        assertThat(firstWait(0)).isPositive();
        for (int uid = 1; uid <= 10_000; uid++) {
            assertThat(pace.takeTurn(uid)).isZero();
        }
        assertThat(pace.takeTurn(0)).isZero();
    }
}
