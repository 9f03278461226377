package dev.lite.cluster;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;

/** A process that registers a node and then does nothing, until it is killed or its parent ends. */
final class NodeProcess {
    private NodeProcess() {}

    static Process start(String connectString, String cluster, String name, Duration sessionTimeout)
            throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-Xmx64m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        NodeProcess.class.getName(),
                        connectString,
                        cluster,
                        name,
                        sessionTimeout.toString())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    static void main(String[] arguments) {
        ProcessHandle parent = ProcessHandle.current().parent().orElseThrow();
        CuratorConfig config =
                new CuratorConfig(arguments[0], arguments[1], Duration.parse(arguments[3]), Duration.ofSeconds(5));
        try (CuratorDirectory directory = CuratorDirectory.open(config)) {
            directory.register(ClusterDirectoryContract.advert(arguments[2]), ClusterDirectoryContract.DEADLINE);
            parent.onExit().join();
        }
    }
}
