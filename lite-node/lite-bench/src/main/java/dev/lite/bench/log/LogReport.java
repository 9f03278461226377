package dev.lite.bench.log;

import static dev.lite.bench.load.Results.number;

import dev.lite.bench.load.Results;
import dev.lite.bench.load.Svg;
import dev.lite.bench.log.LogLoad.Kind;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import org.knowm.xchart.XYChart;

/**
 * The figures of {@link LogBench}: {@code log.csv}, and two plots of transactions per second: {@code log-entry-size.svg}, over the size of
 * an entry, and {@code log-writers.svg}, over the number of writers. One thread.
 */
final class LogReport {
    private static final int SMALL = 16;
    private static final double KILO = 1e3;

    private final Results csv =
            new Results("log", "setting,load,bytes,processes,threads,per_second,lowest_per_second,slower_process");
    private final List<Figure> figures = new ArrayList<>();

    /** A load by one or two processes. */
    record Row(LogLoad load, int processes) {
        int writers() {
            return processes * load.threads();
        }

        @Override
        public String toString() {
            return "%s %d B, %d x %d".formatted(load.kind(), load.bytes(), processes, load.threads());
        }
    }

    /**
     * The figures of a row.
     *
     * @param setting for example {@code embedded shm}
     * @param perSecond the median of all processes together
     * @param lowest the lowest of a run
     * @param slower of the slower process in the run of the median
     */
    record Figure(String setting, Row row, double perSecond, double lowest, double slower) {}

    void add(Figure figure) {
        figures.add(figure);
        LogLoad load = figure.row.load();
        csv.add(
                figure.setting,
                load.kind().name(),
                Integer.toString(load.bytes()),
                Integer.toString(figure.row.processes),
                Integer.toString(load.threads()),
                number(figure.perSecond),
                number(figure.lowest),
                number(figure.slower));
    }

    void write(Path directory) {
        csv.write(directory);
        write(sizes(), directory.resolve("log-entry-size.svg"));
        write(writers(), directory.resolve("log-writers.svg"));
    }

    XYChart sizes() {
        return chart(
                "two processes with one writer each",
                "bytes of an entry",
                row -> row.processes == 2 && row.load.threads() == 1,
                row -> row.load.bytes());
    }

    XYChart writers() {
        return chart(
                "entries of 16 bytes, one or two processes", "writers", row -> row.load.bytes() == SMALL, Row::writers);
    }

    private XYChart chart(String title, String axis, Predicate<Row> wanted, ToIntFunction<Row> x) {
        XYChart chart = Svg.chart("LITE-Log: " + title, axis, "thousand transactions per second");
        chart.getStyler()
                .setXAxisLogarithmic(true)
                .setYAxisLogarithmic(true)
                .setXAxisDecimalPattern("0")
                .setYAxisDecimalPattern("#,##0");
        figures.stream().map(Figure::setting).distinct().forEach(setting -> {
            line(chart, setting, "", Kind.APPEND, wanted, x);
            line(chart, setting, ", batches", Kind.BATCH, wanted, x);
        });
        figures.stream()
                .map(Figure::setting)
                .findFirst()
                .ifPresent(first -> line(chart, first, ": bare memory", Kind.RAW, wanted, x));
        return chart;
    }

    private static void write(XYChart chart, Path file) {
        if (!chart.getSeriesCollection().isEmpty()) {
            Svg.write(chart, file);
            System.out.println("written to " + file);
        }
    }

    private void line(
            XYChart chart, String setting, String name, Kind kind, Predicate<Row> wanted, ToIntFunction<Row> x) {
        List<Figure> line = figures.stream()
                .filter(figure ->
                        figure.setting.equals(setting) && figure.row.load.kind() == kind && wanted.test(figure.row))
                .sorted((one, other) -> Integer.compare(x.applyAsInt(one.row), x.applyAsInt(other.row)))
                .toList();
        if (!line.isEmpty()) {
            chart.addSeries(
                    setting + name,
                    line.stream()
                            .mapToDouble(figure -> x.applyAsInt(figure.row))
                            .toArray(),
                    line.stream().mapToDouble(figure -> figure.perSecond / KILO).toArray());
        }
    }
}
