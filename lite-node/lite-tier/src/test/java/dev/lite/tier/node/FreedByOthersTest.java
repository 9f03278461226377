package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lifetime;
import dev.lite.api.Lite;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSession;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A session that makes named LMRs for others, which free them. */
class FreedByOthersTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final int COUNT = 3000;

    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void theNodeForgetsNamedLmrsThatOthersFreedAndFreesTheOthersAtTheEndOfTheSession() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(1)) {
            LiteNode node = cluster.node(0);
            Lite other = node.attach("app");
            TierSession maker = node.open("app", "test");
            make(maker, "kept");
            for (int i = 0; i < COUNT; i++) {
                make(maker, "n" + i);
                other.memory().map("n" + i, Permission.MASTER).free();
            }
            assertThat(Inside.field(maker, "namesOfSession", Map.class).size()).isLessThan(COUNT / 2);
            assertThat(Inside.field(maker, "ofSession", Map.class).size()).isLessThan(COUNT / 2);
            other.memory().map("kept", Permission.READ).unmap();

            maker.close();
            Waits.until("the LMR of the session is freed", () -> isFree(other));
        }
    }

    @Test
    void theHandlesOfOthersOnAnLmrOfASessionThatEndedDoNotBlameAMaster() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(1)) {
            LiteNode node = cluster.node(0);
            TierSession maker = node.open("app", "test");
            make(maker, "kept");
            LmrHandle others = node.attach("app").memory().map("kept", Permission.READ);
            maker.close();
            AtomicReference<String> message = new AtomicReference<>("");
            Waits.until("it is freed", () -> {
                try {
                    others.read(0, MemorySegment.ofArray(new byte[8]));
                    return false;
                } catch (LmrFreedException freed) {
                    message.set(String.valueOf(freed.getMessage()));
                    return true;
                }
            });
            assertThat(message.get()).endsWith("freed by a master, or because its creator ended");
        }
    }

    private static void make(TierSession maker, String name) {
        maker.malloc(LmrSpec.of(8).withName(name).withLifetime(Lifetime.SESSION), LONG)
                .unmap(LONG);
    }

    private static boolean isFree(Lite other) {
        try {
            other.memory().map("kept", Permission.READ).unmap();
            return false;
        } catch (LmrNotFoundException freed) {
            return true;
        }
    }
}
