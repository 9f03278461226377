package dev.lite.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.SimulatedCluster.Defect;
import dev.lite.cluster.SimulatedCluster.Outcome;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The epoch protocol over many random histories. {@code -Dlite.test.args=-Dlite.test.seed=…} repeats one of them. */
class EpochProtocolTest {
    private static final int HISTORIES = 1000;

    @Test
    void noFencedNodeTouchesMemoryInAnyHistory() {
        Long fixed = Long.getLong("lite.test.seed");
        long first = fixed != null ? fixed : System.nanoTime();
        long touches = 0;
        long fences = 0;
        long epochs = 0;
        for (int run = 0; run < (fixed != null ? 1 : HISTORIES); run++) {
            long seed = first + run;
            Outcome outcome = new SimulatedCluster(new Random(seed), Defect.NONE).run();
            assertThat(outcome.violation()).as("with -Dlite.test.seed=%d", seed).isNull();
            touches += outcome.touches();
            fences += outcome.fences();
            epochs += outcome.epochs();
        }
        System.out.printf(
                "epochs: histories from seed %d: %d epochs, %d fences, %d touches%n", first, epochs, fences, touches);
        if (fixed == null) { // the histories contain enough events
            assertThat(fences).isGreaterThan(HISTORIES);
            assertThat(touches).isGreaterThan(10L * HISTORIES);
        }
    }

    @Test
    void aRemovalIsFencedOnlyTogetherWithThoseOfNodesThatWereRemovedLater() {
        Epoch.Removal first = new Epoch.Removal(1, "n1", 1, 2, false);
        Epoch.Removal later = new Epoch.Removal(2, "n2", 1, 3, false);
        Epoch epoch = new Epoch(3, List.of(new Epoch.Member(0, "n0", 1)), List.of(first, later));

        // n0 may still use the memory of n2, which never acknowledged that it cut n1.
        assertThat(epoch.fencedBy(Map.of(0, new EpochStore.Ack(1, 2)))).isEmpty();
        assertThat(epoch.fencedBy(Map.of(0, new EpochStore.Ack(1, 3))))
                .hasValueSatisfying(fenced -> assertThat(fenced.pending()).isEmpty());
    }

    /** Proves that the histories detect each defect. */
    @ParameterizedTest
    @EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
    void everyDefectOfTheFencingIsDetected(Defect defect) {
        long first = 1;
        int seen = 0;
        String example = "";
        for (int run = 0; run < HISTORIES; run++) {
            String violation =
                    new SimulatedCluster(new Random(first + run), defect).run().violation();
            if (violation != null && !violation.startsWith(SimulatedCluster.UNSETTLED)) {
                seen++;
                example = violation;
            }
        }
        System.out.printf("epochs: %s shows in %d of %d histories, e.g. %s%n", defect, seen, HISTORIES, example);
        assertThat(seen).as("histories that show %s", defect).isPositive();
    }
}
