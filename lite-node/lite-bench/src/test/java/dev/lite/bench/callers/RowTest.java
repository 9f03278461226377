package dev.lite.bench.callers;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.bench.callers.Row.Measured;
import dev.lite.bench.load.Sample;
import dev.lite.bench.load.Workload;
import java.util.List;
import org.junit.jupiter.api.Test;

class RowTest {
    private final Row row = new Row("LITE embedded shm", Workload.calls(1));
    private final Sample slow = new Sample(3, 30, 300, 1000, 0.5);
    private final Sample middle = new Sample(2, 20, 200, 2000, 0.7);
    private final Sample fast = new Sample(1, 10, 100, 3000, 0.9);

    @Test
    void aRowHasTheMediansOfItsRunsAndTheLowestThroughput() {
        assertThat(Measured.of(row, List.of(fast, slow, middle), 3)).contains(new Measured(row, middle, 1000));
    }

    @Test
    void aRowOfWhichARunFailedHasNoFigures() {
        assertThat(Measured.of(row, List.of(fast, middle), 3)).isEmpty();
    }
}
