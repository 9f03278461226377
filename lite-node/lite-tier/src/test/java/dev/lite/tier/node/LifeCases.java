package dev.lite.tier.node;

import static dev.lite.tier.node.LiteNodeContract.DATA;
import static dev.lite.tier.node.LiteNodeContract.allocated;
import static dev.lite.tier.node.LiteNodeContract.atRest;
import static dev.lite.tier.node.LiteNodeContract.awaitRest;
import static dev.lite.tier.node.LiteNodeContract.bytes;
import static dev.lite.tier.node.LiteNodeContract.read;
import static dev.lite.tier.node.LiteNodeContract.shared;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.Lifetime;
import dev.lite.api.Lite;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.SessionLostException;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.Effort;
import dev.lite.tier.testing.TestCluster;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;

/** Names, permissions, and the ends of LMRs and sessions. */
interface LifeCases extends NodeCases {

    @Test
    default void concurrentCreateOrMapCallsCreateOneLmrAndMapItForAll() throws InterruptedException {
        TestCluster cluster = cluster(3);
        long[] rest = atRest(cluster);
        List<LtMemory> memories = List.of(
                cluster.node(0).attach("service").memory(),
                cluster.node(1).attach("service").memory());
        for (int round = 0; round < Math.max(3, Effort.times(20)); round++) {
            LmrSpec spec = LmrSpec.of(4096).withName("replicated-" + round).withDefaultPermissions(Permission.READ);
            Set<Long> ids = ConcurrentHashMap.newKeySet();
            List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
            List<Thread> threads = new ArrayList<>();
            for (int replica = 0; replica < 4; replica++) {
                LtMemory memory = memories.get(replica % 2);
                threads.add(Thread.ofPlatform().start(() -> {
                    try (LmrHandle handle = memory.createOrMap(spec)) {
                        ids.add(handle.id());
                        handle.fetchAdd(0, 1);
                    } catch (RuntimeException | Error e) {
                        failures.add(e);
                    }
                }));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(failures).isEmpty();
            assertThat(ids).hasSize(1);
            try (LmrHandle last = memories.get(0).createOrMap(spec, Permission.ATOMIC, Permission.MASTER)) {
                assertThat(last.permissions()).containsExactlyInAnyOrder(Permission.ATOMIC, Permission.MASTER);
                assertThat(last.fetchAdd(0, 0)).isEqualTo(4);
                last.free();
            }
        }
        awaitRest(cluster, rest);
    }

    @Test
    default void createOrMapGivesTheCreatorExactlyTheRequestedPermissions() {
        LtMemory memory = cluster(1).node(0).attach("service").memory();
        LmrSpec spec = LmrSpec.of(64).withName("exact");
        LmrHandle created = memory.createOrMap(spec, Permission.READ);
        assertThat(created.permissions()).containsExactly(Permission.READ);
        assertThatExceptionOfType(LmrPermissionException.class).isThrownBy(() -> created.write(0, new byte[1]));
        assertThat(memory.createOrMap(spec).permissions())
                .containsExactlyInAnyOrder(Permission.READ, Permission.WRITE, Permission.ATOMIC);
    }

    @Test
    default void createOrMapRefusesAnotherSizeOrOtherDefaultPermissionsAndReportsBothValues() {
        TestCluster cluster = cluster(2);
        LtMemory memory = cluster.node(0).attach("service").memory();
        memory.createOrMap(LmrSpec.of(64).withName("a").withDefaultPermissions(Permission.READ));
        LtMemory other = cluster.node(1).attach("service").memory();
        assertThatExceptionOfType(LmrExistsException.class)
                .isThrownBy(
                        () -> other.createOrMap(LmrSpec.of(65).withName("a").withDefaultPermissions(Permission.READ)))
                .withMessageContaining("\"a\" exists with 64 bytes")
                .withMessageContaining("65 bytes");
        assertThatExceptionOfType(LmrExistsException.class)
                .isThrownBy(
                        () -> other.createOrMap(LmrSpec.of(64).withName("a").withDefaultPermissions(Permission.ATOMIC)))
                .withMessageContaining("[READ]")
                .withMessageContaining("[ATOMIC]");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> memory.createOrMap(LmrSpec.of(64)))
                .withMessageContaining("withName");
    }

