package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How code in a node's JVM learns of the end of its session. */
class EmbeddedSessionTest {
    private static final Duration LONG = Waits.seconds(20);

    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void aSessionWhoseNodeHasStoppedIsNotOpenAndHasEnded() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider())) {
            Lite lite = cluster.start("n0").attach("app");
            assertThat(lite.isOpen()).isTrue();
            assertThat(lite.ended().toCompletableFuture()).isNotDone();

            cluster.stop("n0");

            assertThat(lite.isOpen()).isFalse();
            assertThat(lite.ended().toCompletableFuture()).succeedsWithin(LONG).isEqualTo("its node stopped");
        }
    }

    @Test
    void aSessionThatWasClosedSaysSo() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider())) {
            Lite lite = cluster.start("n0").attach("app");
            lite.close();
            cluster.stop("n0");
            assertThat(lite.ended().toCompletableFuture()).succeedsWithin(LONG).isEqualTo("this application closed it");
        }
    }
}
