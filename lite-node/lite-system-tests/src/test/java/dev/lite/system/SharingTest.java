package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Applications share the connections, threads and pollers of their node (paper §6.1). Counted from outside, in {@code /proc}, with 1
 * and with 50 attached applications that have all used the other node over TCP.
 */
class SharingTest {
    private static final int APPLICATIONS = 50;
    private static final int LANES = 2;

    /** The socket and the shared memory. */
    private static final int DESCRIPTORS_OF_APPLICATION = 2;

    /** What others may open and close meanwhile: ZooKeeper, the web server, a class path. */
    private static final int OTHER_DESCRIPTORS = 8;

    private static final String SESSION_THREADS = "lite-session-";
    private static final String ESTABLISHED = "01";

    private static final Duration REST = Waits.scaled(Duration.ofSeconds(30));

    @Test
    void fiftyApplicationsUseTheConnectionsThreadsAndPollersOfOne() {
        try (LocalCluster cluster = Clusters.builder("SharingTest")
                .nodes(2)
                .fabrics("tcp")
                .nodeProperty("lite.node.session.rest-after", "1s")
                .build()) {
            cluster.startManager();
            cluster.startNodes();
            long pid = cluster.node(1).pid();
            List<Lite> applications = new ArrayList<>();
            try {
                List<LmrHandle> handles = new ArrayList<>();
                handles.add(use(cluster, applications));
                awaitRest(pid);
                Set<String> connections = lanes(pid, cluster.node(2).pid());
                assertThat(connections).as("connections to the other node").hasSize(LANES);
                long shared = threads(pid, SharingTest::isShared);
                long pollers = threads(pid, name -> name.startsWith("lite-poll"));
                long descriptors = descriptors(pid);
                assertThat(pollers).isEqualTo(1);

                while (applications.size() < APPLICATIONS) {
                    handles.add(use(cluster, applications));
                }
                awaitRest(pid);
                for (LmrHandle handle : handles) {
                    assertThat(handle.fetchAdd(0, 1)).isEqualTo(1);
                }
                awaitRest(pid);

                assertThat(lanes(pid, cluster.node(2).pid()))
                        .as("connections to the other node")
                        .isEqualTo(connections);
                assertThat(threads(pid, SharingTest::isShared))
                        .as("threads that applications share")
                        .isEqualTo(shared);
                assertThat(threads(pid, name -> name.startsWith("lite-poll")))
                        .as("pollers")
                        .isEqualTo(pollers);
                assertThat(descriptors(pid) - descriptors)
                        .as("descriptors of %d more applications", APPLICATIONS - 1)
                        .isLessThanOrEqualTo(
                                (APPLICATIONS - 1) * (long) DESCRIPTORS_OF_APPLICATION + OTHER_DESCRIPTORS);
            } finally {
                applications.forEach(Lite::close);
            }
        }
    }

    /** An application that has read and written on the other node. */
    private static LmrHandle use(LocalCluster cluster, List<Lite> applications) {
        Lite lite = Clusters.attach(cluster, 1);
        applications.add(lite);
        LmrHandle handle = lite.memory().malloc(LmrSpec.of(1 << 20).withPlacement(Placement.on("node-2")));
        byte[] bytes = new byte[256 << 10];
        handle.write(0, bytes);
        handle.read(0, bytes);
        assertThat(handle.fetchAdd(0, 1)).isZero();
        return handle;
    }

    /** Waits until no application has a thread of its own: then all threads are those that applications share. */
    private static void awaitRest(long pid) {
        Waits.until("no application has a thread", REST, () -> threads(pid, SharingTest::isSession) == 0);
    }

    private static boolean isSession(String name) {
        return name.length() > SESSION_THREADS.length()
                && name.startsWith(SESSION_THREADS)
                && Character.isDigit(name.charAt(SESSION_THREADS.length()));
    }

    /** LITE's own threads that belong to no application. The kernel's names have 15 characters. */
    private static boolean isShared(String name) {
        return name.startsWith("lite-") && !isSession(name);
    }

    private static long threads(long pid, Predicate<String> which) {
        long count = 0;
        for (Path task : list(Path.of("/proc", Long.toString(pid), "task"))) {
            try {
                count += which.test(Files.readString(task.resolve("comm")).strip()) ? 1 : 0;
            } catch (IOException e) { // a read of an ended thread fails with "No such process"
                if (Files.exists(task)) {
                    throw new UncheckedIOException(e);
                }
            }
        }
        return count;
    }

    private static long descriptors(long pid) {
        return list(Path.of("/proc", Long.toString(pid), "fd")).size();
    }

    /** The ends of TCP connections between two processes, as {@code local remote}. */
    private static Set<String> lanes(long pid, long other) {
        Set<String> mine = connections(pid);
        Set<String> theirs = new HashSet<>();
        for (String connection : connections(other)) {
            String[] ends = connection.split(" ", 2);
            theirs.add(ends[1] + " " + ends[0]);
        }
        mine.retainAll(theirs);
        return mine;
    }

    private static Set<String> connections(long pid) {
        Set<String> sockets = new HashSet<>();
        for (Path descriptor : list(Path.of("/proc", Long.toString(pid), "fd"))) {
            try {
                sockets.add(Files.readSymbolicLink(descriptor).toString());
            } catch (NoSuchFileException closed) {
                // It was closed meanwhile.
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        Set<String> found = new HashSet<>();
        for (String table : List.of("tcp", "tcp6")) {
            for (String line : lines(Path.of("/proc", Long.toString(pid), "net", table))) {
                String[] fields = line.strip().split("\\s+", 0);
                if (fields.length > 9
                        && fields[3].equals(ESTABLISHED)
                        && sockets.contains("socket:[%s]".formatted(fields[9]))) {
                    found.add(fields[1] + " " + fields[2]);
                }
            }
        }
        return found;
    }

    private static List<String> lines(Path file) {
        try {
            return Files.exists(file) ? Files.readAllLines(file) : List.of();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<Path> list(Path directory) {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
