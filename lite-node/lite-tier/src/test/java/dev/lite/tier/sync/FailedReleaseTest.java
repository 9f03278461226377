package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.LtLock;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The end of a session that cannot release one of its locks: for example, there is no memory for that. */
class FailedReleaseTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final List<String> NAMES = List.of("a", "b", "c");

    @TempDir(factory = InDevShm.class)
    Path root;

    private static final class Failing extends HashMap<Long, Hold.Queued> {
        private static final long serialVersionUID = 1L;

        @Override
        public Collection<Hold.Queued> values() {
            throw new StackOverflowError("on purpose");
        }
    }

    /** Else they are held as long as the node lives: it answers that it knows their holder. */
    @Test
    void theOtherLocksAreReleased() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2)) {
            Lite ending = cluster.attach(0);
            for (String name : NAMES) {
                ending.sync().lock(name).acquire(LONG);
            }
            SessionSync session = Inside.field(ending.sync().lock("a"), "session", SessionSync.class);
            UsedNames<?> used = Inside.field(session, "locks", UsedNames.class);
            LockUser first = (LockUser) used.all().iterator().next();
            Inside.set(first.lock(), "claims", new Failing());
            ending.close();

            for (String name : NAMES) {
                if (!name.equals(first.name())) {
                    LtLock lock = cluster.attach(1).sync().lock(name);
                    lock.acquire(LONG).close();
                }
            }
            assertThat(used.size()).isZero();
        }
    }
}
