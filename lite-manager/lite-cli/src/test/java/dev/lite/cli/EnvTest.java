package dev.lite.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What "env" prints, as a shell reads it. */
class EnvTest {
    /** What a shell has as the variable V after a script. */
    private static String valueAfter(String script, String output) throws IOException, InterruptedException {
        ProcessBuilder shell = new ProcessBuilder("sh", "-c", script + "; sh -c 'printf %s \"$V\"'", "sh", output);
        Process process = shell.redirectErrorStream(true).start();
        String value = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        return value;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/home/a/.lite/clusters/local/run/node-1/node.sock",
                "http://127.0.0.1:7400",
                "/home/a b/node.sock",
                "/home/it's \"a\" $HOME `home`;#*/node.sock",
                "~/\\n\n",
                ""
            })
    void aShellEvaluatesWhatItPrints(String value) throws IOException, InterruptedException {
        String line = ProcessCommands.Env.line("V", value);
        assertThat(valueAfter("eval \"$1\"", line)).isEqualTo(value);
    }

    @Test
    void aShellMayAlsoExportWhatItPrintsIfNothingNeedsQuotes() throws IOException, InterruptedException {
        String lines = ProcessCommands.Env.line("U", "/run/node.sock") + "\n"
                + ProcessCommands.Env.line("V", "http://127.0.0.1:7400");
        assertThat(valueAfter("export $1", lines)).isEqualTo("http://127.0.0.1:7400");
    }
}
