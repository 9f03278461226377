package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.testing.InDevShm;
import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ManyLmrsTest {
    private static final int LMRS = 100_000;
    private static final int STEP = 10_000;

    /** Heap garbage: creating an LMR needs about 1 KiB, freeing it 6 KiB. Copying the list of all LMRs would need 800 KiB. */
    private static final long HEAP_BYTES_EACH_MAX = 16 << 10;

    /** The directory methods that call another process. */
    private static final Set<String> REMOTE =
            Set.of("read", "create", "compareAndSet", "delete", "names", "nodesNow", "epochNow");

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @TempDir(factory = InDevShm.class)
    Path root;

    private final AtomicLong directoryCalls = new AtomicLong();

    private ClusterDirectory counted(ClusterDirectory directory) {
        return (ClusterDirectory) Proxy.newProxyInstance(
                ClusterDirectory.class.getClassLoader(),
                new Class<?>[] {ClusterDirectory.class},
                (proxy, method, arguments) -> call(directory, method, arguments));
    }

    private Object call(ClusterDirectory directory, Method method, Object[] arguments) throws Throwable {
        if (REMOTE.contains(method.getName())) {
            directoryCalls.incrementAndGet();
        }
        try {
            return method.invoke(directory, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** The work per LMR must not grow with the number of LMRs, and must need no request to the directory. */
    @Test
    void aHundredThousandSmallLmrsAreCreatedAndFreedWithConstantWorkPerLmr() {
        LiteNodeConfig config = LiteNodeConfig.builder("c", "n0", 24 << 20, root.resolve("run"))
                .arena(root.resolve("arenas"), false)
                .limits(new LiteNodeConfig.Limits(1 << 20, 1 << 20, 110_000, 8))
                .build();
        InMemoryDirectory directory = new InMemoryDirectory.Store().open();
        try (directory;
                LiteNode node = LiteNode.start(config, counted(directory), List.of(new ShmFabricProvider()))) {
            long rest = node.figures().usage().allocatedBytes();
            Lite lite = node.attach("app");
            List<LmrHandle> handles = new ArrayList<>(LMRS);
            long callsBefore = directoryCalls.get();
            for (int made = 0; made < LMRS; made += STEP) {
                long before = THREADS.getCurrentThreadAllocatedBytes();
                for (int count = made; count < made + STEP; count++) {
                    LmrHandle handle = lite.memory().malloc(LmrSpec.of(64));
                    handle.fetchAdd(0, count);
                    handles.add(handle);
                }
                assertThat(THREADS.getCurrentThreadAllocatedBytes() - before)
                        .as("heap bytes for LMRs from number %d on", made)
                        .isLessThan(STEP * HEAP_BYTES_EACH_MAX);
            }
            assertThat(node.figures().usage().extents()).isGreaterThanOrEqualTo(LMRS);
            for (int count = 0; count < LMRS; count += 5_000) {
                assertThat(handles.get(count).fetchAdd(0, 0)).isEqualTo(count);
            }
            for (int freed = 0; freed < LMRS; freed += STEP) {
                long before = THREADS.getCurrentThreadAllocatedBytes();
                handles.subList(freed, freed + STEP).forEach(LmrHandle::free);
                assertThat(THREADS.getCurrentThreadAllocatedBytes() - before)
                        .as("heap bytes for freeing LMRs from number %d on", freed)
                        .isLessThan(STEP * HEAP_BYTES_EACH_MAX);
            }
            assertThat(node.figures().usage().allocatedBytes()).isEqualTo(rest);
            // The node's background requests, whose number does not depend on the number of LMRs.
            assertThat(directoryCalls.get() - callsBefore).isLessThan(100);
        }
    }
}
