package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.Lifetime;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.TierHandle;
import dev.lite.tier.TierSession;
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

/** The session that creates an LMR ends when the directory has its name, and before it has the answer. */
class CreatorEndsTest {
    private static final Set<Permission> ALL = EnumSet.allOf(Permission.class);
    private static final String NAME = "shared";

    @TempDir(factory = InDevShm.class)
    Path root;

    private final HeldNews[] directory = new HeldNews[1];
    private TestCluster cluster;
    private LiteNode node;

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, new ShmFabricProvider());
        node = cluster.start(cluster.config("n0"), real -> directory[0] = new HeldNews(real));
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private static LmrSpec spec(Lifetime lifetime) {
        return LmrSpec.of(64)
                .withName(NAME)
                .withDefaultPermissions(Permission.READ, Permission.WRITE)
                .withLifetime(lifetime);
    }

    @Test
    void anLmrThatLivesUntilItIsFreedStaysForThoseWhoMappedItMeanwhile() {
        LmrSpec spec = spec(Lifetime.UNTIL_FREED);
        Lite creator = node.attach("app");
        Lite other = node.attach("app");
        LmrHandle[] mapped = new LmrHandle[1];
        directory[0].afterCreate(NAME, () -> {
            mapped[0] = other.memory().createOrMap(spec, ALL);
            mapped[0].putLong(0, 42);
            creator.close();
        });

        assertThatExceptionOfType(SessionLostException.class)
                .isThrownBy(() -> creator.memory().createOrMap(spec, ALL));

        Waits.pass(Duration.ofMillis(300)); // for a free in the background, which must not come
        assertThat(mapped[0].getLong(0)).isEqualTo(42);
        try (LmrHandle again = other.memory().createOrMap(spec, ALL)) {
            assertThat(again.id()).isEqualTo(mapped[0].id());
            assertThat(again.getLong(0)).isEqualTo(42);
        }
        mapped[0].free();
    }

    @Test
    void anLmrThatWasPreparedWhenItsSessionEndedIsNotPublished() {
        TierSession creator = node.open("app", "test");
        TierHandle prepared = creator.prepare(spec(Lifetime.UNTIL_FREED), Waits.seconds(20));
        creator.close(); // frees it

        assertThatExceptionOfType(SessionLostException.class)
                .isThrownBy(() -> creator.publish(prepared, Waits.seconds(20)));

        assertThatExceptionOfType(LmrNotFoundException.class)
                .isThrownBy(() -> node.attach("app").memory().map(NAME, Permission.READ));
    }

    @Test
    void anLmrThatLivesAsLongAsItsSessionEnds() {
        Lite creator = node.attach("app");
        Lite other = node.attach("app");
        directory[0].afterCreate(NAME, creator::close);

        assertThatExceptionOfType(SessionLostException.class)
                .isThrownBy(() -> creator.memory().malloc(spec(Lifetime.SESSION)));

        Waits.until("the LMR is freed", () -> {
            try (LmrHandle still = other.memory().map(NAME, Permission.READ)) {
                return still == null;
            } catch (LmrNotFoundException freed) {
                return true;
            }
        });
    }
}
