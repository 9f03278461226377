package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.HeldLock;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSync;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.Effort;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A session that needs more locks and barriers than it may use at a time gives idle ones up, and opens them again. */
class GivenUpNamesTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final int NAMES_MAX = 4;
    private static final int ALL = 20;

    @TempDir(factory = InDevShm.class)
    Path root;

    private final List<TierSync> sessions = new ArrayList<>();
    private final List<TestCluster> clusters = new ArrayList<>();

    private TestCluster start(boolean mapped, int nodes) {
        FabricProvider provider = mapped
                ? new ShmFabricProvider()
                : new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())))
                        .provider();
        TestCluster cluster = new TestCluster(root, provider);
        clusters.add(cluster);
        return cluster.start(nodes);
    }

    private TierSync session(LiteNode node) {
        return session(node, NAMES_MAX);
    }

    private TierSync session(LiteNode node, int namesMax) {
        TierSync made = FewNames.session(node, namesMax);
        sessions.add(made);
        return made;
    }

    @AfterEach
    void stop() {
        sessions.forEach(FewNames::close);
        clusters.forEach(TestCluster::close);
    }

    /** The names that a node's sessions use. */
    private static int used(LiteNode node, String kind) {
        return Inside.field(Inside.field(node, "sync", SyncService.class), kind, Names.class)
                .size();
    }

    /** @param mapped whether the words, which lie at another node, are mapped here */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aSessionUsesMoreLocksThanItsLimitOneAfterTheOther(boolean mapped) {
        TestCluster nodes = start(mapped, 2);
        TierSync home = session(nodes.node(1));
        TierSync sync = session(nodes.node(0));
        HeldLock kept = sync.lock("kept").acquire(LONG);
        LtLock[] locks = new LtLock[ALL];
        long[] tokens = new long[ALL];
        for (int round = 0; round < 3; round++) {
            for (int name = 0; name < ALL; name++) {
                if (round == 0) {
                    home.lock("n" + name).acquire(LONG).close(); // its word lies there
                    locks[name] = sync.lock("n" + name);
                }
                // The object from the first round, or another one; both ways to acquire it.
                LtLock lock = round == 2 ? sync.lock("n" + name) : locks[name];
                Optional<HeldLock> tried = name % 2 == 0 ? lock.tryAcquire() : Optional.of(lock.acquire(LONG));
                HeldLock held = tried.orElseThrow();
                assertThat(held.isHeld()).isTrue();
                assertThat(held.fencingToken()).isGreaterThan(tokens[name]);
                tokens[name] = held.fencingToken();
                assertThat(sync.held()).contains("kept", "n" + name);
                held.close();
                assertThat(held.isHeld()).isFalse();
                assertThat(sync.held()).containsExactly("kept");
                assertThat(used(nodes.node(0), "locks")).isLessThanOrEqualTo(NAMES_MAX);
            }
        }
        assertThat(kept.isHeld()).isTrue();
        assertThat(home.lock("kept").tryAcquire()).isEmpty();
        kept.close();
        home.lock("kept").tryAcquire().orElseThrow().close();
    }

    @Test
    void locksThatAreHeldOrWaitedForAreNotGivenUp() {
        TestCluster nodes = start(true, 1);
        TierSync other = session(nodes.node(0));
        HeldLock taken = other.lock("taken").acquire(LONG);
        TierSync sync = session(nodes.node(0));
        List<HeldLock> held = new ArrayList<>();
        for (int name = 0; name < NAMES_MAX - 1; name++) {
            LtLock lock = sync.lock("n" + name);
            held.add(name == 0 ? lock.acquire(LONG) : lock.tryAcquire().orElseThrow());
        }
        CompletableFuture<HeldLock> waits = new CompletableFuture<>();
        LtLock awaited = sync.lock("taken");
        Thread waiter = Thread.ofPlatform().start(() -> waits.complete(awaited.acquire(LONG)));
        Waits.until("it waits", () -> nodes.node(0).figures().syncStats().waits() == 1);

        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> sync.lock("one more"))
                .withMessageContaining("uses 4 locks or barriers; the limit is 4");
        assertThat(held).allMatch(HeldLock::isHeld);
        taken.close();
        HeldLock got = waits.join();
        Waits.join(waiter);
        assertThat(got.isHeld()).isTrue();
        held.removeLast().close();
        sync.lock("one more").acquire(LONG).close();
        held.forEach(HeldLock::close);
        got.close();
    }

    @Test
    void aSessionUsesMoreBarriersThanItsLimitOneAfterTheOther() {
        TestCluster nodes = start(true, 1);
        TierSync sync = session(nodes.node(0));
        LtBarrier[] barriers = new LtBarrier[ALL];
        for (int round = 0; round < 3; round++) {
            for (int name = 0; name < ALL; name++) {
                if (round == 0) {
                    barriers[name] = sync.barrier("n" + name, 1);
                }
                assertThat(barriers[name].await(LONG)).isEqualTo(round);
                assertThat(used(nodes.node(0), "barriers")).isLessThanOrEqualTo(NAMES_MAX);
            }
        }
    }

    @Test
    void threadsThatLockRandomNamesOfALargerSetNeverHoldOneTogether() {
        TestCluster nodes = start(true, 2);
        int threadsOfEach = 3; // each uses one name at a time
        // A session gives up no lock that another session of its node uses: one that needs room finds five others in
        // use, at most.
        int namesMax = 2 * threadsOfEach;
        TierSync[] syncs = {
            session(nodes.node(0), namesMax), session(nodes.node(0), namesMax), session(nodes.node(1), namesMax)
        };
        int[] counters = new int[8]; // plain: only the locks order the changes
        int rounds = Effort.times(1_500);
        List<CompletableFuture<Integer>> tasks = new ArrayList<>();
        try (var threads = Executors.newCachedThreadPool()) {
            for (int index = 0; index < syncs.length * threadsOfEach; index++) {
                TierSync sync = syncs[index % syncs.length];
                SplittableRandom random = new SplittableRandom(index);
                tasks.add(CompletableFuture.supplyAsync(() -> changes(sync, random, counters, rounds), threads));
            }
            int sum = 0;
            for (CompletableFuture<Integer> task : tasks) {
                sum += task.orTimeout(3 * LONG.toNanos(), TimeUnit.NANOSECONDS).join();
            }
            int counted = 0;
            for (int count : counters) {
                counted += count;
            }
            assertThat(sum).isPositive();
            assertThat(counted).isEqualTo(sum);
        }
    }

    private static int changes(TierSync sync, SplittableRandom random, int[] counters, int rounds) {
        LtLock[] known = new LtLock[counters.length];
        int changes = 0;
        for (int round = 0; round < rounds; round++) {
            int name = random.nextInt(counters.length);
            LtLock lock = known[name];
            if (lock == null || random.nextInt(4) == 0) {
                lock = sync.lock("c" + name);
                known[name] = lock;
            }
            Optional<HeldLock> held = random.nextBoolean() ? Optional.of(lock.acquire(LONG)) : lock.tryAcquire();
            if (held.isPresent()) {
                counters[name]++;
                changes++;
                held.get().close();
            }
        }
        return changes;
    }
}
