package dev.lite.bench.qos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Priority;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The workload is that of the paper's figure 16. */
class JobTest {
    private static Map<String, Long> kinds(Priority priority) {
        return Job.figure(0.001).stream()
                .filter(job -> job.priority() == priority)
                .collect(Collectors.groupingBy(
                        job -> "%s %d from %d: %d"
                                .formatted(job.write() ? "write" : "read", job.bytes(), job.beginMs(), job.requests()),
                        TreeMap::new,
                        Collectors.counting()));
    }

    @Test
    void theSizesAndNumbersAreThoseOfTheCaption() {
        assertThat(kinds(Priority.LOW))
                .isEqualTo(Map.of(
                        "write 4096 from 0: 600", 5L, "write 8192 from 0: 600", 5L, "read 4096 from 0: 600", 10L));
        assertThat(kinds(Priority.HIGH))
                .isEqualTo(Map.of("write 4096 from 2000: 200", 10L, "read 4096 from 2000: 200", 10L));
        assertThat(Job.figure(0.001).stream().filter(job -> job.thenRequests() == 100))
                .hasSize(8)
                .allMatch(job -> job.priority() == Priority.HIGH);
    }

    @Test
    void theTenEqualApplicationsDifferInThreadsAndSizes() {
        Map<String, List<Job>> byApplication =
                Job.equals(Priority.LOW).stream().collect(Collectors.groupingBy(Job::application));
        assertThat(byApplication).hasSize(10);
        assertThat(byApplication.values().stream().map(List::size).distinct()).hasSize(4);
        assertThat(Job.equals(Priority.LOW).stream().map(Job::bytes).distinct()).hasSize(5);
    }

    @Test
    void anUnknownWorkloadIsRefused() {
        assertThatThrownBy(() -> Job.named("fast")).hasMessage("no workload \"fast\"");
    }

    @Test
    void outcomesOutliveTheirWayBetweenProcesses() {
        Load.Outcome full = new Load.Outcome("a", 1, 2, 3, 4, List.of(5L, 6L));
        Load.Outcome empty = new Load.Outcome("b", 0, 0, 0, 0, List.of());
        assertThat(QosParty.parse(QosParty.toLine(List.of(full, empty)))).isEqualTo(Map.of("a", full, "b", empty));
    }

    @Test
    void aPlotHasALineForEachClass(@TempDir Path directory) throws IOException {
        Path file = directory.resolve("new/plot.svg");
        Plot.write(file, "throughput", Map.of("high", List.of(1.0, 2.0), "low", List.of(3.0)));
        assertThat(Files.readString(file)).startsWith("<?xml").contains("<svg", "</svg>");
    }
}
