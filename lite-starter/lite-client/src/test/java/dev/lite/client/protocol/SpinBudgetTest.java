package dev.lite.client.protocol;

import static org.assertj.core.api.Assertions.assertThat;

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
    void theWholeIsTriedAgainFromTimeToTime() {
        SpinBudget budget = new SpinBudget(1000);
        int whole = 0;
        for (int i = 0; i < 2560; i++) {
            budget.wasInVain();
            if (budget.spins() == 1000) {
                whole++;
            }
        }
        assertThat(whole).isEqualTo(10);
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
