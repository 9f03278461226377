package dev.lite.bench.qos;

import dev.lite.bench.load.Svg;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** A plot of throughput over time as SVG. */
final class Plot {
    private static final double MS = 1000;

    private Plot() {}

    /**
     * Writes a plot.
     *
     * @param lines megabytes per second in each step, by the name of the line; and their sum is drawn
     */
    static void write(Path file, String title, Map<String, List<Double>> lines) {
        XYChart chart = Svg.chart(title, "seconds", "MB/s");
        int steps = lines.values().stream().mapToInt(List::size).max().orElse(0);
        add(
                chart,
                "total",
                IntStream.range(0, steps)
                        .mapToObj(step -> lines.values().stream()
                                .mapToDouble(line -> at(line, step))
                                .sum())
                        .toList());
        lines.forEach((name, line) -> add(
                chart,
                name,
                IntStream.range(0, steps).mapToObj(step -> at(line, step)).toList()));
        Svg.write(chart, file);
    }

    private static double at(List<Double> line, int step) {
        return step < line.size() ? line.get(step) : 0;
    }

    private static void add(XYChart chart, String name, List<Double> line) {
        double[] seconds = IntStream.rangeClosed(1, line.size())
                .mapToDouble(step -> step * Load.STEP_MS / MS)
                .toArray();
        double[] values = line.stream().mapToDouble(Double::doubleValue).toArray();
        chart.addSeries(name, seconds, values).setMarker(SeriesMarkers.NONE);
    }
}
