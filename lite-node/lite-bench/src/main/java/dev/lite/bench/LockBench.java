package dev.lite.bench;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtLock;
import dev.lite.api.Placement;
import dev.lite.bench.load.Asynchronous;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.os.waiting.Polling;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.sync.SyncStats;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Locks with embedded callers (paper §7.2):
 *
 * <ul>
 *   <li>{@code uncontended}: acquire and release of a lock whose word is on another node of this host, compared with one
 *       fetch-add on such a word through a handle;
 *   <li>{@code uncontended-vs-two-atomics}: the same, compared with the fetch-add and the compare-and-set that it consists
 *       of;
 *   <li>{@code acquire} and {@code release}: each alone, on {@value #LOCKS} locks in turn, compared with one fetch-add on
 *       each of as many words;
 *   <li>{@code contended-N}: N threads on three nodes that always want the lock, in nanoseconds per hand-over, compared
 *       with as many threads on a fair {@link ReentrantLock} in one JVM, which crosses no node.
 * </ul>
 */
final class LockBench implements BenchMain.Benchmark {
    private static final int NODES = 3;
    private static final long ARENA_BYTES = 64L << 20;
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final int ROUNDS = 5;
    private static final Duration ROUND = Duration.ofMillis(400);
    private static final int LOCKS = 256;
    private static final int PASSES = 20_000;

    /** The critical section of the contended cases. */
    interface Critical {
        void run(Runnable inside);
    }

    @Override
    public void run(BenchReport report) {
        Path root = BenchNodes.makeTemporary(Path.of("/dev/shm"));
        Path sockets = BenchNodes.makeTemporary(Path.of(System.getProperty("java.io.tmpdir")));
        List<LiteNode> nodes = new ArrayList<>();
        InMemoryDirectory.Store store = new InMemoryDirectory.Store();
        try {
            for (int index = 0; index < NODES; index++) {
                LiteNodeConfig config = LiteNodeConfig.builder(
                                "bench", "node-" + index, ARENA_BYTES, sockets.resolve("n" + index))
                        .arena(root, false)
                        .build();
                nodes.add(LiteNode.start(config, store.open(), List.of(new ShmFabricProvider())));
            }
            uncontended(report, nodes);
            acquireAndRelease(report, nodes);
            for (int threads : new int[] {2, 4, 8, 16}) {
                contended(report, nodes, threads);
            }
        } finally {
            nodes.forEach(LiteNode::close);
            BenchNodes.delete(root);
            BenchNodes.delete(sockets);
        }
    }

    private static void uncontended(BenchReport report, List<LiteNode> nodes) {
        try (Lite home = nodes.get(1).attach("bench");
                Lite lite = nodes.get(0).attach("bench");
                LmrHandle word = lite.memory().malloc(LmrSpec.of(Long.BYTES).withPlacement(Placement.on("node-1")))) {
            home.sync().lock("uncontended").acquire(TIMEOUT).close();
            LtLock lock = lite.sync().lock("uncontended");
            Comparison.Result atomics = Comparison.measure(
                    n -> {
                        for (int i = 0; i < n; i++) {
                            lock.acquire(TIMEOUT).close();
                        }
                    },
                    n -> {
                        for (int i = 0; i < n; i++) {
                            long before = word.fetchAdd(0, 1);
                            word.testSet(0, before + 1, before);
                        }
                    });
            report.add("uncontended-vs-two-atomics", Long.BYTES, "ns", atomics.oursNs(), atomics.rawNs());
            Comparison.Result result = Comparison.measure(
                    n -> {
                        for (int i = 0; i < n; i++) {
                            lock.acquire(TIMEOUT).close();
                        }
                    },
                    n -> {
                        for (int i = 0; i < n; i++) {
                            word.fetchAdd(0, 1);
                        }
                    });
            report.add("uncontended", Long.BYTES, "ns", result.oursNs(), result.rawNs());
        }
    }

    private static void acquireAndRelease(BenchReport report, List<LiteNode> nodes) {
        try (Lite home = nodes.get(1).attach("bench");
                Lite lite = nodes.get(0).attach("bench")) {
            LtLock[] locks = new LtLock[LOCKS];
            LmrHandle[] words = new LmrHandle[LOCKS];
            for (int index = 0; index < LOCKS; index++) {
                String name = "uncontended-" + index;
                home.sync().lock(name).acquire(TIMEOUT).close();
                locks[index] = lite.sync().lock(name);
                words[index] = lite.memory().malloc(LmrSpec.of(Long.BYTES).withPlacement(Placement.on("node-1")));
            }
            double[] acquireNs = new double[PASSES];
            double[] releaseNs = new double[PASSES];
            double[] addNs = new double[PASSES];
            HeldLock[] held = new HeldLock[LOCKS];
            for (int pass = 0; pass < PASSES; pass++) {
                long beginNs = System.nanoTime();
                addToAll(words);
                long addedNs = System.nanoTime();
                acquireAll(locks, held);
                long acquiredNs = System.nanoTime();
                releaseAll(held);
                releaseNs[pass] = (System.nanoTime() - acquiredNs) / (double) LOCKS;
                acquireNs[pass] = (acquiredNs - addedNs) / (double) LOCKS;
                addNs[pass] = (addedNs - beginNs) / (double) LOCKS;
            }
            double rawNs = medianOfWarm(addNs);
            report.add("acquire", Long.BYTES, "ns", medianOfWarm(acquireNs), rawNs);
            report.add("release", Long.BYTES, "ns", medianOfWarm(releaseNs), rawNs);
            for (LmrHandle word : words) {
                word.free();
            }
        }
    }

    private static void addToAll(LmrHandle[] words) {
        for (LmrHandle word : words) {
            word.fetchAdd(0, 1);
        }
    }

    private static void acquireAll(LtLock[] locks, HeldLock[] held) {
        for (int index = 0; index < LOCKS; index++) {
            held[index] = locks[index].acquire(TIMEOUT);
        }
    }

    private static void releaseAll(HeldLock[] held) {
        for (HeldLock hold : held) {
            hold.close();
        }
    }

    /** The median of the second half. */
    private static double medianOfWarm(double[] values) {
        double[] warm = Arrays.copyOfRange(values, values.length / 2, values.length);
        Arrays.sort(warm);
        return warm[warm.length / 2];
    }

    private static void contended(BenchReport report, List<LiteNode> nodes, int threads) {
        String name = "contended-" + threads;
        List<Lite> sessions = new ArrayList<>();
        List<Critical> ours = new ArrayList<>();
        List<Critical> raw = new ArrayList<>();
        ReentrantLock fair = new ReentrantLock(true);
        try {
            for (int index = 0; index < threads; index++) {
                Lite lite = nodes.get(index % NODES).attach("bench");
                sessions.add(lite);
                LtLock lock = lite.sync().lock(name);
                ours.add(inside -> {
                    try (HeldLock held = lock.acquire(TIMEOUT)) {
                        requireHeld(held);
                        inside.run();
                    }
                });
                raw.add(inside -> {
                    fair.lock();
                    try {
                        inside.run();
                    } finally {
                        fair.unlock();
                    }
                });
            }
            handOverNs(ours);
            handOverNs(raw); // warm up
            SyncStats before = stats(nodes);
            double[] oursNs = new double[ROUNDS];
            double[] rawNs = new double[ROUNDS];
            for (int round = 0; round < ROUNDS; round++) {
                oursNs[round] = handOverNs(ours);
                rawNs[round] = handOverNs(raw);
            }
            SyncStats after = stats(nodes);
            Arrays.sort(oursNs);
            Arrays.sort(rawNs);
            report.add(name, Long.BYTES, "ns", oursNs[ROUNDS / 2], rawNs[ROUNDS / 2]);
            long handOvers = after.waits() - before.waits();
            report.note(
                    "%s: %d hand-overs, %.4f wake-ups and %.4f messages to the next node per hand-over, %d passed over"
                            .formatted(
                                    name,
                                    handOvers,
                                    (after.wakeUps() - before.wakeUps()) / (double) handOvers,
                                    (after.turnsSent() - before.turnsSent()) / (double) handOvers,
                                    after.passedOver() - before.passedOver()));
        } finally {
            sessions.forEach(Lite::close);
        }
    }

    private static void requireHeld(HeldLock held) {
        if (!held.isHeld()) {
            throw new IllegalStateException(held + " is not held");
        }
    }

    private static SyncStats stats(List<LiteNode> nodes) {
        List<SyncStats> all =
                nodes.stream().map(node -> node.figures().syncStats()).toList();
        return new SyncStats(
                all.stream().mapToLong(SyncStats::waits).sum(),
                all.stream().mapToLong(SyncStats::wakeUps).sum(),
                all.stream().mapToLong(SyncStats::turnsSent).sum(),
                all.stream().mapToLong(SyncStats::passedOver).sum());
    }

    /**
     * Lets all threads compete for the lock for a while. Returns nanoseconds per hand-over from one thread to another;
     * repeated acquisitions by the same thread do not count. Fails if a thread fails: it contends no more.
     */
    static double handOverNs(List<Critical> threads) {
        CountDownLatch go = new CountDownLatch(1);
        long[] handOvers = new long[1]; // guarded by the measured lock
        int[] last = {-1};
        AtomicBoolean stop = new AtomicBoolean();
        try (ExecutorService executor =
                Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory())) {
            List<Future<?>> running = new ArrayList<>();
            for (int index = 0; index < threads.size(); index++) {
                int mine = index;
                Critical critical = threads.get(index);
                running.add(executor.submit(() -> {
                    await(go);
                    while (!stop.get()) {
                        critical.run(() -> {
                            if (last[0] != mine) {
                                last[0] = mine;
                                handOvers[0]++;
                            }
                        });
                    }
                }));
            }
            long start = System.nanoTime();
            go.countDown();
            for (long left = ROUND.toNanos(); left > 0; left = start + ROUND.toNanos() - System.nanoTime()) {
                Polling.sleepNs(left);
            }
            stop.set(true);
            running.forEach(Asynchronous::await);
            return (System.nanoTime() - start) / (double) handOvers[0];
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted", e);
        }
    }
}
