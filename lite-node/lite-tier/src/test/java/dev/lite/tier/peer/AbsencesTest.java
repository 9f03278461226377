package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.cluster.NodeRecord;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AbsencesTest {
    private static final NodeRecord NODE = new NodeRecord("n1", 1, 1, "host", 1 << 20, Map.of(), 1);

    private final Absences absences = new Absences();

    /** Its thread saw that the node was not live, and asked how long when it was live again. */
    @Test
    void aThreadThatAsksTooLateDoesNotMakeTheNextAbsenceLonger() {
        absences.setLive(List.of(NODE));
        assertThat(absences.waitNs(1)).isPositive();
        long leavesNs = System.nanoTime();
        absences.setLive(List.of());

        long awayNs = absences.awayNs(1);

        assertThat(awayNs).isLessThanOrEqualTo(System.nanoTime() - leavesNs);
    }

    @Test
    void aNodeThatIsAwayIsAwayLongerAndLongerUntilItReturns() {
        absences.setLive(List.of(NODE));
        absences.setLive(List.of());
        long firstNs = absences.awayNs(1);
        absences.setLive(List.of());
        assertThat(absences.awayNs(1)).as("still away").isGreaterThanOrEqualTo(firstNs);
        assertThat(absences.waitNs(1)).isPositive();
    }
}
