package dev.lite.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DemoSettingsTest {

    @TempDir
    Path directory;

    @Test
    void aFileIsAcceptedWithItsSize() throws IOException {
        Path file = Files.writeString(directory.resolve("text"), "three words here");
        DemoSettings settings = DemoSettings.of(properties(file.toString(), "true"));
        assertThat(settings.file()).isEqualTo(file);
        assertThat(settings.bytes()).isEqualTo(16);
        assertThat(settings.keep()).isTrue();
    }

    @Test
    void withoutAFileTheDemoWritesATextOfItsOwn() throws IOException {
        DemoSettings settings = DemoSettings.of(properties("", "false"));
        try {
            assertThat(settings.bytes()).isEqualTo(SampleText.BYTES);
        } finally {
            Files.delete(settings.file());
        }
    }

    @Test
    void aMissingFileIsReported() {
        refuses(directory.resolve("missing"), "missing (lite.demo.file) does not exist");
    }

    @Test
    void aDirectoryIsRefused() {
        refuses(directory, "is a directory");
    }

    @Test
    void anEmptyFileIsRefused() throws IOException {
        refuses(Files.createFile(directory.resolve("empty")), "is empty");
    }

    @Test
    void aDeviceIsRefused() {
        refuses(Path.of("/dev/zero"), "is not a regular file");
    }

    @Test
    void anUnreadableFileIsRefused() throws IOException {
        Path file = Files.writeString(directory.resolve("secret"), "x");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("---------"));
        assumeThat(Files.isReadable(file))
                .as("readable, because root may read every file")
                .isFalse();
        refuses(file, "is not readable by the user");
    }

    @Test
    void otherValuesOfKeepAreRefused() throws IOException {
        Path file = Files.writeString(directory.resolve("text"), "x");
        assertThatThrownBy(() -> DemoSettings.of(properties(file.toString(), "perhaps")))
                .isInstanceOf(DemoFailedException.class)
                .hasMessageContaining("lite.demo.keep is \"perhaps\"");
    }

    @Test
    void aFabricThatTheDemoDoesNotHaveIsRefused() throws IOException {
        Path file = Files.writeString(directory.resolve("text"), "x");
        Properties properties = properties(file.toString(), "false");
        assertThat(DemoSettings.of(properties).fabric()).isEqualTo("shm");
        properties.setProperty("lite.demo.fabric", "pigeon");
        assertThatThrownBy(() -> DemoSettings.of(properties))
                .isInstanceOf(DemoFailedException.class)
                .hasMessageContaining("lite.demo.fabric is \"pigeon\"; it must be one of [shm, tcp]");
    }

    private static void refuses(Path file, String message) {
        assertThatThrownBy(() -> DemoSettings.of(properties(file.toString(), "false")))
                .isInstanceOf(DemoFailedException.class)
                .hasMessageContaining(file.toString())
                .hasMessageContaining(message);
    }

    private static Properties properties(String file, String keep) {
        Properties properties = new Properties();
        properties.setProperty("lite.demo.file", file);
        properties.setProperty("lite.demo.keep", keep);
        for (String jar : new String[] {"manager", "node", "app"}) {
            properties.setProperty("lite.demo.%s-jar".formatted(jar), jar + ".jar");
        }
        return properties;
    }
}
