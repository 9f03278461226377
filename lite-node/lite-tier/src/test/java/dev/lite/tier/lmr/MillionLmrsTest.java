package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.testing.InDevShm;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * A million anonymous LMRs at the same time: one node creates them, the other maps every nth of them by id. The output shows the time
 * and the heap that this takes. {@code -Dlite.test.lmrs} sets the number; {@code -Dlite.test.lmrs-mapped-every=1} maps each LMR, which
 * takes minutes.
 */
@Isolated("it shows the heap of its process, and its threads take both processors")
class MillionLmrsTest {
    private static final int LMRS = Integer.getInteger("lite.test.lmrs", 1_000_000);
    private static final int MAPPED_EVERY = Integer.getInteger("lite.test.lmrs-mapped-every", 20);
    private static final int THREADS = 2;
    private static final int LMR_BYTES = 64;
    /** Arena bytes that a node needs itself: tables of a million extents, slots and rings. */
    private static final long REST_BYTES = 64 << 20;

    /**
     * The threads on which an idle node polls the epoch and the orders, reads the policy after its start, and scans for orphans. When
     * they call the directory depends on the clock, not on the number of LMRs. They make no requests for LMRs.
     */
    private static final Set<String> HOUSEKEEPING =
            Set.of("lite-fencing", "lite-orders", "lite-orphans", "lite-qos-follow");

    /** The directory methods that are answered locally. */
    private static final Set<String> LOCAL = Set.of("nodes", "isAvailable", "addListener", "close");

    @TempDir(factory = InDevShm.class)
    private Path root;

    private final InMemoryDirectory.Store store = new InMemoryDirectory.Store();
    private final AtomicLong requests = new AtomicLong();

    @Test
    void aMillionAnonymousLmrsNeedNoDirectoryRequests() {
        try (ClusterDirectory ofMaker = counted(store.open());
                ClusterDirectory ofPeer = counted(store.open());
                LiteNode maker = start("maker", LMRS * 256L + REST_BYTES, ofMaker);
                LiteNode peer = start("peer", REST_BYTES, ofPeer);
                Lite atMaker = maker.attach("app");
                Lite atPeer = peer.attach("app")) {
            Waits.until(
                    "connected",
                    () -> peer.nodes().stream().noneMatch(node -> node.fabric().equals("none")));
            long rest = maker.figures().usage().allocatedBytes();
            long requestsBefore = requests.get();
            long heapBefore = usedHeap();
            long[] ids = new long[LMRS];
            timed("made", 1, index -> {
                try (LmrHandle handle = atMaker.memory().malloc(LmrSpec.of(LMR_BYTES))) {
                    handle.write(0, bytes(index));
                    ids[index] = handle.id();
                }
            });
            System.out.printf(
                    "%d bytes of heap for each LMR, at both nodes%n", (usedHeap() - heapBefore) / LMRS - Long.BYTES);
            assertThat(maker.figures().usage().extents()).isGreaterThanOrEqualTo(LMRS);
            timed("mapped by id at the other node, read, unmapped", MAPPED_EVERY, index -> {
                byte[] read = new byte[Integer.BYTES];
                try (LmrHandle mapped = atPeer.memory().map(ids[index], Permission.READ)) {
                    mapped.read(0, read);
                }
                assertThatIs(index, read);
            });
            timed(
                    "freed",
                    1,
                    index -> atMaker.memory().map(ids[index], Permission.MASTER).free());
            Waits.until("every byte is free", () -> maker.figures().usage().allocatedBytes() == rest);
            assertThat(requests.get() - requestsBefore)
                    .as("requests to the directory")
                    .isZero();
            assertThatThrownBy(() -> atPeer.memory().map(ids[LMRS / 2], Permission.READ))
                    .isInstanceOf(LmrNotFoundException.class);
        }
    }

    private LiteNode start(String name, long arenaBytes, ClusterDirectory directory) {
        LiteNodeConfig config = LiteNodeConfig.builder("c", name, arenaBytes, root.resolve("run-" + name))
                .arena(root.resolve("arenas"), false)
                .deadline(Waits.seconds(20))
                .limits(new LiteNodeConfig.Limits(1 << 20, 1 << 20, LMRS + 10_000, 8))
                .build();
        return LiteNode.start(config, directory, List.of(new ShmFabricProvider()));
    }

    private static byte[] bytes(int index) {
        return ByteBuffer.allocate(Integer.BYTES)
                .order(ByteOrder.nativeOrder())
                .putInt(index)
                .array();
    }

    private static void assertThatIs(int index, byte[] read) {
        int found = ByteBuffer.wrap(read).order(ByteOrder.nativeOrder()).getInt();
        if (found != index) {
            throw new AssertionError("LMR number %d contains %d".formatted(index, found));
        }
    }

    /** A step for one LMR. */
    private interface Step {
        void take(int index);
    }

    /** Executes a step for every nth LMR, in several threads, and prints the time. */
    private static void timed(String what, int every, Step step) {
        long beginNs = System.nanoTime();
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < THREADS; number++) {
            int first = number * every;
            threads.add(Thread.ofPlatform().start(() -> {
                try {
                    for (int index = first; index < LMRS && failure.get() == null; index += THREADS * every) {
                        step.take(index);
                    }
                } catch (RuntimeException | Error e) {
                    failure.compareAndSet(null, e);
                }
            }));
        }
        threads.forEach(MillionLmrsTest::joinLong);
        assertThat(failure.get()).as(what).isNull();
        long tookNs = System.nanoTime() - beginNs;
        int count = LMRS / every;
        System.out.printf("%d LMRs %s: %.1f s, %.2f us each%n", count, what, tookNs / 1e9, tookNs / 1e3 / count);
    }

    private static void joinLong(Thread thread) {
        try {
            assertThat(thread.join(Waits.seconds(180))).as("it ended").isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    private static long usedHeap() {
        System.gc(); // the collector that the tests use collects synchronously
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    /** A directory that counts reads and changes of its records, except those of idle nodes. */
    private ClusterDirectory counted(ClusterDirectory directory) {
        return (ClusterDirectory) Proxy.newProxyInstance(
                ClusterDirectory.class.getClassLoader(),
                new Class<?>[] {ClusterDirectory.class},
                (proxy, method, arguments) -> {
                    if (!LOCAL.contains(method.getName())
                            && !HOUSEKEEPING.contains(Thread.currentThread().getName())) {
                        requests.incrementAndGet();
                    }
                    try {
                        return method.invoke(directory, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }
}
