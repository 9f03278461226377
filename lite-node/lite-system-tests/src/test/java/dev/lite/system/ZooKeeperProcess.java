package dev.lite.system;

import dev.lite.cluster.process.ProcessEnd;
import org.apache.zookeeper.server.quorum.QuorumPeerMain;

/** A ZooKeeper server as people run it, but for its end: it goes with the process that started it, however that went. */
final class ZooKeeperProcess {
    private ZooKeeperProcess() {}

    /** @param arguments the process to end with, and the configuration file */
    static void main(String[] arguments) {
        ProcessEnd.whenEnded(
                Long.parseLong(arguments[0]), () -> Runtime.getRuntime().halt(0));
        QuorumPeerMain.main(new String[] {arguments[1]});
    }
}
