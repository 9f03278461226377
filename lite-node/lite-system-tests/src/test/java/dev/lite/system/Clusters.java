package dev.lite.system;

import dev.lite.api.Lite;
import dev.lite.local.ClassCaches;
import dev.lite.local.LocalCluster;
import dev.lite.local.LocalClusterBuilder;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** Clusters of real processes for tests, and sessions with their nodes. */
final class Clusters {
    /**
     * JVM options of a node or manager, which run too briefly to benefit from the C2 compiler. With both compilers, a start takes twice
     * the work.
     */
    private static final String QUICK_START = "-XX:TieredStopAtLevel=1";

    private static final Path JAVA = Path.of(System.getProperty("java.home"), "bin", "java");

    private static final AtomicInteger COUNT = new AtomicInteger();

    private Clusters() {}

    static Path managerJar() {
        return Path.of(System.getProperty("lite.system.manager-jar"));
    }

    static Path nodeJar() {
        return Path.of(System.getProperty("lite.system.node-jar"));
    }

    /** The JVM options of a manager that a test starts by itself. */
    static List<String> managerOptions() {
        return options(managerJar());
    }

    /** As {@link #managerOptions}, for a node. */
    static List<String> nodeOptions() {
        return options(nodeJar());
    }

    private static List<String> options(Path jar) {
        return Stream.concat(Stream.of(QUICK_START), ClassCaches.options(JAVA, jar).stream())
                .toList();
    }

    static LocalClusterBuilder builder(String test) {
        String name = "t%d-%d".formatted(ProcessHandle.current().pid(), COUNT.incrementAndGet());
        return LocalCluster.builder()
                .name(name)
                .jars(managerJar(), nodeJar())
                .nodeJavaOption(QUICK_START)
                .startDeadline(Waits.seconds(90))
                .logDirectory(Path.of(System.getProperty("lite.system.logs"), test));
    }

    static Lite attach(LocalCluster cluster, int node) {
        return Lite.attach(
                Lite.AttachOptions.to(cluster.socket(node), "system-test").withDeadline(Waits.seconds(20)));
    }
}
