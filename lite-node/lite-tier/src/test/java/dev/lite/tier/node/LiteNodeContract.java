package dev.lite.tier.node;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.fabric.FabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;

/** The contract of a node, for any fabric. A subclass supplies only the fabric. */
abstract class LiteNodeContract implements DataCases, WordCases, LifeCases, LimitCases, RestartCases {
    static final Permission[] DATA = {Permission.READ, Permission.WRITE, Permission.ATOMIC};

    @TempDir(factory = InDevShm.class)
    Path root;

    private @Nullable TestCluster opened;

    abstract FabricProvider provider();

    @Override
    public final TestCluster cluster(int nodes) {
        TestCluster cluster = new TestCluster(root, provider());
        opened = cluster;
        return cluster.start(nodes);
    }

    @Override
    public final TestCluster shortDeadlineCluster() {
        return new TestCluster(root, provider(), Waits.seconds(1));
    }

    @Override
    public final String fabric() {
        return provider().name();
    }

    @Override
    public final Path root() {
        return root;
    }

    @AfterEach
    void close() {
        if (opened != null) {
            opened.close();
        }
    }

    static LmrSpec shared(long size, String name) {
        return LmrSpec.of(size).withName(name).withDefaultPermissions(DATA);
    }

    static byte[] bytes(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    static byte[] read(LmrHandle handle, long offset, int length) {
        byte[] bytes = new byte[length];
        handle.read(offset, bytes);
        return bytes;
    }

    static long allocated(TestCluster cluster, int... nodes) {
        return Arrays.stream(nodes)
                .mapToLong(node -> cluster.node(node).figures().usage().allocatedBytes())
                .sum();
    }

    /** The bytes that the nodes use themselves from the start. */
    static long[] atRest(TestCluster cluster) {
        return new long[] {allocated(cluster, 0), allocated(cluster, 1), allocated(cluster, 2)};
    }

    static void awaitRest(TestCluster cluster, long[] rest) {
        Waits.until(
                "all memory is free again",
                () -> Arrays.equals(atRest(cluster), rest)
                        && IntStream.range(0, 3)
                                .allMatch(node ->
                                        cluster.node(node).figures().usage().reclaiming() == 0));
    }
}
