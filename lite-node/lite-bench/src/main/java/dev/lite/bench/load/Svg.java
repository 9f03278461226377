package dev.lite.bench.load;

import de.erichseifert.vectorgraphics2d.VectorGraphics2D;
import de.erichseifert.vectorgraphics2d.svg.SVGProcessor;
import de.erichseifert.vectorgraphics2d.util.PageSize;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;

/** Plots as SVG files. */
public final class Svg {
    private static final int WIDTH = 800;
    private static final int HEIGHT = 400;

    private Svg() {}

    /** An empty plot. */
    public static XYChart chart(String title, String x, String y) {
        System.setProperty("java.awt.headless", "true");
        return new XYChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(title)
                .xAxisTitle(x)
                .yAxisTitle(y)
                .build();
    }

    /** Writes a plot, and creates its directory. */
    public static void write(XYChart chart, Path file) {
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
}
