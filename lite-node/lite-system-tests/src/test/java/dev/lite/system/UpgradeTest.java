package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.local.LocalCluster;
import dev.lite.local.LocalClusterBuilder;
import dev.lite.local.LocalProcess;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Nodes and applications of builds whose protocols have other versions: next to each other, and too far apart. Real processes. */
class UpgradeTest {
    private static final String OLD = System.getProperty("java.class.path");

    @TempDir
    Path directory;

    @TempDir(factory = InDevShm.class)
    Path shared;

    private static LocalClusterBuilder release(String name, Path nodeJar, Path sharedMemory) {
        return Clusters.builder("UpgradeTest")
                .name(name)
                .jars(Clusters.managerJar(), nodeJar)
                .nodes(3)
                .sharedMemory(sharedMemory)
                .arenaBytes(32 << 20)
                .fabrics("tcp")
                .nodeProperty("lite.node.tcp.secret", "the secret of the upgrade")
                .nodeProperty("lite.node.drain-timeout", "60s")
                .property("lite.cluster.auth.password", "of the upgrade")
                .property("lite.cluster.secret", "the secret of the upgrade")
                .stopDeadline(Waits.seconds(90));
    }

    @Test
    void aVersionWorksBesideTheNextOneAndRefusesTheOneAfterThat() throws IOException {
        OtherBuild next = OtherBuild.ahead(1, Files.createDirectories(directory.resolve("next")));
        OtherBuild beyond = OtherBuild.ahead(2, Files.createDirectories(directory.resolve("beyond")));
        // One cluster, whose nodes are of three builds. Each of these objects has a directory of its own.
        String name = "upgrade" + ProcessHandle.current().pid();
        try (LocalCluster old =
                        release(name, Clusters.nodeJar(), shared.resolve("old")).build();
                LocalCluster newer = release(name, next.nodeJar(), shared.resolve("next"))
                        .zookeeper(zookeeperOf(old))
                        .build();
                LocalCluster newest = release(name, beyond.nodeJar(), shared.resolve("beyond"))
                        .zookeeper(old.zookeeper())
                        .build()) {
            LocalProcess node1 = old.startNode(1);
            LocalProcess node2 = newer.startNode(2);
            awaitLink(node1, "\"node-2\":\"tcp\"");
            awaitLink(node2, "\"node-1\":\"tcp\"");
            try (ApplicationProcess oldAtOld = ApplicationProcess.start(List.of(), OLD, old.socket(1));
                    ApplicationProcess newAtOld = ApplicationProcess.start(List.of(), next.classPath(), old.socket(1));
                    ApplicationProcess oldAtNew = ApplicationProcess.start(List.of(), OLD, newer.socket(2))) {
                List.of(oldAtOld, newAtOld, oldAtNew)
                        .forEach(application ->
                                assertThat(application.attached()).isEqualTo("attached"));
                workTogether(oldAtOld, newAtOld, oldAtNew);
                LocalProcess node3 = newest.startNode(3);
                refuseEachOther(next, beyond, node1, node2, node3);
                refuseApplications(next, beyond, old, newest);
                assertThat(newAtOld.ask("add upgrade/on-2")).isEqualTo("3");
                assertThat(newest.stop(3)).isTrue();
                // The first node is upgraded: its memory moves to the newer one meanwhile.
                assertThat(old.stop(1)).isTrue();
                assertThat(oldAtNew.ask("add upgrade/on-1")).isEqualTo("3");
                assertThat(oldAtNew.ask("read upgrade/on-1 5")).isEqualTo("hello");
                LocalProcess upgraded = newer.startNode(1);
                awaitLink(upgraded, "\"node-2\":\"tcp\"");
                assertThat(oldAtNew.ask("add upgrade/on-2")).isEqualTo("4");
            }
        }
    }

    private static String zookeeperOf(LocalCluster cluster) {
        cluster.startManager();
        return cluster.zookeeper();
    }

    /** Memory, locks and calls in all directions. */
    private static void workTogether(
            ApplicationProcess oldAtOld, ApplicationProcess newAtOld, ApplicationProcess oldAtNew) {
        assertThat(oldAtOld.ask("create upgrade/on-2 node-2")).isEqualTo("created");
        assertThat(oldAtNew.ask("create upgrade/on-1 node-1")).isEqualTo("created");
        long adds = 0;
        for (ApplicationProcess application : List.of(oldAtOld, newAtOld, oldAtNew)) {
            assertThat(application.ask("add upgrade/on-1")).isEqualTo(Long.toString(adds));
            assertThat(application.ask("add upgrade/on-2")).isEqualTo(Long.toString(adds));
            assertThat(application.ask("lock upgrade/lock")).isEqualTo("held");
            adds++;
        }
        assertThat(oldAtNew.ask("write upgrade/on-1 hello")).isEqualTo("written");
        assertThat(newAtOld.ask("read upgrade/on-1 5")).isEqualTo("hello");
        assertThat(newAtOld.ask("write upgrade/on-2 world")).isEqualTo("written");
        assertThat(oldAtNew.ask("read upgrade/on-2 5")).isEqualTo("world");
        assertThat(newAtOld.ask("serve upgrade/one one")).isEqualTo("served");
        assertThat(oldAtNew.ask("serve upgrade/two two")).isEqualTo("served");
        assertThat(oldAtNew.ask("call node-1 upgrade/one")).isEqualTo("one answers");
        assertThat(newAtOld.ask("call node-2 upgrade/two")).isEqualTo("two answers");
        assertThat(oldAtOld.ask("call node-1 upgrade/one")).isEqualTo("one answers");
    }

    /** The health of both nodes says which one to upgrade. */
    private static void refuseEachOther(
            OtherBuild next, OtherBuild beyond, LocalProcess node1, LocalProcess node2, LocalProcess node3) {
        int version = next.nodeVersion() - 1;
        awaitLink(node2, "\"node-3\":\"tcp\"");
        awaitLink(
                node1,
                "the peer works with versions %d to %d of the node protocol, this node speaks %d: upgrade this node"
                        .formatted(next.nodeVersion(), beyond.nodeVersion(), version));
        awaitLink(
                node3,
                "the peer speaks version %d of the node protocol, this node works with %d to %d: upgrade the peer"
                        .formatted(version, next.nodeVersion(), beyond.nodeVersion()));
    }

    private static void refuseApplications(OtherBuild next, OtherBuild beyond, LocalCluster old, LocalCluster newest) {
        int version = next.version() - 1;
        try (ApplicationProcess newestAtOld = ApplicationProcess.start(List.of(), beyond.classPath(), old.socket(1));
                ApplicationProcess oldAtNewest = ApplicationProcess.start(List.of(), OLD, newest.socket(3));
                ApplicationProcess nextAtNewest =
                        ApplicationProcess.start(List.of(), next.classPath(), newest.socket(3))) {
            assertThat(newestAtOld.attached())
                    .startsWith("refused: ")
                    .contains("speaks session protocol %d, this client %d to %d"
                            .formatted(version, next.version(), beyond.version()))
                    .contains("upgrade");
            assertThat(oldAtNewest.attached())
                    .startsWith("refused: ")
                    .contains("speaks session protocol %d, this client".formatted(beyond.version()))
                    .contains("upgrade");
            assertThat(nextAtNewest.attached()).isEqualTo("attached");
        }
    }

    private static void awaitLink(LocalProcess node, String text) {
        Waits.until(
                node.name() + " says " + text,
                Waits.seconds(60),
                () -> Health.of(node).contains(text));
    }
}
