package dev.lite.system.hostile;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Two nodes and a manager. Two principals are known by their tokens: one behaves well, and one attacks. The greedy one may use the
 * names below {@code greedy/} and some single ones only.
 */
final class HostileCluster {
    static final String GREEDY = "the token of the greedy application";
    static final String GOOD = "the token of the good application";
    static final Duration SOON = Waits.seconds(30);

    private HostileCluster() {}

    /** Starts it. */
    static LocalCluster start(String name) {
        LocalCluster cluster = LocalCluster.builder()
                .name(name + ProcessHandle.current().pid())
                .jars(
                        Path.of(System.getProperty("lite.system.manager-jar")),
                        Path.of(System.getProperty("lite.system.node-jar")))
                .nodes(2)
                .fabrics("tcp")
                .arenaBytes(256 << 20)
                .nodeProperty("lite.node.principals[0].name", "greedy")
                .nodeProperty("lite.node.principals[0].token", GREEDY)
                .nodeProperty("lite.node.principals[0].names", "greedy/**")
                .nodeProperty("lite.node.principals[0].may.call", "never")
                .nodeProperty("lite.node.principals[1].name", "good")
                .nodeProperty("lite.node.principals[1].token", GOOD)
                .nodeProperty("lite.node.limits.handles", "20000")
                .retainArenas(true)
                .startDeadline(Waits.seconds(90))
                .logDirectory(Path.of(System.getProperty("lite.system.logs"), name))
                .build();
        cluster.startManager();
        cluster.startNodes();
        return cluster;
    }

    /** A session with the first node. */
    static Lite attach(LocalCluster cluster, String token) {
        return attach(cluster, token, SOON);
    }

    static Lite attach(LocalCluster cluster, String token, Duration deadline) {
        return Lite.attach(AttachOptions.to(cluster.socket(1), "hostile-test")
                .withToken(token)
                .withDeadline(deadline));
    }
}
