package dev.lite.bench.contenders;

import dev.lite.cluster.CuratorDirectory;
import dev.lite.cluster.EpochKeeperThread;
import dev.lite.cluster.Leadership;

/** What a manager does for its nodes: it maintains the cluster's epochs. Used by one thread. */
public final class BenchManager implements AutoCloseable {
    private final CuratorDirectory directory;
    private final Leadership leadership;
    private final EpochKeeperThread epochs;

    private BenchManager(CuratorDirectory directory) {
        this.directory = directory;
        leadership = directory.leadership("bench");
        epochs = directory.keepEpochs(leadership);
    }

    /** Starts the manager of a node's cluster. */
    public static BenchManager start(BenchNode.Spec node) {
        return new BenchManager(BenchNode.openDirectory(node));
    }

    @Override
    public void close() {
        epochs.close();
        leadership.close();
        directory.close();
    }
}
