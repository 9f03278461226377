package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtLock;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A continuous load with checks: threads read constant data, write blocks and read them back, and add to words. Every operation must
 * succeed. One thread starts and ends the load and reads its counts.
 */
final class CheckedLoad implements AutoCloseable {
    private static final int STILL_BYTES = 5 << 20; // two chunks
    private static final int BLOCK_BYTES = 64 << 10;
    private static final int BLOCKS = 4;
    private static final int WORDS = 8;
    /** Pause between two operations of a thread, because starting processes need the processor, too. */
    private static final Duration PACE = Duration.ofMillis(1);

    private final Lite lite;
    private final long seed;
    private final byte[] content = new byte[STILL_BYTES];
    private final AtomicBoolean stop = new AtomicBoolean();
    private final List<Thread> threads = new ArrayList<>();
    private final Map<String, AtomicLong> done = new ConcurrentHashMap<>();
    private final ConcurrentLinkedQueue<String> failures = new ConcurrentLinkedQueue<>();
    private final List<LmrHandle> counters = new ArrayList<>();
    private final AtomicLong[] added;
    private final List<LmrHandle> still = new ArrayList<>();
    private final List<long[]> lockCounts = new ArrayList<>();

    /** A step that is repeated. */
    interface Step {
        void run(int round);
    }

    CheckedLoad(Lite lite, long seed, String... nodes) {
        this.lite = lite;
        this.seed = seed;
        new Random(seed).nextBytes(content);
        added = new AtomicLong[nodes.length];
        for (int index = 0; index < nodes.length; index++) {
            Placement there = Placement.on(nodes[index]);
            AtomicLong sum = new AtomicLong();
            added[index] = sum;
            LmrHandle counter = lite.memory()
                    .malloc(LmrSpec.of(4096).withName("load/words-" + index).withPlacement(there));
            counters.add(counter);
            begin("add", round -> {
                counter.fetchAdd(8L * (round % WORDS), 1);
                sum.incrementAndGet();
            });
            LmrHandle blocks = lite.memory()
                    .malloc(LmrSpec.of(BLOCKS * BLOCK_BYTES)
                            .withName("load/blocks-" + index)
                            .withPlacement(there));
            begin("write and read back", round -> writeAndReadBack(blocks, round));
        }
        still.add(malloc("load/still-spread", Placement.spread()));
        still.add(malloc("load/still-one", Placement.on(nodes[0])));
        for (LmrHandle handle : still) {
            handle.write(0, content);
            begin("read", round -> readPart(handle, round));
        }
    }

    private LmrHandle malloc(String name, Placement placement) {
        return lite.memory().malloc(LmrSpec.of(STILL_BYTES).withName(name).withPlacement(placement));
    }

    /** Starts to repeat another step, on its own thread. */
    void begin(String what, Step step) {
        AtomicLong count = done.computeIfAbsent(what, key -> new AtomicLong());
        threads.add(Thread.ofPlatform().name("load " + what).daemon().start(() -> {
            for (int round = 0; !stop.get(); round++) {
                try {
                    step.run(round);
                    count.incrementAndGet();
                } catch (RuntimeException | AssertionError e) {
                    failures.add("%s, round %d: %s".formatted(what, round, e));
                }
                Waits.pass(PACE);
            }
        }));
    }

    /**
     * Starts two threads that take a lock repeatedly. Its holder increments a plain counter and checks its token.
     */
    void lock(String name) {
        LtLock lock = lite.sync().lock(name);
        long[] counted = new long[2]; // number of holds, last token
        lockCounts.add(counted);
        for (int thread = 0; thread < 2; thread++) {
            begin("lock", round -> {
                try (HeldLock held = lock.acquire(Waits.seconds(10))) {
                    counted[0]++;
                    assertThat(held.fencingToken()).as("token of %s", name).isGreaterThan(counted[1]);
                    counted[1] = held.fencingToken();
                }
            });
        }
    }

    private void writeAndReadBack(LmrHandle handle, int round) {
        byte[] bytes = new byte[BLOCK_BYTES];
        new Random(seed + round).nextBytes(bytes);
        long at = (long) BLOCK_BYTES * (round % BLOCKS);
        handle.write(at, bytes);
        byte[] read = new byte[BLOCK_BYTES];
        handle.read(at, read);
        assertThat(Arrays.equals(read, bytes))
                .as("the block just written to %s", handle)
                .isTrue();
    }

    private void readPart(LmrHandle handle, int round) {
        byte[] read = new byte[STILL_BYTES];
        handle.read(0, read);
        assertThat(Arrays.equals(read, content))
                .as("%s in round %d", handle, round)
                .isTrue();
    }

    /** The number of operations so far. */
    Map<String, Long> counts() {
        Map<String, Long> counts = new TreeMap<>();
        done.forEach((what, count) -> counts.put(what, count.get()));
        return counts;
    }

    List<String> failures() {
        return List.copyOf(failures);
    }

    /** Ends the load, and checks that no operation was lost. */
    void check() {
        close();
        assertThat(failures).isEmpty();
        for (int index = 0; index < counters.size(); index++) {
            long sum = 0;
            for (int word = 0; word < WORDS; word++) {
                sum += counters.get(index).fetchAdd(8L * word, 0);
            }
            assertThat(sum).as("additions to words %d", index).isEqualTo(added[index].get());
        }
        AtomicLong locks = done.getOrDefault("lock", new AtomicLong());
        assertThat(lockCounts.stream().mapToLong(counted -> counted[0]).sum())
                .as("increments under locks")
                .isEqualTo(locks.get());
        for (LmrHandle handle : still) {
            readPart(handle, -1);
            assertThat(handle.permissions()).contains(Permission.MASTER);
        }
    }

    @Override
    public void close() {
        stop.set(true);
        for (Thread thread : threads) {
            try {
                if (!thread.join(Waits.seconds(30))) {
                    throw new AssertionError(thread + " did not end");
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError("interrupted", e);
            }
        }
    }
}
