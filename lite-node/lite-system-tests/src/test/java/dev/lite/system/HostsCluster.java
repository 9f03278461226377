package dev.lite.system;

import dev.lite.api.Lite;
import dev.lite.api.NodeInfo;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A manager on the switch and a node on each host, connected only by the network, with a cluster secret. One thread. */
final class HostsCluster implements AutoCloseable {
    private static final int ZOOKEEPER_PORT = 2181;

    private final Hosts hosts;
    private final Path directory;
    private final Path memory;
    private final boolean retainArenas;
    private final List<String> properties;
    private final Path secret;

    /**
     * Starts the cluster and waits until every process is ready.
     *
     * @param directory for sockets and ready files
     * @param memory for the arenas
     * @param logs for the output of the processes
     * @param retainArenas whether a node that starts again gets the memory of its former process
     * @param properties additional properties of every process, as {@code --name=value}
     */
    HostsCluster(int count, Path directory, Path memory, Path logs, boolean retainArenas, List<String> properties)
            throws IOException {
        this.directory = directory;
        this.memory = memory;
        this.retainArenas = retainArenas;
        this.properties = List.copyOf(properties);
        secret = Files.writeString(directory.resolve("secret"), "the secret of three hosts\n");
        hosts = Hosts.make(count, logs);
        boolean started = false;
        try {
            hosts.start(0, "manager", managerCommand(), directory.resolve("manager.ready"));
            for (int host = 1; host <= count; host++) {
                startNode(host);
            }
            started = true;
        } finally {
            if (!started) {
                hosts.close();
            }
        }
    }

    /** Starts a host's node and waits until it is ready. */
    void startNode(int host) throws IOException {
        Path ready = directory.resolve(host + ".ready");
        Files.deleteIfExists(ready);
        hosts.start(host, "node-" + host, nodeCommand(host), ready);
    }

    /** Kills a host's node. Its arena stays if the properties say so. */
    void killNode(int host) {
        hosts.kill("node-" + host);
    }

    Hosts hosts() {
        return hosts;
    }

    Path socket(int host) {
        return directory.resolve("run" + host).resolve("node.sock");
    }

    Lite attach(int host) {
        return Lite.attach(Lite.AttachOptions.to(socket(host), "system-test").withDeadline(Waits.seconds(20)));
    }

    /** Waits until a host is connected to this many others over TCP. */
    static void awaitConnected(Lite lite, int others) {
        Waits.until(
                "connections to %d nodes".formatted(others),
                Waits.seconds(30),
                () -> lite.nodes().stream()
                                .map(NodeInfo::fabric)
                                .filter("tcp"::equals)
                                .count()
                        >= others);
    }

    private List<String> managerCommand() {
        List<String> command = java(Clusters.managerJar(), Clusters.managerOptions(), "manager");
        command.add("--lite.manager.zookeeper.embedded=true");
        command.add("--lite.manager.zookeeper.address=" + Hosts.address(0));
        command.add("--lite.manager.zookeeper.port=" + ZOOKEEPER_PORT);
        command.add("--lite.manager.zookeeper.data-directory=" + directory.resolve("zookeeper"));
        return command;
    }

    private List<String> nodeCommand(int host) {
        List<String> command = java(Clusters.nodeJar(), Clusters.nodeOptions(), Integer.toString(host));
        command.add("--lite.cluster.zookeeper=%s:%d".formatted(Hosts.address(0), ZOOKEEPER_PORT));
        command.add("--lite.node.name=node-" + host);
        command.add("--lite.node.arena.size=64MB");
        command.add("--lite.node.arena.directory=" + memory);
        command.add("--lite.node.arena.retain=" + retainArenas);
        command.add("--lite.node.run-directory=" + directory.resolve("run" + host));
        command.add("--lite.node.fabrics=tcp");
        command.add("--lite.node.tcp.bind=" + Hosts.address(host));
        command.add("--lite.node.tcp.secret-file=" + secret);
        return command;
    }

    private List<String> java(Path jar, List<String> options, String name) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED"));
        command.addAll(options);
        command.addAll(List.of(
                "-jar",
                jar.toString(),
                "--server.port=0",
                "--lite.cluster.name=three-hosts",
                "--lite.cluster.auth.password-file=" + secret,
                "--lite.cluster.secret-file=" + secret,
                "--lite.ready-file=" + directory.resolve(name + ".ready"),
                "--lite.exit-with-pid=" + ProcessHandle.current().pid()));
        command.addAll(properties);
        return command;
    }

    @Override
    public void close() {
        hosts.close();
    }
}
