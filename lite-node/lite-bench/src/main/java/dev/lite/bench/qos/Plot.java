package dev.lite.bench.qos;

import de.erichseifert.vectorgraphics2d.VectorGraphics2D;
import de.erichseifert.vectorgraphics2d.svg.SVGProcessor;
import de.erichseifert.vectorgraphics2d.util.PageSize;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** A plot of throughput over time as SVG. */
final class Plot {
    private static final int WIDTH = 800;
    private static final int HEIGHT = 400;
    private static final double MS = 1000;

    private Plot() {}

    /**
     * Writes a plot.
     *
     * @param lines megabytes per second in each step, by the name of the line; and their sum is drawn
     */
    static void write(Path file, String title, Map<String, List<Double>> lines) {
        System.setProperty("java.awt.headless", "true");
        XYChart chart = new XYChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(title)
                .xAxisTitle("seconds")
                .yAxisTitle("MB/s")
                .build();
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
        try {
            Files.createDirectories(file.toAbsolutePath().getParent());
            try (OutputStream output = Files.newOutputStream(file)) {
                VectorGraphics2D graphics = new VectorGraphics2D();
                chart.paint(graphics, WIDTH, HEIGHT);
                new SVGProcessor()
                        .getDocument(graphics.getCommands(), new PageSize(0, 0, WIDTH, HEIGHT))
                        .writeTo(output);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + file, e);
        }
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
