package dev.lite.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocalClustersTest {
    @TempDir
    Path directory;

    private LocalClusters clusters;

    @BeforeEach
    void make() {
        clusters = new LocalClusters(directory.resolve("clusters"));
    }

    @Test
    void aNameCanBeReservedOnceUntilItIsReleased() {
        clusters.reserve("a");
        assertThatThrownBy(() -> clusters.reserve("a"))
                .isInstanceOf(CommandFailedException.class)
                .hasMessageContaining("the cluster \"a\" is already running")
                .hasMessageContaining("lite down --name a");
        clusters.reserve("b");
        clusters.remove("a");
        clusters.reserve("a");
        assertThat(clusters.find("a")).isPresent();
        assertThat(clusters.find("c")).isEmpty();
    }

    @Test
    void aFailedStartReleasesItsNameButAClusterThatWasLeftBehindDoesNot() throws IOException, InterruptedException {
        Process ended = new ProcessBuilder("true").start();
        assertThat(ended.waitFor()).isZero();
        Files.createDirectories(directory.resolve("clusters"));
        Files.writeString(clusters.file("a"), "pid=" + ended.pid() + "\n");
        clusters.reserve("a");
        Files.writeString(clusters.file("a"), "directory=/tmp/x\npid=" + ended.pid() + "\n");
        assertThatThrownBy(() -> clusters.reserve("a"))
                .isInstanceOf(CommandFailedException.class)
                .hasMessageContaining("none of its processes runs")
                .hasMessageContaining("lite down --name a");
    }

    @Test
    void anotherProcessWithTheIdOfAStartThatWasKilledIsNotTakenForIt() throws IOException {
        clusters.reserve("a");
        clusters.write(
                "a", Map.of(LocalClusters.DIRECTORY, directory.resolve("work").toString()));
        assertThat(clusters.isBeingStarted("a")).isTrue();
        // Written before this process began: after a restart of the machine, for example, it has the id of the
        // former one.
        FileTime former = FileTime.from(Instant.now().minus(Duration.ofDays(1)));
        Files.setLastModifiedTime(clusters.file("a"), former);
        assertThat(clusters.isBeingStarted("a")).isFalse();
        Files.writeString(clusters.file("a"), "pid=" + ProcessHandle.current().pid() + "\n");
        Files.setLastModifiedTime(clusters.file("a"), former);
        clusters.reserve("a");
        assertThat(clusters.isBeingStarted("a")).isTrue();
    }

    @Test
    void theManagerOfTheOnlyClusterIsTheDefault() {
        assertThat(clusters.onlyUrl()).isEmpty();
        clusters.reserve("a");
        assertThat(clusters.onlyUrl()).isEmpty();
        clusters.write("a", Map.of(LocalClusters.URL, "http://127.0.0.1:1"));
        assertThat(clusters.onlyUrl()).contains("http://127.0.0.1:1");
        clusters.reserve("b");
        clusters.write("b", Map.of(LocalClusters.URL, "http://127.0.0.1:2"));
        assertThat(clusters.onlyUrl()).isEmpty();
    }
}
