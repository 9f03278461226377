package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.Lifetime;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.HeldNews;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The creator of an LMR does not learn whether the directory has its name. */
class UnansweredCreateTest {
    private static final Set<Permission> ALL = EnumSet.allOf(Permission.class);
    private static final String NAME = "shared";
    private static final LmrSpec SPEC = LmrSpec.of(1 << 20)
            .withName(NAME)
            .withDefaultPermissions(Permission.READ, Permission.WRITE)
            .withLifetime(Lifetime.UNTIL_FREED);

    @TempDir(factory = InDevShm.class)
    Path root;

    private final HeldNews[] directory = new HeldNews[1];
    private TestCluster cluster;
    private LiteNode node;
    private Lite creator;
    private Lite other;

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, new ShmFabricProvider());
        node = cluster.start(cluster.config("n0"), real -> directory[0] = new HeldNews(real));
        creator = node.attach("app");
        other = node.attach("app");
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private void loseTheAnswer(Runnable before) {
        directory[0].afterCreate(NAME, () -> {
            before.run();
            throw new ClusterUnavailableException("no answer");
        });
    }

    @Test
    void anLmrToShareStaysForThoseWhoMappedItMeanwhile() {
        LmrHandle[] mapped = new LmrHandle[1];
        loseTheAnswer(() -> {
            mapped[0] = other.memory().createOrMap(SPEC, ALL);
            mapped[0].putLong(0, 42);
        });

        assertThatExceptionOfType(ClusterUnavailableException.class)
                .isThrownBy(() -> creator.memory().createOrMap(SPEC, ALL));

        Waits.pass(Duration.ofMillis(300)); // for a free in the background, which must not come
        assertThat(mapped[0].getLong(0)).isEqualTo(42);
        try (LmrHandle again = creator.memory().createOrMap(SPEC, ALL)) {
            assertThat(again.id()).isEqualTo(mapped[0].id());
            assertThat(again.getLong(0)).isEqualTo(42);
        }
        mapped[0].free();
    }

    @Test
    void theMemoryOfAnLmrToShareIsFreedIfTheDirectoryDoesNotHaveIt() {
        long before = node.figures().usage().allocatedBytes();
        directory[0].refuseChangesOf(NAME);

        assertThatExceptionOfType(ClusterUnavailableException.class)
                .isThrownBy(() -> creator.memory().createOrMap(SPEC, ALL));

        Waits.until("its memory is free", () -> node.figures().usage().allocatedBytes() <= before);
    }

    @Test
    void anLmrThatIsTheCreatorsAloneIsFreed() {
        loseTheAnswer(() -> {});

        assertThatExceptionOfType(ClusterUnavailableException.class)
                .isThrownBy(() -> creator.memory().malloc(SPEC));

        Waits.until("the LMR is freed", () -> {
            try (LmrHandle still = other.memory().map(NAME, Permission.READ)) {
                return still == null;
            } catch (LmrNotFoundException freed) {
                return true;
            }
        });
    }
}
