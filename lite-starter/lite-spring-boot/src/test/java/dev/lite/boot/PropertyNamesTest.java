package dev.lite.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.internal.PropertyNames;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PropertyNamesTest {
    private static final String METADATA = """
            {"groups": [], "properties": [
              {"name": "lite.node.run-directory", "type": "java.nio.file.Path"},
              {"name": "lite.node.tcp.port", "type": "java.lang.Integer"},
              {"name": "lite.node.principals", "type": "java.util.List<dev.lite.node.Principal>"},
              {"name": "lite.fabric", "type": "java.lang.String"},
              {"name": "lite.fabric.require", "type": "java.lang.String"}
            ]}
            """;

    @TempDir
    private Path directory;

    private PropertyNames names;

    @BeforeEach
    void readMetadata() throws IOException {
        Files.createDirectory(directory.resolve("META-INF"));
        Files.writeString(directory.resolve("META-INF/spring-configuration-metadata.json"), METADATA);
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {directory.toUri().toURL()}, null)) {
            names = PropertyNames.of(loader);
        }
    }

    @Test
    void whatStartsAProcessMayTellItsFileAndItsParent() {
        assertThat(names.problem(
                        List.of("lite.ready-file", "lite.exit-with-pid", "lite.exit-message-file"),
                        List.of("LITE_READY_FILE", "LITE_EXIT_WITH_PID", "LITE_EXITMESSAGEFILE")))
                .isEmpty();
    }

    @Test
    void knownNamesAreRightInEverySpelling() {
        assertThat(names.problem(
                        List.of(
                                "lite.node.run-directory",
                                "lite.node.runDirectory",
                                "lite.node.run_directory",
                                "lite.node.principals[0].name",
                                "lite.node",
                                "lite.ready-file",
                                "lite.fabric",
                                "lite.fabric.require",
                                "server.port"),
                        List.of()))
                .isEmpty();
    }

    @Test
    void unknownNamesAreReportedInOneLineWithTheNearestKnownOnes() {
        assertThat(names.problem(List.of("lite.node.tcp.prt", "lite.redy-file"), List.of()))
                .hasValue("there is no property lite.node.tcp.prt; the nearest known one is lite.node.tcp.port;"
                        + " there is no property lite.redy-file; the nearest known one is lite.ready-file");
        assertThat(names.problem(List.of("lite.fabric.required"), List.of())).isPresent();
        assertThat(names.problem(List.of("lite.node.tcp.port.x"), List.of())).isPresent();
    }

    @Test
    void propertiesOfOtherProcessesAreNotReported() {
        assertThat(names.problem(
                        List.of("lite.manager.nmae", "lite.client.socket", "lite.demo.role", "lite.test.seed"),
                        List.of("LITE_CLIENT_SOCKET", "LITE_MANAGER_NMAE")))
                .isEmpty();
    }

    @Test
    void variablesAreRightWithAndWithoutTheDashes() {
        assertThat(names.problem(
                        List.of(),
                        List.of(
                                "LITE_NODE_RUNDIRECTORY",
                                "LITE_NODE_RUN_DIRECTORY",
                                "LITE_NODE_PRINCIPALS_0_NAME",
                                "LITE_READY_FILE",
                                "PATH")))
                .isEmpty();
        assertThat(names.problem(List.of(), List.of("LITE_NODE_RUNDIRECTRY")))
                .hasValue("there is no property of the environment variable LITE_NODE_RUNDIRECTRY;"
                        + " the nearest known one is lite.node.run-directory");
    }

    @Test
    void variablesOfTheCommandLineAndOfKubernetesServicesAreNotReported() {
        assertThat(names.problem(
                        List.of(),
                        List.of(
                                "LITE_HOME",
                                "LITE_JAVA",
                                "LITE_MANAGER",
                                "LITE_TOKEN",
                                "LITE_TOKEN_FILE",
                                "LITE_NODE_SERVICE_HOST",
                                "LITE_NODE_SERVICE_PORT_HTTP",
                                "LITE_NODE_PORT",
                                "LITE_NODE_PORT_7410_TCP_ADDR",
                                "LITE_PORT")))
                .isEmpty();
    }
}
