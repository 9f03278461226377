package dev.lite.helm;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an operator reads after the installation. */
class ChartNotesTest {
    @TempDir
    Path temporary;

    @Test
    void theNotesSayHowToAttachWhereToLookAndWhatStays() {
        assertThat(Chart.notes("orders", "plain", temporary))
                .contains("cluster shop.orders, a node on each host.")
                .contains("hostPath: {path: /run/lite/shop/orders, type: DirectoryOrCreate}")
                .contains("supplementalGroups: [10001]")
                .contains("-Dlite.client.node-uid=10001")
                .contains("keys cluster-secret, manager-token, node-token, zookeeper-password")
                .contains("/dev/shm/lite/shop/orders; the second one keeps 1Gi")
                .contains("Without tls.mode")
                .contains("The event FailedPreStopHook")
                .doesNotContain("kubectl delete pvc")
                .doesNotContain("Insufficient");
    }

    @Test
    void theNotesWarnOfWhatTheValuesImply() {
        assertThat(Chart.notes("lite", "rdma", temporary))
                .contains("\"Insufficient rdma/hca_shared_devices_b\"")
                .contains("another release uses the ports 7410 and 7411")
                .contains("NetworkPolicies do not filter RDMA")
                .doesNotContain("node-uid");
    }

    @Test
    void theNotesOfABundledZooKeeperNameItsVolumes() {
        assertThat(Chart.notes("lite", "bundled", temporary))
                .contains("data-lite-zookeeper-0 to -2")
                .contains("kubectl delete pvc --selector app.kubernetes.io/instance=lite");
    }
}
