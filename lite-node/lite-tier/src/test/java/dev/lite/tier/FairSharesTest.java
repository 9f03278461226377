package dev.lite.tier;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import org.junit.jupiter.api.Test;

class FairSharesTest {
    private static int takeAll(FairShares shares, String owner) {
        int taken = 0;
        while (shares.take(owner)) {
            taken++;
        }
        return taken;
    }

    @Test
    void oneOwnerTakesHalfAndEachFurtherOneHalfOfTheRest() {
        FairShares shares = new FairShares(256);
        assertThat(takeAll(shares, "greedy")).isEqualTo(128);
        assertThat(takeAll(shares, "second")).isEqualTo(64);
        assertThat(takeAll(shares, "third")).isEqualTo(32);
        assertThat(shares.take("fourth")).isTrue();
        assertThat(shares.taken()).isEqualTo(225);
    }

    @Test
    void whatIsGivenBackCanBeTakenAgain() {
        FairShares shares = new FairShares(8);
        assertThat(takeAll(shares, "a")).isEqualTo(4);
        shares.giveBack("a");
        assertThat(shares.take("a")).isTrue();
        for (int i = 0; i < 4; i++) {
            shares.giveBack("a");
        }
        assertThat(shares.taken()).isZero();
        assertThatIllegalStateException().isThrownBy(() -> shares.giveBack("a"));
    }

    @Test
    void aSmallLimitIsNotDivided() {
        assertThat(takeAll(new FairShares(7), "a")).isEqualTo(7);
    }
}
