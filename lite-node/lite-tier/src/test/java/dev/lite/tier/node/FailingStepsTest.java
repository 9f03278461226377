package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.HeldLock;
import dev.lite.api.Lifetime;
import dev.lite.api.Lite;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Priority;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.qos.QosChange;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.cluster.qos.QosRecord;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.FairShares;
import dev.lite.tier.NameRules;
import dev.lite.tier.TierRpc;
import dev.lite.tier.lmr.LmrServices;
import dev.lite.tier.sync.SyncService;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A step of a start or an end that fails: what the other steps do then. */
class FailingStepsTest {
    private static final Duration LONG = Waits.seconds(20);

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

    @Test
    void aSessionReleasesEverythingAlthoughAStepOfItsEndFails() {
        LiteNode node = cluster.start("n0");
        FairShares places = new FairShares(8);
        TierRpc failing = (TierRpc) Proxy.newProxyInstance(
                TierRpc.class.getClassLoader(), new Class<?>[] {TierRpc.class}, (proxy, method, arguments) -> {
                    throw new IllegalStateException("on purpose");
                });
        PrincipalSession session = new PrincipalSession(
                node,
                Inside.field(node, "lmrs", LmrServices.class),
                failing,
                Inside.field(node, "sync", SyncService.class),
                "app",
                node.qos().open("app", Priority.HIGH),
                NameRules.ALL,
                16,
                places.share("app"),
                LONG);
        assertThat(session.malloc(LmrSpec.of(64).withName("n").withLifetime(Lifetime.SESSION), LONG))
                .isNotNull();
        assertThat(session.sync().lock("l").acquire(LONG)).isNotNull();

        session.close();

        assertThat(places.taken()).isZero();
        try (Lite other = node.attach("app");
                HeldLock held = other.sync().lock("l").acquire(LONG)) {
            assertThat(held.isHeld()).isTrue();
            Waits.until("its LMR is freed", () -> {
                try {
                    other.memory().map("n", Permission.READ).unmap();
                    return false;
                } catch (LmrNotFoundException freed) {
                    return true;
                }
            });
        }
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

    @Test
    void aNodeFollowsLaterPoliciesAlthoughAnErrorMetItOnce() {
        LiteNode node = cluster.start("n0");
        ClusterDirectory directory = cluster.directory(0);
        AtomicInteger errors = new AtomicInteger(1);
        ClusterDirectory failing = (ClusterDirectory) Proxy.newProxyInstance(
                ClusterDirectory.class.getClassLoader(),
                new Class<?>[] {ClusterDirectory.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("read") && errors.getAndDecrement() > 0) {
                        throw new StackOverflowError("on purpose");
                    }
                    try {
                        return method.invoke(directory, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        try (QosFollower follower = new QosFollower(failing, node.qos(), LONG)) {
            follower.start();
            Waits.until("the error met it", () -> errors.get() <= 0);
            QosRecord.Revision changed = new QosRecord(directory).change(QosChange.ofMode("SW_PRI"), LONG);
            Waits.until("the policy is followed", () -> follower.revision() == changed.revision());
        }
    }
}
