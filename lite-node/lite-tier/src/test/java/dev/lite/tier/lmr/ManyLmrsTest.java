package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import dev.lite.tier.testing.Waits;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ManyLmrsTest {
    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void aHundredThousandSmallLmrsAreMadeAndFreedInBoundedTime() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider())) {
            LiteNodeConfig config = cluster.config("n0");
            LiteNode node = cluster.start(config.toBuilder()
                    .limits(new LiteNodeConfig.Limits(1 << 20, 1 << 20, 110_000, 8))
                    .build());
            long rest = node.usage().allocatedBytes();
            Lite lite = node.attach("app");
            List<LmrHandle> handles = new ArrayList<>();
            long begin = System.nanoTime();
            for (int count = 0; count < 100_000; count++) {
                LmrHandle handle = lite.memory().malloc(LmrSpec.of(64));
                handle.fetchAdd(0, count);
                handles.add(handle);
            }
            assertThat(node.usage().extents()).isGreaterThanOrEqualTo(100_000);
            for (int count = 0; count < 100_000; count += 5_000) {
                assertThat(handles.get(count).fetchAdd(0, 0)).isEqualTo(count);
            }
            handles.forEach(LmrHandle::free);
            assertThat(node.usage().allocatedBytes()).isEqualTo(rest);
            assertThat(System.nanoTime() - begin).isLessThan(Waits.seconds(20).toNanos());
        }
    }
}
