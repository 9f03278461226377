package dev.lite.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The first example as its reader runs it: an application in a process of its own, with the starter only, and two nodes. */
class GettingStartedTest {
    private static final String QUICK_START = "-XX:TieredStopAtLevel=1";
    private static final long DEADLINE_SECONDS = Waits.seconds(120).toSeconds();
    private static final Path JAVA = Path.of(System.getProperty("java.home"), "bin", "java");

    /** Not in an application that has the starter only. */
    private static final Pattern TESTS_ONLY = Pattern.compile(
            ".*/lite-(embedded|tier|fabric[a-z-]*|cluster|cli|local-cluster|spring-boot-(starter-)?test)/.*");

    @Test
    void theFirstReadCountsItsStartsInMemoryOnAnotherNode(@TempDir Path directory) throws Exception {
        List<CodeBlock> blocks = Repository.blocks("java").stream()
                .filter(block -> "FirstRead".equals(block.context()))
                .toList();
        try (CompiledBlocks compiled = CompiledBlocks.compile(blocks, directory);
                LocalCluster cluster = start(directory)) {
            CodeBlock block = compiled.blockOf("FirstRead");
            compiled.context(block);
            String main = compiled.packageOf(block) + ".DemoApplication";
            assertThat(application(cluster, directory, main)).contains("start 0 reads 1");
            assertThat(application(cluster, directory, main)).contains("start 1 reads 2");
        }
    }

    private static LocalCluster start(Path directory) {
        Path manager = jar("lite-manager/lite-manager-app");
        Path node = jar("lite-node/lite-node-app");
        LocalCluster cluster = LocalCluster.builder()
                .name("docs-" + ProcessHandle.current().pid())
                .jars(manager, node)
                .nodes(2)
                .directory(directory.resolve("cluster"))
                .startDeadline(Waits.seconds(90))
                .managerJavaOption(QUICK_START)
                .nodeJavaOption(QUICK_START)
                .nodeProperty("lite.node.drain-timeout", "0s")
                .build();
        boolean isUp = false;
        try {
            cluster.up(line -> {});
            isUp = true;
            return cluster;
        } finally {
            if (!isUp) {
                cluster.close();
            }
        }
    }

    /** The extracted executable jar of a module. */
    private static Path jar(String module) {
        Path extracted = Repository.ROOT.resolve(module).resolve("target/extracted");
        try (Stream<Path> files = Files.list(extracted)) {
            return files.filter(file -> file.toString().endsWith("-exec.jar"))
                    .findFirst()
                    .orElseThrow();
        } catch (IOException e) {
            throw new AssertionError("this test needs the executable jar of " + module + "; run mvn package", e);
        }
    }

    /** Runs the application with the socket of the first node, and returns what it printed. */
    private static String application(LocalCluster cluster, Path classes, String main) throws Exception {
        String classPath = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !TESTS_ONLY.matcher(entry).matches())
                .collect(Collectors.joining(File.pathSeparator, classes + File.pathSeparator, ""));
        Path output = classes.resolve("output");
        ProcessBuilder builder = new ProcessBuilder(
                        JAVA.toString(),
                        QUICK_START,
                        "--enable-native-access=ALL-UNNAMED",
                        "-classpath",
                        classPath,
                        main)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.environment().put("LITE_CLIENT_SOCKET", cluster.socket(1).toString());
        Process process = builder.start();
        try {
            assertThat(process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS))
                    .as("the application ends within %d s: %s", DEADLINE_SECONDS, Repository.read(output))
                    .isTrue();
            assertThat(process.exitValue()).as(Repository.read(output)).isZero();
        } finally {
            process.destroyForcibly();
        }
        return Repository.read(output);
    }
}
