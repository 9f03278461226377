package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * An application as in a pod of its own: in another mount namespace, as another user, with nothing of the node but the directory of its
 * socket. Needs root. With roots of their own, from the images, the processes run in the module lite-images.
 */
class ApplicationInAnotherPodTest {
    private static final int UID = 20_001;

    /** What the application needs, as parts of paths. */
    private static final List<String> LIBRARIES =
            List.of("/lite-api/", "/lite-os/", "/lite-session/", "/lite-client/", "/slf4j-api/");

    /**
     * Arguments: the socket's directory on the host, its place in the pod, the node's other directory, the group of the socket, and the
     * command. The memory file system of a pod is its own, too.
     */
    private static final String POD = """
            set -e
            mount --bind "$1" "$2"
            mount -t tmpfs none "$3"
            mount -t tmpfs none /dev/shm
            group=$4
            shift 4
            exec setpriv --reuid=%d --regid=%d --groups="$group" --no-new-privs "$@"
            """.formatted(UID, UID);

    @TempDir
    Path directory;

    @Test
    void itSeesOnlyTheSocketsDirectoryAndContinuesWhenTheNodeIsBack() throws IOException {
        assumeTrue(mayUnshare(), "a mount namespace needs root and the commands unshare and setpriv");
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path mounted = Files.createDirectory(directory.resolve("run-lite"));
        String classPath = readableClassPath();
        try (LocalCluster cluster = Clusters.builder("ApplicationInAnotherPodTest")
                .nodes(1)
                .arenaBytes(16 << 20)
                .build()) {
            cluster.startManager();
            cluster.startNode(1);
            Path socket = cluster.socket(1);
            Path run = socket.resolveSibling("");
            List<String> pod = List.of(
                    "unshare",
                    "--mount",
                    "sh",
                    "-c",
                    POD,
                    "pod",
                    run.toString(),
                    mounted.toString(),
                    cluster.workDirectory().toString(),
                    Files.getAttribute(socket, "unix:gid").toString());
            Path inPod = mounted.resolve(socket.getFileName());
            try (ApplicationProcess application = ApplicationProcess.start(pod, classPath, inPod)) {
                assertThat(application.attached()).isEqualTo("attached");
                assertThat(Files.getAttribute(
                                Path.of("/proc/" + application.process().pid()), "unix:uid"))
                        .isEqualTo(UID);
                assertThat(application.ask("exists " + inPod)).isEqualTo("true");
                for (Path hidden : List.of(
                        socket,
                        cluster.arenaDirectory(),
                        cluster.workDirectory().resolve("logs"))) {
                    assertThat(hidden).exists();
                    assertThat(application.ask("exists " + hidden))
                            .as(hidden.toString())
                            .isEqualTo("false");
                }
                assertThat(application.ask("create pod/counter node-1")).isEqualTo("created");
                assertThat(application.ask("add pod/counter")).isEqualTo("0");
                // Killed, so the node makes a new socket in the same directory.
                cluster.kill(1);
                cluster.startNode(1);
                assertThat(application.ask("add pod/counter")).isEqualTo("1");
                assertThat(application.ask("lock pod/lock")).isEqualTo("held");
                Waits.until(
                        "the node shows the application's user",
                        Waits.seconds(30),
                        () -> Health.at(cluster.node(1), "lite").contains("\"uid\":" + UID));
            }
        }
    }

    private static boolean mayUnshare() {
        try {
            Process process = new ProcessBuilder(
                            "unshare", "--mount", "setpriv", "--reuid=" + UID, "--clear-groups", "true")
                    .redirectErrorStream(true)
                    .start();
            System.out.print(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
            return process.waitFor() == 0;
        } catch (IOException e) {
            System.out.println(e.getMessage());
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    /** The class path in a directory that every user may read; the local repository may be another's. */
    private String readableClassPath() throws IOException {
        Path libraries = Files.createDirectory(directory.resolve("libraries"));
        List<String> entries = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            if (LIBRARIES.stream().anyMatch(entry::contains)) {
                Path to = libraries.resolve(Integer.toString(entries.size()));
                copy(Path.of(entry), to);
                entries.add(to.toString());
            }
        }
        assertThat(entries).hasSize(LIBRARIES.size());
        Path own = libraries.resolve("own");
        String file = CommandedApplication.class.getName().replace('.', '/') + ".class";
        Files.createDirectories(own.resolve(file).getParent());
        Files.copy(Path.of("target/test-classes", file), own.resolve(file));
        entries.add(own.toString());
        return String.join(File.pathSeparator, entries);
    }

    /** Copies a jar, or a directory of classes. */
    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.toList()) {
                Path target = to.resolve(from.relativize(file).toString());
                Files.copy(file, file.equals(from) ? to : target);
            }
        }
    }
}
