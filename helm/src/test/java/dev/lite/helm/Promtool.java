package dev.lite.helm;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

/** Prometheus' tool, of Debian's package prometheus; {@code -Dlite.promtool=PATH} says where it is. */
final class Promtool {
    private static final String TOOL = System.getProperty("lite.promtool", "promtool");

    private Promtool() {}

    /** Runs it in a directory and returns what it printed; a test without the tool is skipped. */
    static Output run(Path directory, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(TOOL));
        command.addAll(List.of(arguments));
        Process process = null;
        try {
            process = new ProcessBuilder(command)
                    .directory(directory.toFile())
                    .redirectErrorStream(true)
                    .start();
        } catch (IOException e) {
            Assumptions.abort("not checked with promtool: " + e.getMessage());
        }
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Output(process.waitFor(), text);
    }

    /**
     * What a run printed.
     *
     * @param status 0 if all is well
     */
    record Output(int status, String text) {}
}
