package dev.lite.simulate;

import dev.lite.simulate.engine.Simulation;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Puts what the tier logs into the history. Of the carrier thread only. */
final class Log {
    private static final PrintStream REAL = System.err;

    private Log() {}

    /** Log messages go there from now on; null for the real standard error. */
    static void into(@Nullable Simulation simulation) {
        System.setErr(simulation == null ? REAL : new PrintStream(new Lines(simulation), true, StandardCharsets.UTF_8));
    }

    private static final class Lines extends ByteArrayOutputStream {
        private final Simulation simulation;

        Lines(Simulation simulation) {
            this.simulation = simulation;
        }

        @Override
        public void flush() {
            String text = toString(StandardCharsets.UTF_8);
            reset();
            text.lines().filter(line -> !line.isBlank()).forEach(line -> simulation.remark("    log: " + line));
        }
    }
}
