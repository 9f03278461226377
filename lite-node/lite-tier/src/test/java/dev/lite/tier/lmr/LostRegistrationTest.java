package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.TierHandle;
import dev.lite.tier.TierSession;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.HeldNews;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Handles of a node while its registration is lost: none is usable, whatever happens to it. */
class LostRegistrationTest {
    @TempDir(factory = InDevShm.class)
    Path root;

    private TestCluster cluster;
    private LiteNode node;
    private HeldNews news;
    private Lite app;

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, new TcpFabricProvider(), Waits.seconds(10)).start(1);
        HeldNews.Started started = HeldNews.start(cluster, cluster.withDeadline("n1", Waits.seconds(1)));
        node = started.node();
        news = started.news();
        cluster.awaitConnections();
        app = node.attach("app");
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private static LmrSpec local() {
        return LmrSpec.of(4096).withPlacement(Placement.local());
    }

    /** The node's session expires. It is registered again and does not know it. */
    private void lose() {
        long before = node.self().incarnation();
        news.holdRegistrations();
        cluster.directory(1).expireSession();
        Waits.until(
                "the handles are given up",
                () -> cluster.directory(0).nodesNow(Waits.seconds(5)).stream()
                        .anyMatch(record -> record.id() == 1 && record.incarnation() > before));
    }

    private void rejoin() {
        news.release();
        cluster.awaitConnections();
    }

    @Test
    void aGrantWaitsAndDoesNotResumeThem() {
        LmrHandle own = app.memory().malloc(local());
        lose();

        assertThatThrownBy(() -> own.grant("other", Set.of(Permission.READ))).isInstanceOf(LiteTimeoutException.class);

        assertThatThrownBy(() -> own.write(0, new byte[8])).isInstanceOf(LiteTimeoutException.class);
        rejoin();
        own.write(0, new byte[8]);
        own.grant("other", Set.of(Permission.READ));
        Lite other = node.attach("other");
        assertThat(other.memory().map(own.id(), Permission.READ)).isNotNull();
    }

    @Test
    void aHandleMadeMeanwhileIsNotUsableEither() {
        LmrHandle own = app.memory().malloc(local().withName("own"));
        own.fetchAdd(0, 1);
        lose();

        LmrHandle mapped = app.memory().map("own", Permission.ATOMIC);

        assertThatThrownBy(() -> mapped.fetchAdd(0, 1)).isInstanceOf(LiteTimeoutException.class);
        rejoin();
        assertThat(mapped.fetchAdd(0, 1)).isOne();
    }

    /** Malloc stands between its two steps, so the directory does not know the LMR yet. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aHandleThatIsPublishedAfterwardsIsUsable(boolean named) {
        Duration deadline = Waits.seconds(10);
        try (TierSession session = node.open("app", "test")) {
            LmrSpec spec = named ? local().withName("late") : local();
            TierHandle handle = session.prepare(spec, deadline);
            lose();
            rejoin();
            Waits.until("the handles are resumed", () -> isUsable(handle));

            session.publish(handle, deadline);

            assertThat(isUsable(handle)).isTrue();
            handle.free(deadline);
        }
    }

    /** Else it could be neither revoked nor freed, while its memory is given to others. */
    @Test
    void aHandleOfNewMemoryIsKnownHoweverOftenTheRegistrationIsLostMeanwhile() {
        MappingTable table = Inside.field(node, "lmrs", LmrServices.class).mappings();
        AtomicBoolean over = new AtomicBoolean();
        Thread losing = Thread.ofPlatform().start(() -> {
            while (!over.get()) {
                table.changeAll();
            }
        });
        try (TierSession session = node.open("app", "test")) {
            for (int i = 0; i < 500; i++) {
                TierHandle handle = session.prepare(local(), Waits.seconds(10));
                assertThat(table.find(known -> known == handle)).hasSize(1);
                session.publish(handle, Waits.seconds(10));
                handle.free(Waits.seconds(10));
            }
        } finally {
            over.set(true);
            Waits.join(losing);
        }
    }

    private static boolean isUsable(TierHandle handle) {
        try {
            long unused = handle.fetchAdd(0, 1, Waits.seconds(1).toNanos());
            return true;
        } catch (LiteTimeoutException paused) {
            return false;
        }
    }
}
