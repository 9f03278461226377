package dev.lite.bench.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.bench.log.LogLoad.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYSeries;

class LogReportTest {
    @Test
    void theFiguresBecomeATableAndTwoPlots(@TempDir Path directory) throws IOException {
        LogReport report = new LogReport();
        for (int bytes : new int[] {16, 64}) {
            report.add(figure("embedded shm", Kind.APPEND, bytes, 1));
            report.add(figure("embedded shm", Kind.BATCH, bytes, 1));
            report.add(figure("embedded shm", Kind.RAW, bytes, 1));
            report.add(figure("attached tcp", Kind.APPEND, bytes, 1));
        }
        report.add(figure("embedded shm", Kind.APPEND, 16, 4));
        report.write(directory);

        assertThat(Files.readAllLines(directory.resolve("log.csv")))
                .hasSize(10)
                .contains("embedded shm,APPEND,16,2,4,64.0,32.0,16.0");
        assertThat(Files.readString(directory.resolve("log-entry-size.svg"))).contains("<svg", "</svg>");
        assertThat(Files.readString(directory.resolve("log-writers.svg"))).contains("<svg", "</svg>");
        for (XYChart chart : new XYChart[] {report.sizes(), report.writers()}) {
            assertThat(chart.getSeriesCollection())
                    .extracting(XYSeries::getName)
                    .containsExactly(
                            "embedded shm", "embedded shm, batches", "attached tcp", "embedded shm: bare memory");
        }
        assertThat(report.writers().getSeriesCollection().iterator().next().getXData())
                .containsExactly(2, 8);
    }

    private static LogReport.Figure figure(String setting, Kind kind, int bytes, int threads) {
        int rate = bytes * threads;
        return new LogReport.Figure(
                setting, new LogReport.Row(new LogLoad(kind, bytes, threads), 2), rate, rate / 2.0, rate / 4.0);
    }
}
