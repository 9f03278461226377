package dev.lite.cli;

import dev.lite.local.ClassCaches;
import dev.lite.local.ProcessFailedException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The executable jars of the processes that a command starts. */
final class JarOptions {
    private static final Path JAVA = Path.of(System.getProperty("java.home"), "bin", "java");

    @Option(
            names = "--manager-jar",
            paramLabel = "FILE",
            defaultValue = "${sys:lite.manager-jar}",
            description = "The manager's executable jar. Default: the one built with this command")
    private @Nullable Path managerJar;

    @Option(
            names = "--node-jar",
            paramLabel = "FILE",
            defaultValue = "${sys:lite.node-jar}",
            description = "The node's executable jar. Default: the one built with this command")
    private @Nullable Path nodeJar;

    Path manager() {
        return required("--manager-jar", managerJar);
    }

    Path node() {
        return required("--node-jar", nodeJar);
    }

    private static Path required(String option, @Nullable Path jar) {
        if (jar == null || jar.toString().isEmpty()) {
            throw new IllegalArgumentException(
                    "set --manager-jar and --node-jar, or build the jars: mvn package -DskipTests");
        }
        if (!Files.isRegularFile(jar)) {
            throw new IllegalArgumentException("%s is %s; there is no such file".formatted(option, jar));
        }
        return jar;
    }

    /**
     * Makes the class caches if they are missing.
     *
     * @param progress gets a line for each step, and the reason of a failure
     * @return false when they could not be made; the processes then start without them
     */
    boolean prepare(Consumer<String> progress) {
        if (!ClassCaches.isMissing(JAVA, manager(), node())) {
            return true;
        }
        try {
            progress.accept("Making the class caches, once for this build, by starting and stopping a cluster");
            ClassCaches.make(JAVA, manager(), node(), line -> {});
            return true;
        } catch (ProcessFailedException | UncheckedIOException | IllegalArgumentException e) {
            progress.accept("warning: there are no class caches, so every start takes longer: " + e.getMessage());
            return false;
        }
    }
}
