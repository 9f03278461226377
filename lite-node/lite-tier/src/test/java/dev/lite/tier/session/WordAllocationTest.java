package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrLongs;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.session.MappedWords.Kind;
import dev.lite.tier.testing.InDevShm;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Operations on words of mapped memory allocate nothing in the thread that calls them. */
class WordAllocationTest {
    private static final int ROUNDS = 1_000;
    /** What reading the counter takes; an operation that allocated would take 16 bytes or more in each round. */
    private static final long READING_BYTES = 1_000;

    private static final Duration LIMIT = Duration.ofSeconds(30);

    @TempDir(factory = InDevShm.class)
    private Path root;

    @ParameterizedTest
    @EnumSource(Kind.class)
    void anOperationOnAWordAllocatesNothing(Kind kind) {
        try (MappedWords words = new MappedWords(root, new ShmFabricProvider())) {
            LmrHandle handle = words.handle(kind, 256);
            assertNoAllocation("getLong and putLong", () -> handle.putLong(8, handle.getLong(0) + 1));
            assertNoAllocation("getInt and putInt", () -> handle.putInt(20, handle.getInt(16) + 1));
            assertNoAllocation("getAndAdd", () -> handle.getAndAdd(24, 1));
            assertNoAllocation("getAndSet", () -> handle.getAndSet(32, handle.getLong(24)));
            assertNoAllocation("compareAndSet", () -> handle.compareAndSet(40, handle.getLong(40), 7));
            assertNoAllocation("getAndAddInt", () -> handle.getAndAddInt(48, 1));
            assertNoAllocation("getAndSetInt", () -> handle.getAndSetInt(52, handle.getInt(48)));
            assertNoAllocation("compareAndSetInt", () -> handle.compareAndSetInt(56, handle.getInt(56), 9));
            LmrLongs longs = LmrLongs.of(handle);
            assertNoAllocation("an element of LmrLongs", () -> longs.set(9, longs.get(8) + longs.getAndAdd(8, 1)));
        }
    }

    private static void assertNoAllocation(String what, Runnable operation) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().threadId();
        long fewest = Long.MAX_VALUE;
        long endNs = System.nanoTime() + Waits.scaled(LIMIT).toNanos();
        // Repeats until the JIT compiler is done.
        while (fewest >= READING_BYTES && System.nanoTime() < endNs) {
            long before = threads.getThreadAllocatedBytes(id);
            for (int round = 0; round < ROUNDS; round++) {
                operation.run();
            }
            fewest = Math.min(fewest, threads.getThreadAllocatedBytes(id) - before);
        }
        assertThat(fewest).as("bytes allocated by %d of %s", ROUNDS, what).isLessThan(READING_BYTES);
    }
}
