package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.Extent;
import dev.lite.api.Lifetime;
import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeInfo;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.SessionLostException;
import dev.lite.fabric.FabricProvider;
import dev.lite.tier.memory.ArenaException;
import dev.lite.tier.onesided.PostedMemory;
import dev.lite.tier.testing.Effort;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Seeds;
import dev.lite.tier.testing.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a node does, whatever fabric carries it. A subclass supplies the fabric only. */
abstract class LiteNodeContract {
    private static final Permission[] DATA = {Permission.READ, Permission.WRITE, Permission.ATOMIC};

    @TempDir(factory = InDevShm.class)
    Path root;

    private @Nullable TestCluster opened;

    abstract FabricProvider provider();

    final TestCluster cluster(int nodes) {
        TestCluster cluster = new TestCluster(root, provider());
        opened = cluster;
        return cluster.start(nodes);
    }

    @AfterEach
    void close() {
        if (opened != null) {
            opened.close();
        }
    }

    private static LmrSpec shared(long size, String name) {
        return LmrSpec.of(size).withName(name).withDefaultPermissions(DATA);
    }

    private static byte[] bytes(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private static byte[] read(LmrHandle handle, long offset, int length) {
        byte[] bytes = new byte[length];
        handle.read(offset, bytes);
        return bytes;
    }

    private static long allocated(TestCluster cluster, int... nodes) {
        return Arrays.stream(nodes)
                .mapToLong(node -> cluster.node(node).usage().allocatedBytes())
                .sum();
    }

    /** What the nodes keep for themselves from the start. */
    private static long[] atRest(TestCluster cluster) {
        return new long[] {allocated(cluster, 0), allocated(cluster, 1), allocated(cluster, 2)};
    }

    private static void awaitRest(TestCluster cluster, long[] rest) {
        Waits.until(
                "all memory is free again",
                () -> Arrays.equals(atRest(cluster), rest)
                        && IntStream.range(0, 3)
                                .allMatch(node -> cluster.node(node).usage().reclaiming() == 0));
    }

    @Test
    void whatOneNodeWritesTheOthersReadWhereverItLies() {
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
    void theExtentsLieWhereThePlacementSays() {
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

    private static List<String> nodesOf(LmrHandle handle) {
        return handle.extents().stream().map(Extent::node).toList();
    }

    @Test
    void theNodesKnowEachOtherByNameIdAndFabric() {
        TestCluster cluster = cluster(3);
        List<NodeInfo> nodes = cluster.attach(1).nodes();
        assertThat(nodes).extracting(NodeInfo::name).containsExactly("n0", "n1", "n2");
        assertThat(nodes)
                .extracting(NodeInfo::fabric)
                .containsExactly(provider().name(), "local", provider().name());
        assertThat(cluster.attach(1).nodeName()).isEqualTo("n1");
    }

    @Test
    void additionsFromAllNodesAddUpAndGiveUniqueFormerValues() {
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

    /** What is not mapped passes through as many buffers as {@link PostedMemory} has: here more want one at the same time. */
    @Test
    void moreThreadsThanThereAreBuffersAllComeToTheirEnd() {
        TestCluster cluster = cluster(2);
        Queue<Throwable> troubles = new ConcurrentLinkedQueue<>();
        try (LmrHandle handle =
                cluster.attach(0).memory().malloc(LmrSpec.of(64 << 10).withPlacement(Placement.on("n1")))) {
            List<Thread> threads = new ArrayList<>();
            for (int thread = 0; thread < 2 * PostedMemory.BUFFERS; thread++) {
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
    void testSetExcludesTheOthers() {
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

    private interface Work {
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

    @Test
    void anotherPrincipalMayDoWhatTheDefaultAllowsAndNoMore() {
        TestCluster cluster = cluster(2);
        LtMemory alice = cluster.node(0).attach("alice").memory();
        LtMemory bob = cluster.node(1).attach("bob").memory();
        alice.malloc(LmrSpec.of(64).withName("readable").withDefaultPermissions(Permission.READ));
        alice.malloc(LmrSpec.of(64).withName("private"));
        bob.map("readable", Permission.READ).read(0, new byte[64]);
        assertThatExceptionOfType(LmrPermissionException.class)
                .isThrownBy(() -> bob.map("readable", Permission.READ, Permission.WRITE))
                .withMessageContaining("LMR \"readable\": principal \"bob\" may [READ]")
                .withMessageContaining("WRITE");
        assertThatThrownBy(() -> bob.map("private", Permission.READ))
                .isInstanceOf(LmrPermissionException.class)
                .hasMessageContaining("may do nothing");
        assertThatThrownBy(() -> bob.map("readable", Permission.READ).free())
                .isInstanceOf(LmrPermissionException.class);
        assertThatThrownBy(() -> bob.map("readable", Permission.READ).extents())
                .isInstanceOf(LmrPermissionException.class);
        // A principal is the same at every node.
        cluster.node(1)
                .attach("alice")
                .memory()
                .map("private", Permission.MASTER)
                .free();
        assertThatThrownBy(() -> alice.map("private", Permission.READ)).isInstanceOf(LmrNotFoundException.class);
    }

    @Test
    void aTakenUnknownOrFreedNameAndAnUnknownNodeAreNamed() {
        TestCluster cluster = cluster(3);
        long[] rest = atRest(cluster);
        LtMemory memory = cluster.attach(0).memory();
        LmrHandle first = memory.malloc(shared(100, "a"));
        assertThatExceptionOfType(LmrExistsException.class)
                .isThrownBy(() -> cluster.attach(1).memory().malloc(shared(100, "a")))
                .withMessage("the name \"a\" belongs to another LMR");
        assertThatExceptionOfType(LmrNotFoundException.class)
                .isThrownBy(() -> memory.map("b", Permission.READ))
                .withMessage("there is no LMR of the name \"b\"");
        assertThatExceptionOfType(NodeUnreachableException.class)
                .isThrownBy(() -> memory.malloc(LmrSpec.of(1).withPlacement(Placement.on("n9"))))
                .withMessage("node \"n9\" is no live node of cluster \"c\"; live are [n0, n1, n2]");
        first.free();
        assertThatThrownBy(() -> memory.map("a", Permission.READ)).isInstanceOf(LmrNotFoundException.class);
        LmrHandle second = memory.malloc(shared(200, "a"));
        assertThat(second.id()).isNotEqualTo(first.id());
        assertThatThrownBy(() -> first.read(0, new byte[1])).isInstanceOf(LmrFreedException.class);
        second.free();
        awaitRest(cluster, rest);
    }

    @Test
    void freeTellsEveryMapperAndGivesEveryByteBack() {
        TestCluster cluster = cluster(3);
        long[] rest = atRest(cluster);
        LmrHandle master =
                cluster.attach(0).memory().malloc(shared(6 << 20, "big").withPlacement(Placement.spread()));
        LmrHandle one = cluster.attach(1).memory().map("big", DATA[0], DATA);
        LmrHandle two = cluster.attach(2).memory().map("big", DATA[0], DATA);
        one.write(0, bytes(new Random(1), 6 << 20));
        assertThat(allocated(cluster, 0, 1, 2))
                .isGreaterThanOrEqualTo(Arrays.stream(rest).sum() + (6 << 20));
        master.free();
        for (LmrHandle handle : List.of(master, one, two)) {
            assertThatThrownBy(() -> handle.read(0, new byte[1]))
                    .isInstanceOf(LmrFreedException.class)
                    .hasMessageContaining("LMR \"big\"");
            assertThatThrownBy(() -> handle.fetchAdd(0, 1)).isInstanceOf(LmrFreedException.class);
            handle.unmap();
        }
        awaitRest(cluster, rest);
        for (int node = 0; node < 3; node++) {
            assertThat(cluster.node(node).usage().handles()).isZero();
        }
        // What it held shows to nobody.
        LmrHandle next = cluster.attach(2).memory().malloc(LmrSpec.of(6 << 20).withPlacement(Placement.spread()));
        assertThat(Arrays.equals(read(next, 0, 6 << 20), new byte[6 << 20])).isTrue();
    }

    @Test
    void theEndOfASessionFreesItsLmrsAndUnmapsItsHandlesOnly() {
        TestCluster cluster = cluster(3);
        long[] rest = atRest(cluster);
        Lite lite = cluster.attach(0);
        LmrHandle own = lite.memory().malloc(LmrSpec.of(100_000).withPlacement(Placement.spread()));
        LmrHandle named = lite.memory().malloc(shared(1000, "ends").withLifetime(Lifetime.SESSION));
        LmrHandle stays = lite.memory().malloc(shared(1000, "stays"));
        LmrHandle mapper = cluster.attach(1).memory().map("ends", Permission.READ);
        stays.write(0, new byte[] {42});
        lite.close();
        lite.close();
        assertThat(lite.isOpen()).isFalse();
        for (LmrHandle handle : List.of(own, named, stays)) {
            assertThatThrownBy(() -> handle.read(0, new byte[1])).isInstanceOf(SessionLostException.class);
        }
        assertThatThrownBy(() -> lite.memory().malloc(LmrSpec.of(1))).isInstanceOf(SessionLostException.class);
        assertThatThrownBy(() -> lite.memory().map("stays", Permission.READ)).isInstanceOf(SessionLostException.class);
        Waits.until("the mapper is told", () -> {
            try {
                mapper.read(0, new byte[1]);
                return false;
            } catch (LmrFreedException e) {
                return true;
            }
        });
        Lite other = cluster.attach(2);
        assertThat(read(other.memory().map("stays", Permission.READ), 0, 1)).containsExactly(42);
        other.memory().map("stays", Permission.MASTER).free();
        awaitRest(cluster, rest);
        assertThat(cluster.node(0).usage().sessions()).isZero();
    }

    @Test
    void handlesOfASessionAndBytesOfAnLmrAreLimited() {
        TestCluster cluster = cluster(0);
        LiteNode node = cluster.start(cluster.config("n0").withLimits(new LiteNodeConfig.Limits(1_000_000, 3, 0, 8)));
        LtMemory memory = node.attach("app").memory();
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> memory.malloc(LmrSpec.of(1_000_001)))
                .withMessageContaining("1000001 bytes is asked for; the limit is 1000000 (lite.node.limits.lmr-size)");
        // Freed, unmapped and refused ones do not count.
        for (int count = 0; count < 10; count++) {
            memory.malloc(shared(100, "again")).free();
            memory.malloc(LmrSpec.of(100)).unmap();
            assertThatThrownBy(() -> memory.map("nothing", Permission.READ)).isInstanceOf(LmrNotFoundException.class);
        }
        memory.malloc(shared(100, "x"));
        memory.map("x", Permission.READ);
        LmrHandle third = memory.map("x", Permission.READ);
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> memory.map("x", Permission.READ))
                .withMessageContaining("has 3 handles; the limit is 3 (lite.node.limits.handles-per-session)");
        assertThatThrownBy(() -> memory.malloc(LmrSpec.of(1))).isInstanceOf(LimitExceededException.class);
        third.unmap();
        memory.map("x", Permission.READ);
        node.attach("app").memory().map("x", Permission.READ);
    }

    @Test
    void handlesThatAMasterElsewhereFreedDoNotCountAgainstTheLimit() {
        TestCluster cluster = cluster(1);
        LiteNode mapper = cluster.start(cluster.config("n1").withLimits(new LiteNodeConfig.Limits(1_000_000, 3, 0, 8)));
        cluster.awaitConnections();
        LtMemory memory = mapper.attach("app").memory();
        for (int count = 0; count < 10; count++) {
            LmrHandle master = cluster.attach(0).memory().malloc(shared(64, "again"));
            memory.map("again", Permission.READ);
            master.free();
        }
        assertThat(mapper.usage().handles()).isZero();
    }

    @Test
    void withoutTheDirectoryNamesAreUnavailableAndHandlesGoOn() {
        TestCluster cluster = cluster(3);
        long[] rest = atRest(cluster);
        LtMemory memory = cluster.attach(0).memory();
        LmrHandle handle = memory.malloc(shared(100_000, "x").withPlacement(Placement.spread()));
        LmrHandle mapper = cluster.attach(1).memory().map("x", DATA[0], DATA);
        for (int node = 0; node < 3; node++) {
            cluster.directory(node).setAvailable(false);
        }
        handle.write(0, bytes(new Random(1), 100_000));
        assertThat(Arrays.equals(read(mapper, 0, 100_000), read(handle, 0, 100_000)))
                .isTrue();
        mapper.fetchAdd(50_000, 1);
        assertThatThrownBy(() -> memory.malloc(shared(1, "y"))).isInstanceOf(ClusterUnavailableException.class);
        assertThatThrownBy(() -> memory.map("x", Permission.READ)).isInstanceOf(ClusterUnavailableException.class);
        // Anonymous ones need no directory.
        memory.malloc(LmrSpec.of(1000)).free();
        memory.malloc(LmrSpec.of(10_000).withPlacement(Placement.on("n2"))).free();
        for (int node = 0; node < 3; node++) {
            cluster.directory(node).setAvailable(true);
        }
        memory.malloc(shared(1, "y")).free();
        handle.free();
        awaitRest(cluster, rest);
    }

    @Test
    void aMallocThatFailsOnTheThirdNodeGivesBackWhatTheOthersGave() {
        TestCluster cluster = cluster(3);
        long[] rest = atRest(cluster);
        LmrHandle filler = cluster.attach(2)
                .memory()
                .malloc(LmrSpec.of(cluster.node(2).usage().freeBytes() - (1 << 20)));
        long[] filled = atRest(cluster);
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> cluster.attach(0)
                        .memory()
                        .malloc(shared(30 << 20, "big").withPlacement(Placement.spread())))
                .withMessageContaining("node n2 has ")
                .withMessageContaining("bytes free");
        awaitRest(cluster, filled);
        assertThatThrownBy(() -> cluster.attach(0).memory().map("big", Permission.READ))
                .isInstanceOf(LmrNotFoundException.class);
        filler.free();
        cluster.attach(0)
                .memory()
                .malloc(shared(30 << 20, "big").withPlacement(Placement.spread()))
                .free();
        awaitRest(cluster, rest);
    }

    @Test
    void aFullNodeNamesItsFigures() {
        TestCluster cluster = cluster(1);
        LiteNode.Usage usage = cluster.node(0).usage();
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(() -> cluster.attach(0).memory().malloc(LmrSpec.of(usage.freeBytes() + 1)))
                .withMessageContaining("node n0 has ")
                .withMessageContaining("bytes free of ");
        assertThatThrownBy(() -> cluster.attach(0).memory().malloc(LmrSpec.of(1L << 40)))
                .isInstanceOf(LimitExceededException.class)
                .hasMessageContaining("node n0: ")
                .hasMessageContaining("; its arena has ");
        assertThatThrownBy(() -> cluster.attach(0).memory().malloc(LmrSpec.of(Long.MAX_VALUE)))
                .isInstanceOf(LimitExceededException.class);
        assertThatThrownBy(() -> cluster.attach(0)
                        .memory()
                        .malloc(LmrSpec.of(Long.MAX_VALUE).withPlacement(Placement.on("n0"))))
                .isInstanceOf(LimitExceededException.class);
        Waits.until("nothing stays taken", () -> cluster.node(0).usage().reclaiming() == 0);
        assertThat(cluster.node(0).usage().allocatedBytes()).isEqualTo(usage.allocatedBytes());
    }

    @Test
    void aRestartedNodeKeepsEveryByteOfItsArenaAndMappersGoOn() {
        TestCluster cluster = cluster(3);
        byte[] data = bytes(new Random(3), 900_000);
        LmrHandle master =
                cluster.attach(0).memory().malloc(shared(900_000, "kept").withPlacement(Placement.spread()));
        LmrHandle mapper = cluster.attach(1).memory().map("kept", DATA[0], DATA);
        master.write(0, data);
        long before = cluster.node(2).usage().allocatedBytes();
        cluster.stop("n2");
        cluster.start("n2");
        assertThat(cluster.node(2).usage().allocatedBytes()).isEqualTo(before);
        cluster.awaitConnections();
        assertThat(Arrays.equals(read(mapper, 0, 900_000), data)).isTrue();
        mapper.write(17, new byte[] {1, 2, 3});
        LmrHandle again = cluster.attach(2).memory().map("kept", DATA[0], DATA);
        assertThat(read(again, 17, 3)).containsExactly(1, 2, 3);
        assertThat(again.fetchAdd(0, 1)).isEqualTo(mapper.fetchAdd(0, 1) - 1);
        master.free();
        assertThatThrownBy(() -> again.read(0, new byte[1])).isInstanceOf(LmrFreedException.class);
        Waits.until("its memory is free", () -> cluster.node(2).usage().allocatedBytes() < before);
    }

    @Test
    void anLmrOfANodeThatCameBackWithANewArenaIsUnavailableAndNeverSomebodyElses() throws IOException {
        TestCluster cluster = cluster(3);
        LmrHandle master = cluster.attach(0).memory().malloc(shared(64, "lost").withPlacement(Placement.on("n2")));
        LmrHandle mapper = cluster.attach(1).memory().map("lost", DATA[0], DATA);
        LmrHandle elsewhere =
                cluster.attach(0).memory().malloc(shared(64, "safe").withPlacement(Placement.on("n1")));
        mapper.write(0, new byte[] {1});
        cluster.stop("n2");
        Files.delete(cluster.arenas().resolve("c").resolve("n2").resolve("arena"));
        cluster.start("n2");
        cluster.awaitConnections();
        for (LmrHandle handle : List.of(master, mapper)) {
            assertThatExceptionOfType(LmrUnavailableException.class)
                    .isThrownBy(() -> handle.read(0, new byte[1]))
                    .withMessageContaining("LMR \"lost\"")
                    .withMessageContaining("node n2 came back with a new arena");
            assertThatThrownBy(() -> handle.write(0, new byte[1])).isInstanceOf(LmrUnavailableException.class);
        }
        elsewhere.write(0, new byte[] {5});
        // The place belongs to somebody else by now.
        LmrHandle next = cluster.attach(2).memory().malloc(LmrSpec.of(64));
        next.write(0, new byte[] {9});
        for (int node = 0; node < 3; node++) {
            Lite lite = cluster.attach(node);
            assertThatThrownBy(() -> lite.memory().map("lost", Permission.READ))
                    .as("mapping it at node %d", node)
                    .isInstanceOf(LmrUnavailableException.class);
        }
        assertThat(next.id()).isNotEqualTo(master.id());
        mapper.unmap();
        master.unmap();
    }

    @Test
    void idsAreNeverUsedAgainAlsoNotByANodeWithANewArena() throws IOException {
        TestCluster cluster = cluster(1);
        Set<Long> ids = new HashSet<>();
        for (int life = 0; life < 3; life++) {
            LtMemory memory = cluster.attach(0).memory();
            for (int count = 0; count < 5; count++) {
                assertThat(ids.add(memory.malloc(LmrSpec.of(8)).id())).isTrue();
            }
            cluster.stop("n0");
            if (life == 1) {
                Files.delete(cluster.arenas().resolve("c").resolve("n0").resolve("arena"));
            }
            cluster.start("n0");
        }
    }

    @Test
    void theEndOfASessionWithManyLmrsGivesAllOfThemBack() {
        TestCluster cluster = cluster(3);
        long[] rest = atRest(cluster);
        Lite lite = cluster.attach(0);
        for (int count = 0; count < Effort.times(2_000); count++) {
            lite.memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("n" + count % 3)));
        }
        lite.close();
        awaitRest(cluster, rest);
    }

    /** Everything that can be called is called while each of the nodes is closed; nothing crashes, hangs or is untyped. */
    @Test
    void closingANodeWhileOthersOperateEndsEveryCallWithATypedException() {
        for (int round = 0; round < 3; round++) {
            closeUnderLoad("n" + round);
        }
    }

    private void closeUnderLoad(String closing) {
        TestCluster cluster = new TestCluster(root, provider(), Waits.seconds(1)).start(3);
        AtomicBoolean over = new AtomicBoolean();
        ConcurrentLinkedQueue<Throwable> wrong = new ConcurrentLinkedQueue<>();
        AtomicLong done = new AtomicLong();
        LmrHandle shared =
                cluster.attach(0).memory().malloc(shared(300_000, "s").withPlacement(Placement.spread()));
        List<Thread> threads = new ArrayList<>();
        for (int index = 0; index < 3; index++) {
            Lite lite = cluster.attach(index);
            LmrHandle mine = lite.memory().map("s", DATA[0], DATA);
            threads.add(loop(over, wrong, done, () -> mine.write(0, new byte[200_000])));
            threads.add(loop(over, wrong, done, () -> mine.fetchAdd(8, 1)));
            threads.add(loop(
                    over,
                    wrong,
                    done,
                    () -> lite.memory()
                            .malloc(LmrSpec.of(50_000).withPlacement(Placement.spread()), Waits.seconds(1))
                            .free()));
            threads.add(loop(
                    over,
                    wrong,
                    done,
                    () -> lite.memory().malloc(LmrSpec.of(64)).free()));
            threads.add(loop(
                    over,
                    wrong,
                    done,
                    () -> lite.memory()
                            .map("s", Set.of(Permission.READ), Waits.seconds(1))
                            .unmap()));
        }
        Waits.until("it is busy", () -> done.get() > Effort.times(300));
        cluster.stop(closing);
        over.set(true);
        threads.forEach(Waits::join);
        assertThat(wrong).isEmpty();
        assertThat(shared.size()).isEqualTo(300_000);
        cluster.close();
        try {
            for (int node = 0; node < 3; node++) {
                Files.deleteIfExists(
                        cluster.arenas().resolve("c").resolve("n" + node).resolve("arena"));
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static Thread loop(
            AtomicBoolean over, ConcurrentLinkedQueue<Throwable> wrong, AtomicLong done, Runnable operation) {
        return Thread.ofPlatform().start(() -> {
            while (!over.get()) {
                try {
                    operation.run();
                    done.incrementAndGet();
                } catch (LiteException e) {
                    Thread.onSpinWait();
                } catch (RuntimeException | Error e) {
                    wrong.add(e);
                    return;
                }
            }
        });
    }

    @Test
    void aClosedNodeRefusesEveryCallAndLeavesNothingWhenItIsNotRetained() {
        TestCluster cluster = cluster(0);
        LiteNode node = cluster.start(cluster.config("n0").withArena(root.resolve("gone"), false));
        Lite lite = node.attach("app");
        LmrHandle handle = lite.memory().malloc(LmrSpec.of(8));
        cluster.stop("n0");
        node.close();
        assertThat(root.resolve("gone")).doesNotExist();
        assertThatThrownBy(() -> handle.read(0, new byte[8])).isInstanceOf(SessionLostException.class);
        assertThatThrownBy(() -> lite.memory().malloc(LmrSpec.of(8))).isInstanceOf(SessionLostException.class);
        Lite late = node.attach("late");
        assertThatThrownBy(() -> late.memory().malloc(LmrSpec.of(8))).isInstanceOf(SessionLostException.class);
    }

    @Test
    void aNodeThatCannotStartSaysWhyAndLeavesTheOthersAlone() {
        TestCluster cluster = cluster(2);
        assertThatThrownBy(() -> cluster.start("n1"))
                .isInstanceOf(ArenaException.class)
                .hasMessageContaining("runs already on this host");
        LiteNodeConfig elsewhere =
                cluster.in("n1", root.resolve("run-elsewhere")).withArena(root.resolve("elsewhere"), false);
        assertThatThrownBy(() -> cluster.start(elsewhere))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessageContaining("n1");
        assertThat(root.resolve("elsewhere")).doesNotExist();
        cluster.awaitConnections();
        LmrHandle handle = cluster.attach(0).memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("n1")));
        handle.write(0, new byte[] {1});
    }
}
