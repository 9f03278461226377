package dev.lite.bench.load;

import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * The figures of one run. Without operations, the times are infinite.
 *
 * @param medianNs the median time of an operation
 * @param p99Ns the time that 99 % of the operations do not exceed
 * @param p999Ns the time that 99.9 % of the operations do not exceed
 * @param perSecond completed operations per second, of all threads
 * @param slowest the operations of the slowest thread as a share of the mean, 0 to 1
 */
public record Sample(double medianNs, double p99Ns, double p999Ns, double perSecond, double slowest) {
    String toLine() {
        return "%s %s %s %s %s".formatted(medianNs, p99Ns, p999Ns, perSecond, slowest);
    }

    static Sample parse(String line) {
        double[] values = Arrays.stream(line.split(" ", -1))
                .mapToDouble(Double::parseDouble)
                .toArray();
        return new Sample(values[0], values[1], values[2], values[3], values[4]);
    }

    /** The median of each figure by itself. */
    public static Sample median(List<Sample> runs) {
        return new Sample(
                median(runs, Sample::medianNs),
                median(runs, Sample::p99Ns),
                median(runs, Sample::p999Ns),
                median(runs, Sample::perSecond),
                median(runs, Sample::slowest));
    }

    private static double median(List<Sample> runs, ToDoubleFunction<Sample> figure) {
        double[] sorted = runs.stream().mapToDouble(figure).sorted().toArray();
        return sorted[sorted.length / 2];
    }
}