    @Test
    default void anotherPrincipalHasExactlyTheDefaultPermissions() {
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
        // A principal has the same permissions at every node.
        cluster.node(1)
                .attach("alice")
                .memory()
                .map("private", Permission.MASTER)
                .free();
        assertThatThrownBy(() -> alice.map("private", Permission.READ)).isInstanceOf(LmrNotFoundException.class);
    }

    @Test
    default void errorsNameATakenUnknownOrFreedNameAndAnUnknownNode() {
        TestCluster cluster = cluster(3);
        long[] rest = atRest(cluster);
        LtMemory memory = cluster.attach(0).memory();
        LmrHandle first = memory.malloc(shared(100, "a"));
        assertThatExceptionOfType(LmrExistsException.class)
                .isThrownBy(() -> cluster.attach(1).memory().malloc(shared(100, "a")))
                .withMessage("the name \"a\" belongs to another LMR");
        assertThatExceptionOfType(LmrNotFoundException.class)
                .isThrownBy(() -> memory.map("b", Permission.READ))
                .withMessage("no LMR has the name \"b\"");
        assertThatExceptionOfType(NodeUnreachableException.class)
                .isThrownBy(() -> memory.malloc(LmrSpec.of(1).withPlacement(Placement.on("n9"))))
                .withMessage("node \"n9\" is not a live node of cluster \"c\"; live are [n0, n1, n2]");
        first.free();
        assertThatThrownBy(() -> memory.map("a", Permission.READ)).isInstanceOf(LmrNotFoundException.class);
        LmrHandle second = memory.malloc(shared(200, "a"));
        assertThat(second.id()).isNotEqualTo(first.id());
        assertThatThrownBy(() -> first.read(0, new byte[1])).isInstanceOf(LmrFreedException.class);
        second.free();
        awaitRest(cluster, rest);
    }

    @Test
    default void freeNotifiesEveryMapperAndFreesEveryByte() {
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
            assertThat(cluster.node(node).figures().usage().handles()).isZero();
        }
        // Its old contents are visible to no other LMR.
        LmrHandle next = cluster.attach(2).memory().malloc(LmrSpec.of(6 << 20).withPlacement(Placement.spread()));
        assertThat(Arrays.equals(read(next, 0, 6 << 20), new byte[6 << 20])).isTrue();
    }

    @Test
    default void theEndOfASessionFreesOnlyItsLmrsAndUnmapsOnlyItsHandles() {
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
        Waits.until("the mapper is notified", () -> {
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
        assertThat(cluster.node(0).figures().usage().sessions()).isZero();
    }

    @Test
    default void theEndOfASessionWithManyLmrsFreesAllOfThem() {
        TestCluster cluster = cluster(3);
        long[] rest = atRest(cluster);
        Lite lite = cluster.attach(0);
        for (int count = 0; count < Effort.times(2_000); count++) {
            lite.memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("n" + count % 3)));
        }
        lite.close();
        awaitRest(cluster, rest);
    }

    @Test
    default void withoutTheDirectoryNamesAreUnavailableButHandlesStillWork() {
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
        // Anonymous LMRs need no directory.
        memory.malloc(LmrSpec.of(1000)).free();
        memory.malloc(LmrSpec.of(10_000).withPlacement(Placement.on("n2"))).free();
        for (int node = 0; node < 3; node++) {
            cluster.directory(node).setAvailable(true);
        }
        memory.malloc(shared(1, "y")).free();
        handle.free();
        awaitRest(cluster, rest);
    }
}
