package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.HeldLock;
import dev.lite.api.LiteException;
import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtLock;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Seeds;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Locks and barriers over the simulated network: their words are accessed by posts. */
class SimulatedSyncTest extends SyncContract {
    @TempDir(factory = InDevShm.class)
    Path stressed;

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));

    @Override
    FabricProvider provider() {
        return network.provider();
    }

    @Test
    void acquiringALockWithASilentHomeEndsAtTheDeadline() {
        TestCluster cluster = cluster(2);
        cluster.attach(0).sync().lock("x").acquire(LONG).close();
        LtLock lock = cluster.attach(1).sync().lock("x");
        network.pause("n1");
        long startNs = System.nanoTime();
        assertThatExceptionOfType(LiteTimeoutException.class).isThrownBy(() -> lock.acquire(Waits.seconds(0.3)));
        assertThat(System.nanoTime() - startNs)
                .isBetween(Waits.seconds(0.29).toNanos(), Waits.seconds(3).toNanos());
        network.resume("n1");
        lock.acquire(LONG).close(); // if a ticket was drawn after all, it is skipped
    }

    @Test
    void aTicketThatIsDrawnWhileItsNodeLosesItsHoldsIsHeldWhenItsTurnComes() {
        TestCluster cluster = cluster(2);
        HeldLock first = cluster.attach(0).sync().lock("x").acquire(LONG); // n0 is its home
        LtLock other = cluster.attach(1).sync().lock("x");
        NodeLock lock = ((SessionLock) other).lock();
        network.pause("n1");
        long before = atomics(cluster.node(1));
        Task<HeldLock> waits = go(() -> other.acquire(LONG));
        Waits.until("its draw is under way", () -> atomics(cluster.node(1)) > before);
        lock.lose();
        network.resume("n1");
        waits.awaitParkedAt(NodeLock.class);
        first.close();
        HeldLock second = get(waits);
        assertThat(second.isHeld()).isTrue();
        second.close();
    }

    @Test
    void aTryThatDrawsWhileItsNodeLosesItsHoldsTakesNoLockThatIsLost() {
        TestCluster cluster = cluster(2);
        cluster.attach(0).sync().lock("x").acquire(LONG).close(); // n0 is its home
        LtLock lock = cluster.attach(1).sync().lock("x");
        lock.tryAcquire().orElseThrow().close(); // knows the word's value
        network.pause("n1");
        long before = atomics(cluster.node(1));
        Task<Optional<HeldLock>> tries = go(lock::tryAcquire);
        Waits.until("its draw is under way", () -> atomics(cluster.node(1)) > before);
        ((SessionLock) lock).lock().lose();
        network.resume("n1");

        assertThat(get(tries)).isEmpty();
        try (HeldLock held = lock.acquire(LONG)) {
            assertThat(held.isHeld()).isTrue();
        }
    }

    private static long atomics(LiteNode node) {
        return node.figures().transfers().values().stream()
                .mapToLong(kinds ->
                        kinds.getOrDefault(Kind.ATOMIC, new Count(0, 0)).operations())
                .sum();
    }

    @Test
    void aTicketWhoseDrawTimedOutDoesNotKeepTheLockFromTries() {
        TestCluster cluster = cluster(2);
        LtLock tried = cluster.attach(0).sync().lock("x");
        LtLock drawn = cluster.attach(1).sync().lock("x");
        network.pause("n1");
        assertThatExceptionOfType(LiteTimeoutException.class).isThrownBy(() -> drawn.acquire(Waits.seconds(0.3)));
        network.resume("n1");

        for (LtLock lock : List.of(tried, drawn)) {
            Waits.until("a try acquires it", () -> {
                Optional<HeldLock> held = lock.tryAcquire();
                held.ifPresent(HeldLock::close);
                return held.isPresent();
            });
        }
    }

    /**
     * Connections break at any time, so draws, waits, turns and releases are lost or delayed. The lock must never have two holders, its
     * tokens must grow, and no thread may wait forever.
     */
    @Test
    void brokenConnectionsNeitherBreakMutualExclusionNorForgetAWaiter() {
        Seeds.forEach(3, random -> {
            long seed = random.nextLong();
            SimulatedNetwork rough = new SimulatedNetwork(SimulatedOptions.seeded(seed));
            Path directory = stressed.resolve(Long.toHexString(seed));
            try (TestCluster cluster = new TestCluster(directory, rough.provider())) {
                cluster.start(3);
                AtomicInteger inside = new AtomicInteger();
                AtomicLong lastToken = new AtomicLong();
                AtomicInteger acquired = new AtomicInteger();
                AtomicBoolean stop = new AtomicBoolean();
                List<FutureTask<Integer>> tasks = new ArrayList<>();
                for (int index = 0; index < 9; index++) {
                    LtLock lock = cluster.attach(index % 3).sync().lock("x");
                    boolean shortDeadline = index % 4 == 3;
                    tasks.add(go(() -> {
                        int mine = 0;
                        while (!stop.get()) {
                            try (HeldLock held = lock.acquire(shortDeadline ? Waits.seconds(0.02) : LONG)) {
                                assertThat(inside.incrementAndGet()).isEqualTo(1);
                                assertThat(held.fencingToken()).isGreaterThan(lastToken.getAndSet(held.fencingToken()));
                                inside.decrementAndGet();
                                mine++;
                                acquired.incrementAndGet();
                            } catch (LiteException e) {
                                // a break, or the deadline
                            }
                        }
                        return mine;
                    }));
                }
                for (int breaks = 0; breaks < 12; breaks++) {
                    Waits.pass(java.time.Duration.ofMillis(10 + random.nextInt(100)));
                    int one = random.nextInt(3);
                    rough.drop("n" + one, "n" + (one + 1) % 3);
                }
                cluster.awaitConnections();
                int before = acquired.get();
                Waits.until("the threads continue: " + rough, () -> acquired.get() > before + 20);
                stop.set(true);
                tasks.forEach(SyncContract::get);
            }
        });
    }
}
