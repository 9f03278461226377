package dev.lite.session.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SpinBudgetTest {
    @Test
    void lookingInVainMakesItSmallAndHelpMakesItWholeAgain() {
        SpinBudget budget = new SpinBudget(1000);
        assertThat(budget.spins()).isEqualTo(1000);
        for (int i = 0; i < 20; i++) {
            budget.wasInVain();
        }
        assertThat(budget.spins()).isEqualTo(16);
        for (int i = 0; i < 10; i++) {
            budget.helped();
        }
        assertThat(budget.spins()).isEqualTo(1000);
    }

    @Test
    void theWholeIsTriedAgainSoonAndThenAfterLongerPauses() {
        SpinBudget budget = new SpinBudget(1000);
        List<Integer> tries = new ArrayList<>();
        for (int i = 1; i <= 300; i++) {
            budget.wasInVain();
            if (budget.spins() == 1000) {
                tries.add(i);
            }
        }
        assertThat(tries).containsExactly(8, 24, 56, 120, 184, 248);
    }

    @Test
    void onceTheWholeHelpedItIsTriedAgainSoon() {
        SpinBudget budget = new SpinBudget(1000);
        for (int i = 0; i < 248; i++) {
            budget.wasInVain();
        }
        assertThat(budget.spins()).isEqualTo(1000);
        budget.helped();
        int inVain = 0;
        do {
            budget.wasInVain();
            inVain++;
        } while (budget.spins() < 1000);
        assertThat(inVain).isEqualTo(8);
    }

    @Test
    void nothingStaysNothing() {
        SpinBudget budget = new SpinBudget(0);
        for (int i = 0; i < 200; i++) {
            budget.wasInVain();
            budget.helped();
            assertThat(budget.spins()).isZero();
        }
    }
}
