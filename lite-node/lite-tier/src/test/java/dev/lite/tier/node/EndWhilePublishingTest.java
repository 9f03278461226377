package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.HeldLock;
import dev.lite.api.LiteException;
import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.TierHandle;
import dev.lite.tier.TierSession;
import dev.lite.tier.testing.HeldNews;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a session counts and keeps for its LMRs, until they end by itself or by others. */
class EndWhilePublishingTest {
    private static final Duration LONG = Waits.seconds(20);

    @TempDir(factory = InDevShm.class)
    Path root;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));
    private final HeldNews[] directory = new HeldNews[1];
    private TestCluster cluster;
    private LiteNode node;

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, network.provider());
        node = cluster.start(cluster.config("n0"), real -> directory[0] = new HeldNews(real));
        cluster.start("n1");
        cluster.awaitConnections();
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private static boolean hasEnded(TierHandle handle) {
        try {
            return handle.getLong(0) < 0;
        } catch (LiteException ended) {
            return true;
        }
    }

    private long reads() {
        return node.figures().transfers().values().stream()
                .mapToLong(counts ->
                        counts.getOrDefault(Kind.READ, new Count(0, 0)).operations())
                .sum();
    }

    /** An exception in the middle of the end would keep the locks of the session held for ever, and its memory. */
    @Test
    void aSessionThatEndsWhileItPublishesAnLmrInVainReleasesItsLocks() {
        TierSession session = node.open("app", "test");
        HeldLock held = session.sync().lock("l", LONG).acquire(LONG);
        TierHandle far = session.malloc(LmrSpec.of(64).withPlacement(Placement.on("n1")), LONG);
        TierHandle made = session.prepare(LmrSpec.of(64).withName("x"), LONG);
        long before = reads();
        network.pause("n0");
        Thread reading =
                Thread.ofPlatform().start(() -> assertThat(hasEnded(far)).isFalse());
        Waits.until("it reads", () -> reads() > before);
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        AtomicReference<@Nullable Thread> closing = new AtomicReference<>();
        directory[0].afterCreate("x", () -> {
            closing.set(Thread.ofPlatform().start(() -> {
                try {
                    session.close();
                } catch (RuntimeException | Error e) {
                    failure.set(e);
                }
            }));
            Waits.until("its handles have ended", () -> hasEnded(made));
            throw new ClusterUnavailableException("no answer");
        });

        assertThatExceptionOfType(ClusterUnavailableException.class).isThrownBy(() -> session.publish(made, LONG));

        network.resume("n0"); // now the read ends, and the session
        Thread closer = closing.get();
        assertThat(closer).isNotNull();
        if (closer != null) {
            Waits.join(closer);
        }
        Waits.join(reading);
        assertThat(failure.get()).isNull();
        Waits.until("its handles are released, perhaps after its close", () -> session.handles() == 0);
        assertThat(held).isNotNull();
        node.attach("other").sync().lock("l").acquire(LONG).close();
    }

    /** One application makes LMRs and sends their ids, another one frees them. */
    @Test
    void aSessionForgetsItsLmrsThatOthersHaveFreed() {
        try (TierSession creator = node.open("app", "test");
                TierSession consumer = node.open("app", "test")) {
            for (int made = 0; made < 5_000; made++) {
                long id = creator.malloc(LmrSpec.of(64), LONG).id();
                consumer.map(id, Set.of(Permission.MASTER), LONG).free(LONG);
            }
            assertThat(Inside.field(creator, "ofSession", Map.class).size()).isLessThan(2_000);
        }
    }
}
