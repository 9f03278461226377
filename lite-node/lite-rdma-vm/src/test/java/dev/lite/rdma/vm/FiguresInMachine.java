package dev.lite.rdma.vm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.rdma.vm.Machine.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Runs the benchmark {@code -Dlite.bench=rdma} in one machine; prints its table and copies its CSV file to {@code
 * target/bench}. Everything runs on one emulated processor, so figures are comparable only within one run.
 */
class FiguresInMachine {
    private static final Duration DEADLINE = Duration.ofMinutes(13);

    @Test
    void theBenchmarkRunsAndWritesItsRows() throws IOException {
        String name = System.getProperty("lite.bench", "rdma");
        try (Machine machine = Machines.one("figures")) {
            List<String> jvm = Stream.concat(
                            Stream.of("-Xms192m", "-Xmx192m", Jvm.FOR_DISNI),
                            Stream.of(System.getProperty("lite.rdma.vm.args", "")
                                            .split(" ", -1))
                                    .filter(argument -> !argument.isEmpty()))
                    .toList();
            Running running =
                    machine.start(Jvm.command(jvm, "dev.lite.bench.BenchMain", List.of(name, machine.inside("bench"))));
            int code;
            try {
                code = running.await(DEADLINE);
            } finally {
                System.out.println(running.output());
            }
            assertThat(code).isZero();
            Path csv = machine.directory().resolve("bench").resolve(name + ".csv");
            assertThat(Files.readAllLines(csv)).as("rows of %s", csv).hasSizeGreaterThan(1);
            Path kept = Files.createDirectories(VmFiles.root().resolveSibling("bench"));
            Path unused = Files.copy(csv, kept.resolve(name + ".csv"), StandardCopyOption.REPLACE_EXISTING);
        }
    }
}
