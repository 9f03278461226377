package dev.lite.tier.node;

import static dev.lite.tier.node.LiteNodeContract.bytes;
import static dev.lite.tier.node.LiteNodeContract.read;
import static dev.lite.tier.node.LiteNodeContract.shared;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.testing.Waits;
import dev.lite.tier.onesided.PostedMemory;
import dev.lite.tier.testing.Effort;
import dev.lite.tier.testing.Seeds;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Bytes, atomics and extents, from every node. */
interface DataCases extends NodeCases {

    @Test
    default void bytesWrittenByOneNodeAreReadByTheOthersWithAnyPlacement() {
        TestCluster cluster = cluster(3);
        Seeds.forEach(1, random -> {
            List<Placement> placements = List.of(
                    Placement.local(),
                    Placement.on("n1"),
                    Placement.on(List.of("n2", "n0")),
                    Placement.roundRobin(),
                    Placement.spread());
            for (int size : new int[] {1, 64, 5000, 300_000, (4 << 20) + 77}) {
                for (int index = 0; index < placements.size(); index++) {
                    String name = "lmr-" + size + "-" + index;
                    LmrHandle creator =
                            cluster.attach(0).memory().malloc(shared(size, name).withPlacement(placements.get(index)));
                    byte[] data = bytes(random, size);
                    LmrHandle one = cluster.attach(1).memory().map(name, Permission.READ, Permission.WRITE);
                    LmrHandle two = cluster.attach(2).memory().map(name, Permission.READ, Permission.WRITE);
                    assertThat(read(one, 0, size)).as(name).isEqualTo(new byte[size]);
                    one.write(0, data);
                    int at = random.nextInt(size);
                    data[at] ^= 1;
                    creator.write(at, Arrays.copyOfRange(data, at, at + 1));
                    assertThat(Arrays.equals(read(two, 0, size), data)).as(name).isTrue();
                    assertThat(Arrays.equals(read(creator, 0, size), data))
                            .as(name)
                            .isTrue();
                    creator.free();
                }
            }
        });
    }

    @Test
    default void theExtentsFollowThePlacement() {
        TestCluster cluster = cluster(3);
        LtMemory memory = cluster.attach(1).memory();
        assertThat(nodesOf(memory.malloc(LmrSpec.of(100)))).containsExactly("n1");
        assertThat(nodesOf(memory.malloc(LmrSpec.of(100).withPlacement(Placement.on("n2")))))
                .containsExactly("n2");
        assertThat(nodesOf(memory.malloc(LmrSpec.of(100_000).withPlacement(Placement.on(List.of("n2", "n0"))))))
                .startsWith("n2", "n0");
        LmrHandle spread = memory.malloc(LmrSpec.of(100_000).withPlacement(Placement.spread()));
        assertThat(nodesOf(spread)).contains("n0", "n1", "n2");
        assertThat(spread.extents().stream().mapToLong(Extent::length).sum()).isEqualTo(100_000);
        Set<String> turns = new HashSet<>();
        for (int turn = 0; turn < 3; turn++) {
            turns.addAll(nodesOf(memory.malloc(LmrSpec.of(100).withPlacement(Placement.roundRobin()))));
        }
        assertThat(turns).containsExactlyInAnyOrder("n0", "n1", "n2");
    }

    static List<String> nodesOf(LmrHandle handle) {
        return handle.extents().stream().map(Extent::node).toList();
    }

    @Test
    default void eachNodeListsTheOthersWithNameIdAndFabric() {
        TestCluster cluster = cluster(3);
        List<NodeInfo> nodes = cluster.attach(1).nodes();
        assertThat(nodes).extracting(NodeInfo::name).containsExactly("n0", "n1", "n2");
        assertThat(nodes).extracting(NodeInfo::fabric).containsExactly(fabric(), "local", fabric());
        assertThat(cluster.attach(1).nodeName()).isEqualTo("n1");
    }

    @Test
    default void additionsFromAllNodesAddUpAndReturnUniquePreviousValues() {
        TestCluster cluster = cluster(3);
        int each = Effort.times(300);
        for (String where : List.of("n0", "n1")) {
            String name = "counter-" + where;
            LmrHandle counter =
                    cluster.attach(0).memory().malloc(shared(64, name).withPlacement(Placement.on(where)));
            Set<Long> former = ConcurrentHashMap.newKeySet();
            onEachNode(cluster, lite -> {
                LmrHandle mine = lite.memory().map(name, Permission.ATOMIC);
                for (int count = 0; count < each; count++) {
                    former.add(mine.fetchAdd(8, 1));
                }
            });
            assertThat(former).hasSize(3 * each);
            assertThat(counter.fetchAdd(8, 0)).isEqualTo(3L * each);
        }
    }

