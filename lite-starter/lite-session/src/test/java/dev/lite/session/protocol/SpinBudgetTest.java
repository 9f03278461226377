package dev.lite.session.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SpinBudgetTest {
    @Test
    void missesShrinkTheBudgetAndHitsRestoreIt() {
        SpinBudget budget = new SpinBudget(1000);
        assertThat(budget.spins()).isEqualTo(1000);
        for (int i = 0; i < 20; i++) {
            budget.miss();
        }
        assertThat(budget.spins()).isEqualTo(16);
        for (int i = 0; i < 10; i++) {
            budget.hit();
        }
        assertThat(budget.spins()).isEqualTo(1000);
    }

    @Test
    void theFullBudgetIsTriedAgainSoonAndThenAfterLongerPauses() {
        SpinBudget budget = new SpinBudget(1000);
        List<Integer> tries = new ArrayList<>();
        for (int i = 1; i <= 300; i++) {
            budget.miss();
            if (budget.spins() == 1000) {
                tries.add(i);
            }
        }
        assertThat(tries).containsExactly(8, 24, 56, 120, 184, 248);
    }

    @Test
    void afterAHitTheFullBudgetIsTriedAgainSoon() {
        SpinBudget budget = new SpinBudget(1000);
        for (int i = 0; i < 248; i++) {
            budget.miss();
        }
        assertThat(budget.spins()).isEqualTo(1000);
        budget.hit();
        int misses = 0;
        do {
            budget.miss();
            misses++;
        } while (budget.spins() < 1000);
        assertThat(misses).isEqualTo(8);
    }

    @Test
    void aBudgetOfZeroStaysZero() {
        SpinBudget budget = new SpinBudget(0);
        for (int i = 0; i < 200; i++) {
            budget.miss();
            budget.hit();
            assertThat(budget.spins()).isZero();
        }
    }
}
