package dev.lite.rdma.vm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.lite.rdma.vm.GuestTests.Outcome;
import dev.lite.rdma.vm.Machine.Running;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.DynamicTest;

/** A JUnit launch in a machine, whose tests are reported as tests here. */
final class GuestSuite {
    /** The limit for one suite on a busy machine; on an idle one it takes about eight minutes. */
    static final Duration LONGEST = Duration.ofMinutes(20);

    private GuestSuite() {}

    /** One line of {@link GuestTests}. */
    private record Result(Outcome outcome, String className, String test, long ms, String message) {
        static Result of(String line) {
            String[] words = line.split("\t", -1);
            return new Result(Outcome.valueOf(words[0]), words[1], words[2], Long.parseLong(words[3]), words[4]);
        }

        DynamicTest asTest() {
            return DynamicTest.dynamicTest("%s (%d ms)".formatted(test, ms), () -> {
                switch (outcome) {
                    case PASSED -> {}
                    case SKIPPED -> abort(message);
                    case FAILED -> fail(message);
                }
            });
        }
    }

    /**
     * Runs the classes until they end, or until the deadline.
     *
     * @param label the name of the result file in the machine's directory
     * @param jvm arguments of the JVM
     */
    static Stream<DynamicNode> run(
            Machine machine, String label, List<String> classes, List<String> jvm, Duration deadline) {
        String file = label + ".results";
        List<String> arguments = new ArrayList<>(List.of(machine.inside(file)));
        arguments.addAll(classes);
        long beginNs = System.nanoTime();
        Running running = machine.java(jvm, GuestTests.class, arguments.toArray(String[]::new));
        AssertionError over = awaitEnd(running, deadline);
        List<String> lines =
                LocalMachine.read(machine.directory().resolve(file)).lines().toList();
        boolean complete = !lines.isEmpty() && lines.getLast().equals(GuestTests.END);

        Map<String, List<Result>> byClass = new LinkedHashMap<>();
        lines.stream()
                .filter(line -> line.indexOf('\t') > 0)
                .map(Result::of)
                .forEach(result -> byClass.computeIfAbsent(result.className, key -> new ArrayList<>())
                        .add(result));
        long passed = byClass.values().stream()
                .flatMap(List::stream)
                .filter(one -> one.outcome == Outcome.PASSED)
                .count();
        System.out.printf(
                "%s: %s: %d of %d tests passed in %d s%n",
                machine.name(),
                label,
                passed,
                byClass.values().stream().mapToInt(List::size).sum(),
                (System.nanoTime() - beginNs) / 1_000_000_000);
        List<DynamicNode> nodes = new ArrayList<>();
        nodes.add(DynamicTest.dynamicTest(label + ": the launch completed", () -> {
            if (!complete) {
                throw over != null ? over : new AssertionError("the launch ended early:\n" + tail(running.output()));
            }
        }));
        nodes.add(DynamicTest.dynamicTest(
                label + ": every class had a test that passed",
                () -> assertThat(byClass.values())
                        .as("%s", byClass.keySet())
                        .hasSize(classes.size())
                        .allMatch(results -> results.stream().anyMatch(one -> one.outcome == Outcome.PASSED))));
        byClass.forEach((name, results) -> nodes.add(
                DynamicContainer.dynamicContainer(name, results.stream().map(Result::asTest))));
        return nodes.stream();
    }

    private static @Nullable AssertionError awaitEnd(Running running, Duration deadline) {
        try {
            running.await(deadline);
            return null;
        } catch (AssertionError e) {
            running.kill();
            return new AssertionError(tail(String.valueOf(e.getMessage())), e);
        }
    }

    private static String tail(String text) {
        int most = 4000;
        return text.length() <= most ? text : "…" + text.substring(text.length() - most);
    }
}
