package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Limits of the grants on an LMR. */
class GrantsTest {
    private static final LmrSpec READABLE = LmrSpec.of(64).withDefaultPermissions(Permission.READ);

    @TempDir(factory = InDevShm.class)
    Path root;

    private TestCluster cluster;
    private LtMemory memory;

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, new ShmFabricProvider()).start(1);
        memory = cluster.attach(0).memory();
    }

    @AfterEach
    void close() {
        cluster.close();
    }

    @Test
    void theGrantsOnAnLmrAreLimitedAndAMasterCanStillRevoke() {
        for (LmrSpec spec : List.of(READABLE, READABLE.withName("x"))) {
            LmrHandle lmr = memory.malloc(spec);
            for (int count = 1; count < 1000; count++) { // the creator has the first one
                lmr.grant("p" + count, Set.of(Permission.WRITE));
            }
            assertThatExceptionOfType(LimitExceededException.class)
                    .isThrownBy(() -> lmr.grant("one-more", Set.of(Permission.WRITE)))
                    .withMessageContaining("has grants for 1000 principals; the limit is 1000");
            lmr.grant("p1", Set.of(Permission.READ, Permission.WRITE));
            lmr.grant("p1", Set.of());
            lmr.grant("stranger", Set.of());
            for (int count = 1; count < 3; count++) { // those that have what they had by default do not count
                lmr.grant("p" + count, Set.of(Permission.READ));
            }
            lmr.grant("one-more", Set.of(Permission.WRITE));
            lmr.free();
        }
    }

    @Test
    void theRecordOfAnAnonymousLmrDoesNotGrowBeyondWhatOtherNodesRead() {
        LmrHandle lmr = memory.malloc(READABLE);
        String end = "p".repeat(LmrSpec.NAME_BYTES_MAX - 4);
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> {
                    for (int count = 1000; count < 3000; count++) {
                        lmr.grant(count + end, Set.of());
                    }
                })
                .withMessageContaining("principals have grants; the limit is 524288");
        lmr.grant(1000 + end, Set.of(Permission.READ));
        lmr.grant("stranger", Set.of());
        lmr.free();
    }
}
