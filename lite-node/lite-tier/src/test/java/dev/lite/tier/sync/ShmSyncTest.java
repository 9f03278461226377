package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.HeldLock;
import dev.lite.api.LtLock;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.tier.testing.TestCluster;
import org.junit.jupiter.api.Test;

/** Locks and barriers over shared memory: their words are mapped. */
class ShmSyncTest extends SyncContract {
    @Override
    FabricProvider provider() {
        return new ShmFabricProvider();
    }

    /** The lock passes on in the word, and its waiter must not wait for the answer to its report. */
    @Test
    void aWaiterGetsTheLockAlthoughItsHomeDoesNotAnswer() {
        TestCluster cluster = cluster(2);
        cluster.attach(0).sync().lock("x").acquire(LONG).close(); // n0 is its home
        SessionLock one = (SessionLock) cluster.attach(1).sync().lock("x");
        LtLock other = cluster.attach(1).sync().lock("x");
        HeldLock first = one.acquire(LONG);
        SyncService service = Inside.field(cluster.node(0), "sync", SyncService.class);
        WordRef word = one.lock().word().ref();
        HomeLock home = Inside.field(service, "homes", HomeWords.class).atLock(word, its -> its);
        HeldLock second;
        synchronized (home) { // as if it were paused
            Task<HeldLock> waits = go(() -> other.acquire(LONG));
            waits.awaitParked();
            first.close();
            second = get(waits);
        }
        assertThat(second.isHeld()).isTrue();
        second.close();
        one.acquire(LONG).close();
    }
}