    /** Transfers with unmapped memory need one of the buffers of {@link PostedMemory}; here more threads need one than there are. */
    @Test
    default void moreThreadsThanBuffersAllFinish() {
        TestCluster cluster = cluster(2);
        Queue<Throwable> troubles = new ConcurrentLinkedQueue<>();
        try (LmrHandle handle =
                cluster.attach(0).memory().malloc(LmrSpec.of(64 << 10).withPlacement(Placement.on("n1")))) {
            List<Thread> threads = new ArrayList<>();
            for (int thread = 0; thread < 2 * PostedMemory.BUFFERS_MAX; thread++) {
                int own = thread;
                threads.add(Thread.ofPlatform().start(() -> {
                    try {
                        for (int i = 0; i < 50; i++) {
                            byte[] written = {(byte) own, (byte) i};
                            handle.write(64L * own, written);
                            assertThat(read(handle, 64L * own, written.length)).isEqualTo(written);
                        }
                    } catch (RuntimeException | AssertionError e) {
                        troubles.add(e);
                    }
                }));
            }
            threads.forEach(Waits::join);
        }
        assertThat(troubles).isEmpty();
    }

    @Test
    default void asynchronousTransfersAllCompleteAndTheirCallbacksMayWaitForOthers() {
        TestCluster cluster = cluster(2);
        int pieces = 8 * PostedMemory.BUFFERS_MAX;
        int length = 3000;
        Seeds.forEach(1, random -> {
            byte[] data = bytes(random, pieces * length);
            LmrHandle handle =
                    cluster.attach(0).memory().malloc(LmrSpec.of(data.length).withPlacement(Placement.on("n1")));
            byte[] found = new byte[data.length];
            List<CompletableFuture<?>> hanging = new ArrayList<>();
            for (int piece = 0; piece < pieces; piece++) {
                long at = (long) piece * length;
                MemorySegment source = MemorySegment.ofArray(data).asSlice(at, length);
                MemorySegment destination = MemorySegment.ofArray(found).asSlice(at, length);
                hanging.add(handle.writeAsync(at, source)
                        .thenRun(() -> handle.readAsync(at, destination).join()));
            }
            hanging.forEach(future -> assertThat(future).succeedsWithin(Waits.seconds(20)));
            assertThat(Arrays.equals(found, data)).isTrue();
            assertThat(Arrays.equals(read(handle, 0, data.length), data)).isTrue();
            handle.free();
        });
    }

    @Test
    default void testSetExcludesOtherThreads() {
        TestCluster cluster = cluster(3);
        cluster.attach(0).memory().malloc(shared(64, "lock").withPlacement(Placement.on("n1")));
        long[] unguarded = new long[1];
        AtomicLong owners = new AtomicLong();
        int each = Effort.times(60);
        onEachNode(cluster, lite -> {
            LmrHandle lock = lite.memory().map("lock", Permission.ATOMIC);
            long me = owners.incrementAndGet();
            for (int count = 0; count < each; count++) {
                while (lock.testSet(0, 0, me) != 0) {
                    Thread.onSpinWait();
                }
                long before = unguarded[0];
                Thread.onSpinWait();
                unguarded[0] = before + 1;
                assertThat(lock.testSet(0, me, 0)).isEqualTo(me);
            }
        });
        assertThat(unguarded[0]).isEqualTo(3L * each);
    }

    interface Work {
        void run(Lite lite);
    }

    private static void onEachNode(TestCluster cluster, Work work) {
        ConcurrentLinkedQueue<Throwable> wrong = new ConcurrentLinkedQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < 3; index++) {
            Lite lite = cluster.attach(index);
            threads.add(Thread.ofPlatform().start(() -> {
                try {
                    work.run(lite);
                } catch (RuntimeException | Error e) {
                    wrong.add(e);
                }
            }));
        }
        threads.forEach(Waits::join);
        assertThat(wrong).isEmpty();
    }
}
