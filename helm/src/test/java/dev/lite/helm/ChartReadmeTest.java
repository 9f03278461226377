package dev.lite.helm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ChartReadmeTest {
    private static final Path README = Chart.DIRECTORY.resolve("README.md");

    @Test
    void theReadmeSaysWhatTheCommentsOfTheValuesSay() throws IOException {
        if (Boolean.getBoolean("lite.helm.write")) {
            Files.writeString(README, ChartReadme.markdown());
        }
        assertThat(Text.of(README))
                .as("helm/lite/README.md is not what values.yaml says; its first comment says how to write it again")
                .isEqualTo(ChartReadme.markdown());
    }

    @Test
    void everyValueHasADescription() {
        assertThat(ChartReadme.values())
                .hasSizeGreaterThan(80)
                .allSatisfy(value ->
                        assertThat(value.description()).as(value.name()).matches("[A-Z].*[^.]"));
    }

    @Test
    void chartAndBuildHaveOneVersion() {
        Map<String, Object> chart = Chart.yaml(Chart.DIRECTORY.resolve("Chart.yaml"));
        assertThat(chart).containsEntry("version", System.getProperty("lite.helm.version"));
        assertThat(chart).containsEntry("appVersion", System.getProperty("lite.helm.version"));
    }
}
