package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.cluster.qos.QosPolicy;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A step of a start or an end that fails: what the other steps do then. */
class FailingStepsTest {
    @TempDir(factory = InDevShm.class)
    Path root;

    private TestCluster cluster;

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, new ShmFabricProvider());
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    /** Else its arena, its sockets and its place in the cluster are taken as long as the process lives. */
    @Test
    void aNodeThatCannotFollowItsConfiguredPolicyLeavesNothingThatKeepsTheNextStartFromWorking() {
        QosPolicy lanes = QosPolicy.OFF.withMode(QosPolicy.Mode.HW_SEP);
        LiteNodeConfig config = cluster.config("n0").toBuilder().qos(lanes).build();
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> cluster.start(config))
                .withMessageContaining("HW_SEP");

        LiteNode node = cluster.start("n0");

        assertThat(node.nodes()).hasSize(1);
    }
}
