package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtLock;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.SessionLostException;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A Spring application whose node is killed and restarted. The application is not restarted, and keeps its handles and locks. Its
 * threads only wait. At most, their operations are refused until a lock that was held is closed. The nodes are real processes.
 */
@ExtendWith(SharedClusters.Resolver.class)
class ApplicationOutlivesNodeTest {
    private static final int BYTES = 9 << 20; // three chunks, over all nodes
    private static final int BLOCK = 64 << 10;
    private static final Duration DEADLINE = Waits.seconds(60);
    /** Pause between two operations of a thread, because the starting node needs the processor, too. */
    private static final Duration PACE = Duration.ofNanos(500_000);

    private static final long SEED = System.nanoTime();

    private final AtomicBoolean stop = new AtomicBoolean();

    @ParameterizedTest
    @ValueSource(strings = {"shm", "tcp"})
    void handlesAndLocksOfAnApplicationContinueAfterTheNodesRestart(String fabric, SharedClusters clusters) {
        System.out.println("seed " + SEED);
        try (SharedClusters.Borrowed borrowed = clusters.borrow(fabric);
                Applications applications = new Applications()) {
            LocalCluster cluster = borrowed.cluster();
            killTheNodeUnder(cluster, applications.start(cluster.socket(1), DEADLINE));
        }
    }

    private void killTheNodeUnder(LocalCluster cluster, Lite lite) {
        LtMemory memory = lite.memory();
        LmrHandle handle =
                memory.malloc(LmrSpec.of(BYTES).withName("outlives/memory").withPlacement(Placement.spread()));
        LtLock lock = lite.sync().lock("outlives/lock");
        AtomicLong blocks = new AtomicLong();
        AtomicLong added = new AtomicLong();
        AtomicLong doubtful = new AtomicLong();
        AtomicLong locked = new AtomicLong();
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        Random random = new Random(SEED);
        byte[] written = new byte[BLOCK];
        byte[] read = new byte[BLOCK];
        threads.add(loop(() -> {
            long offset = (1 + random.nextInt(BYTES / BLOCK - 1)) * (long) BLOCK;
            random.nextBytes(written);
            try {
                handle.write(offset, written);
                handle.read(offset, read);
            } catch (SessionLostException e) {
                requireRefusedForLock(e);
                return;
            }
            assertThat(Arrays.equals(read, written))
                    .as("the written bytes are read")
                    .isTrue();
            blocks.incrementAndGet();
        }));
        threads.add(loop(() -> {
            try {
                long unused = handle.fetchAdd(0, 1);
                added.incrementAndGet();
            } catch (SessionLostException e) {
                if (!isRefusedForLock(e)) {
                    doubtful.incrementAndGet(); // the outstanding operation; its outcome is unknown
                }
            }
        }));
        threads.add(loop(() -> {
            try (HeldLock held = lock.acquire(DEADLINE)) {
                assertThat(held.fencingToken()).isPositive();
                locked.incrementAndGet();
            } catch (SessionLostException e) {
                assertThat(e).as("only a held lock is lost").hasMessageNotContaining("acquire");
            }
        }));
        for (int round = 0; round < 2; round++) {
            awaitMore(threads, blocks, added, locked);
            cluster.kill(1);
            cluster.startNode(1);
            long startNs = System.nanoTime();
            awaitMore(threads, blocks, added, locked);
            System.out.printf(
                    "all threads continued %d ms after the node was back%n", (System.nanoTime() - startNs) / 1_000_000);
        }
        stop.set(true);
        threads.forEach(CompletableFuture::join);
        assertThat(doubtful.get()).as("calls with an unknown outcome").isLessThanOrEqualTo(2);
        assertThat(handle.fetchAdd(0, 0)).isBetween(added.get(), added.get() + doubtful.get());
        assertThat(memory.map("outlives/memory", Permission.ATOMIC).id()).isEqualTo(handle.id());
        handle.free();
    }

    /** Whether the session's lock was held when the node died, and its holder, another thread, has not closed it yet. */
    private static boolean isRefusedForLock(SessionLostException e) {
        return String.valueOf(e.getMessage()).contains("that the application has not closed yet");
    }

    private static void requireRefusedForLock(SessionLostException e) {
        if (!isRefusedForLock(e)) {
            throw e;
        }
    }

    private CompletableFuture<Void> loop(Runnable step) {
        CompletableFuture<Void> end = new CompletableFuture<>();
        Thread unused = Thread.ofPlatform().daemon().start(() -> {
            try {
                while (!stop.get()) {
                    step.run();
                    Waits.pass(PACE);
                }
                end.complete(null);
            } catch (RuntimeException | AssertionError e) {
                end.completeExceptionally(e);
            }
        });
        return end;
    }

    private static void awaitMore(List<CompletableFuture<Void>> threads, AtomicLong... counters) {
        for (AtomicLong counter : counters) {
            long before = counter.get();
            Waits.until("every thread continues", DEADLINE, () -> {
                threads.stream().filter(CompletableFuture::isDone).forEach(CompletableFuture::join);
                return counter.get() > before + 2;
            });
        }
    }
}
