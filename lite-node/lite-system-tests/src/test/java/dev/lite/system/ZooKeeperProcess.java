package dev.lite.system;

import dev.lite.cluster.process.ProcessEnd;
import org.apache.zookeeper.server.quorum.QuorumPeerMain;

/** A ZooKeeper server process. It ends when the process that started it ends, even if that is killed. */
final class ZooKeeperProcess {
    private ZooKeeperProcess() {}

    /** @param arguments the id of the process to end with, and the configuration file */
    static void main(String[] arguments) {
        ProcessEnd.whenEnded(
                Long.parseLong(arguments[0]), () -> Runtime.getRuntime().halt(0));
        QuorumPeerMain.main(new String[] {arguments[1]});
    }
}
