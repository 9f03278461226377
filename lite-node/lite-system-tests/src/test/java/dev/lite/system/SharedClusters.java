package dev.lite.system;

import dev.lite.embedded.EmbeddedNodeConfig;
import dev.lite.local.LocalCluster;
import dev.lite.local.LocalClusterBuilder;
import dev.lite.testing.Waits;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Clusters of three nodes that the tests of all classes share, one per fabric. A cluster starts when the first test borrows it and
 * stops after the last test of the run. One test at a time uses a cluster. It may kill and stop nodes; they are restarted for the next
 * borrower. The LMRs and locks of a test need names that no other test uses. Any thread.
 */
final class SharedClusters implements AutoCloseable {
    static final int NODES = 3;

    /** The cluster secret; every process that joins the cluster must know it. */
    static final String SECRET = "the secret of the shared cluster";

    private final Map<String, Shared> clusters = new ConcurrentHashMap<>();

    private SharedClusters() {}

    /** Injects the clusters into parameters of tests. */
    static final class Resolver implements ParameterResolver {
        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            return parameter.getParameter().getType() == SharedClusters.class;
        }

        @Override
        public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            return context.getRoot()
                    .getStore(ExtensionContext.Namespace.create(SharedClusters.class))
                    .computeIfAbsent(SharedClusters.class, key -> new SharedClusters(), SharedClusters.class);
        }
    }

    /**
     * Waits until no other test uses the cluster of a fabric, and starts its processes that do not run.
     *
     * @param fabric {@code shm} or {@code tcp}
     */
    Borrowed borrow(String fabric) {
        Shared shared = clusters.computeIfAbsent(fabric, Shared::new);
        shared.free.acquireUninterruptibly();
        boolean started = false;
        try {
            Borrowed borrowed = new Borrowed(fabric, shared, shared.running());
            started = true;
            return borrowed;
        } finally {
            if (!started) {
                shared.free.release();
            }
        }
    }

    /** A borrowed cluster, which the test returns by {@link #close}. */
    record Borrowed(String fabric, Shared shared, LocalCluster cluster) implements AutoCloseable {
        /** The properties of an embedded node that joins the cluster. */
        EmbeddedNodeConfig.Builder embedded(String name) {
            EmbeddedNodeConfig.Builder builder = EmbeddedNodeConfig.builder()
                    .zookeeper(cluster.zookeeper())
                    .cluster(cluster.name())
                    .name(name);
            return builder.secret(SECRET);
        }

        /** The name of the directory with the logs of its processes. */
        String logs() {
            return Shared.logs(fabric);
        }

        @Override
        public void close() {
            shared.free.release();
        }
    }

    @Override
    public void close() {
        clusters.values().forEach(Shared::close);
    }

    private static final class Shared {
        private final Semaphore free = new Semaphore(1, true);
        private final String fabric;
        private @Nullable LocalCluster cluster; // guarded by free

        Shared(String fabric) {
            this.fabric = fabric;
        }

        static String logs(String fabric) {
            return "shared-" + fabric;
        }

        LocalCluster running() {
            LocalCluster running = cluster;
            if (running == null) {
                running = build();
                cluster = running;
                running.startManager();
            }
            running.startNodes();
            return running;
        }

        private LocalCluster build() {
            LocalClusterBuilder builder = Clusters.builder(logs(fabric))
                    .nodes(NODES)
                    .fabrics(fabric)
                    .retainArenas(true)
                    .property("lite.cluster.secret", SECRET)
                    .stopDeadline(Waits.seconds(40));
            if (fabric.equals("tcp")) {
                builder.nodeProperty("lite.node.tcp.lanes", "3").nodeProperty("lite.node.tcp.secret", SECRET);
            }
            return builder.build();
        }

        void close() {
            LocalCluster running = cluster;
            if (running != null) {
                running.close();
            }
        }
    }
}
