package dev.lite.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** What programs read has the same digits in every locale. */
@Isolated("it changes the default locale")
class LocaleTest {
    private final Locale before = Locale.getDefault();

    @BeforeEach
    void takeOtherDigits() {
        Locale.setDefault(Locale.forLanguageTag("ar-EG"));
        assertThat("%d".formatted(1)).isNotEqualTo("1");
    }

    @AfterEach
    void restore() {
        Locale.setDefault(before);
    }

    @Test
    void theJvmOfAWorkerUnderstandsTheSizeOfItsHeap() throws Exception {
        try (WorkerProcesses processes = new WorkerProcesses(Path.of("jobs.jar"), "reports", 1, 512 << 20)) {
            assertThat(processes.java()).contains("-Xmx512m");
        }
    }

    @Test
    void aFailedStartReleasesItsName(@TempDir Path directory) {
        LocalClusters clusters = new LocalClusters(directory.resolve("clusters"));
        clusters.reserve("a");
        clusters.release("a");
        assertThat(clusters.find("a")).isEmpty();
    }
}
