package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtLock;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Seeds;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The whole tier on a network that delays, breaks connections and pauses nodes, as determined by the seed. Several threads at each node
 * perform random operations. All results must be linearizable: they must fit one history in which every operation takes effect at one
 * moment.
 *
 * <ul>
 *   <li>The values returned by atomic adds are all different. Their number matches the word's last value, except for operations with an
 *       unknown outcome.
 *   <li>One thread writes rising values to a word. A read of the word returns nothing older than the last write that had returned when
 *       the read began, and nothing newer than the last write that had begun when the read ended.
 *   <li>A lock never has two holders, and its fencing tokens grow.
 * </ul>
 */
class HistoryTest {
    private static final int NODES = 3;
    private static final int THREADS_PER_NODE = 2;
    private static final int STEPS = 120;
    private static final int LMR_BYTES = 64 << 10;
    private static final int ADDED_WORDS = 4;
    private static final int REGISTERS = NODES * THREADS_PER_NODE;
    private static final long REGISTERS_AT =
            LMR_BYTES / 2; // offset in the spread LMR, on another node than the first words
    private static final Permission[] DATA = {Permission.READ, Permission.WRITE, Permission.ATOMIC};

    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void allResultsAreLinearizableDespiteNetworkFaults() {
        Seeds.forEach(4, random -> {
            SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(random.nextLong())
                    .withDelay(Duration.ofNanos(1_000), Duration.ofNanos(200_000))
                    .withFaults(0.002, 0.002, Duration.ofMillis(5)));
            Path directory = root.resolve(Long.toHexString(random.nextLong()));
            try (TestCluster cluster = new TestCluster(directory, network.provider(), Waits.seconds(2))) {
                cluster.start(NODES);
                new History(cluster, random.nextLong()).run();
            }
        });
    }

    /** One run with one seed. */
    private static final class History {
        private final TestCluster cluster;
        private final long seed;
        private final List<Queue<Long>> added = new ArrayList<>();
        private final AtomicLongArray unknownAdds = new AtomicLongArray(ADDED_WORDS);
        private final AtomicLongArray writesBegun = new AtomicLongArray(REGISTERS);
        private final AtomicLongArray writesReturned = new AtomicLongArray(REGISTERS);
        private final AtomicInteger insideLock = new AtomicInteger();
        private final AtomicLong lastToken = new AtomicLong();
        private final Queue<String> wrong = new ConcurrentLinkedQueue<>();
        private final AtomicInteger done = new AtomicInteger();

        History(TestCluster cluster, long seed) {
            this.cluster = cluster;
            this.seed = seed;
            for (int word = 0; word < ADDED_WORDS; word++) {
                added.add(new ConcurrentLinkedQueue<>());
            }
        }

        void run() {
            LmrHandle owned = retrying(() -> cluster.attach(0)
                    .memory()
                    .malloc(LmrSpec.of(LMR_BYTES)
                            .withName("h" + seed)
                            .withPlacement(Placement.spread())
                            .withDefaultPermissions(DATA)));
            List<Thread> threads = new ArrayList<>();
            for (int number = 0; number < REGISTERS; number++) {
                Worker worker = new Worker(this, number);
                threads.add(Thread.ofPlatform().start(worker::run));
            }
            threads.forEach(Waits::join);
            assertThat(wrong).isEmpty();
            assertThat(done.get()).as("steps whose outcome is known").isGreaterThan(REGISTERS * STEPS / 2);
            for (int word = 0; word < ADDED_WORDS; word++) {
                int at = word;
                long last = retrying(() -> owned.fetchAdd(at * 8L, 0));
                Queue<Long> values = added.get(word);
                assertThat(values).as("word %d", word).doesNotHaveDuplicates().allMatch(value -> value < last);
                assertThat(last).isBetween((long) values.size(), values.size() + unknownAdds.get(word));
            }
            retrying(() -> {
                owned.free();
                return owned;
            });
        }
    }

    /** One thread of a node, with a register that no other thread writes. */
    private static final class Worker {
        private final History history;
        private final int number;
        private final Random random;
        private final Lite lite;
        private final MemorySegment buffer = MemorySegment.ofArray(new long[1]);
        private boolean mayWrite = true;

        Worker(History history, int number) {
            this.history = history;
            this.number = number;
            this.random = new Random(history.seed + number);
            this.lite = history.cluster.attach(number % NODES);
        }

        void run() {
            try {
                LmrHandle handle = retrying(() -> lite.memory().map("h" + history.seed, DATA[0], DATA));
                LtLock lock = retrying(() -> lite.sync().lock("lock" + history.seed));
                for (int step = 0; step < STEPS; step++) {
                    switch (random.nextInt(7)) {
                        case 0, 1 -> add(handle);
                        case 2, 3 -> read(handle);
                        case 4, 5 -> write(handle);
                        default -> lock(lock);
                    }
                }
            } catch (RuntimeException e) {
                history.wrong.add("thread %d: %s".formatted(number, e));
            }
        }

        private void add(LmrHandle handle) {
            int word = random.nextInt(ADDED_WORDS);
            try {
                history.added.get(word).add(handle.fetchAdd(word * 8L, 1));
                history.done.incrementAndGet();
            } catch (LmrUnavailableException | LiteTimeoutException | NodeUnreachableException e) {
                history.unknownAdds.incrementAndGet(word);
            }
        }

        private void read(LmrHandle handle) {
            int register = random.nextInt(REGISTERS);
            long oldest = history.writesReturned.get(register);
            try {
                handle.read(REGISTERS_AT + register * 8L, buffer);
            } catch (LmrUnavailableException | LiteTimeoutException | NodeUnreachableException e) {
                return;
            }
            long newest = history.writesBegun.get(register);
            long seen = buffer.get(ValueLayout.JAVA_LONG, 0);
            if (seen < oldest || seen > newest) {
                history.wrong.add("register %d: read %d, must be %d to %d".formatted(register, seen, oldest, newest));
            }
            history.done.incrementAndGet();
        }

        private void write(LmrHandle handle) {
            if (!mayWrite) {
                return;
            }
            long value = history.writesBegun.incrementAndGet(number);
            buffer.set(ValueLayout.JAVA_LONG, 0, value);
            try {
                handle.write(REGISTERS_AT + number * 8L, buffer);
                history.writesReturned.set(number, value);
                history.done.incrementAndGet();
            } catch (LmrUnavailableException | LiteTimeoutException | NodeUnreachableException e) {
                mayWrite = false; // it may arrive at any time from now on, even after a later write
            }
        }

        private void lock(LtLock lock) {
            try (HeldLock held = lock.acquire(Waits.seconds(5))) {
                if (history.insideLock.incrementAndGet() != 1) {
                    history.wrong.add("the lock has two holders");
                }
                long token = held.fencingToken();
                long before = history.lastToken.getAndSet(token);
                if (token <= before) {
                    history.wrong.add("fencing token %d after %d".formatted(token, before));
                }
                Thread.onSpinWait();
                history.insideLock.decrementAndGet();
                history.done.incrementAndGet();
            } catch (LmrUnavailableException | LiteTimeoutException | NodeUnreachableException e) {
                // This thread has given up its place in the queue.
            }
        }
    }

    private interface Attempt<T> {
        T make();
    }

    /** Repeats an idempotent step until it succeeds, because connections are restored. */
    private static <T> T retrying(Attempt<T> attempt) {
        List<T> result = new ArrayList<>();
        Waits.until("an attempt succeeds", () -> {
            try {
                result.add(attempt.make());
                return true;
            } catch (LmrUnavailableException | LiteTimeoutException | NodeUnreachableException e) {
                return false;
            }
        });
        return result.getFirst();
    }
}
