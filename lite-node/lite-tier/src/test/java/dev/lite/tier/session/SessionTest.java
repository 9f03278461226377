package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.Extent;
import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteException;
import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The operations of an application through its session, over a real socket and real shared memory. */
class SessionTest {
    @TempDir
    Path directory;

    private final FakeBackend backend = new FakeBackend();
    private SessionServer server;
    private Lite lite;

    @BeforeEach
    void attach() {
        Path socket = directory.resolve("node.sock");
        server = new SessionServer(SessionServerConfig.of(socket), backend);
        server.start();
        lite = Lite.attach(AttachOptions.to(socket, "test"));
    }

    @AfterEach
    void detach() {
        lite.close();
        server.close();
        backend.close();
    }

    @Test
    void anAttachedApplicationKnowsItsUserAndItsNode() {
        assertThat(lite.nodeName()).isEqualTo(FakeBackend.NODE);
        assertThat(lite.isOpen()).isTrue();
        assertThat(lite.nodes()).isEqualTo(backend.nodes);
        assertThat(server.sessions()).singleElement().satisfies(session -> {
            assertThat(session.application()).isEqualTo("test");
            assertThat(session.principal()).isEqualTo("uid:" + session.uid());
            assertThat((long) session.pid()).isEqualTo(ProcessHandle.current().pid());
        });
    }

    @Test
    void everyOperationHasTheApplicationsDeadline() {
        Duration deadline = Duration.ofSeconds(60);
        backend.notesTimeouts = true;
        try (Lite longDeadline = Lite.attach(
                AttachOptions.to(directory.resolve("node.sock"), "test").withDeadline(deadline))) {
            LmrHandle lmr = longDeadline.memory().malloc(LmrSpec.of(1 << 20));
            lmr.read(0, new byte[8]);
            lmr.write(0, new byte[8]);
            lmr.fetchAdd(0, 1);
            lmr.testSet(0, 1, 2);
            lmr.memset(0, 8, (byte) 1);
            lmr.memset(0, 1 << 20, (byte) 1);
            lmr.grant("other", Set.of(Permission.READ));
            lmr.moveTo("node-2");
            lmr.free();
            longDeadline.memory().malloc(LmrSpec.of(8)).unmap();
        }

        assertThat(backend.timeouts)
                .containsOnlyKeys(
                        "read",
                        "write",
                        "fetchAdd",
                        "testSet",
                        "memset",
                        "long memset",
                        "grant",
                        "moveTo",
                        "free",
                        "unmap");
        // The node's deadline is a little shorter, so that its answer still reaches the application.
        assertThat(backend.timeouts.values())
                .allSatisfy(timeoutNs ->
                        assertThat(timeoutNs).isBetween(deadline.minusSeconds(1).toNanos(), deadline.toNanos() - 1));
    }

    @Test
    void writtenBytesAreReadThroughAnotherHandle() {
        try (LmrHandle made = lite.memory().malloc(LmrSpec.of(1000).withName("lmr"));
                LmrHandle mapped = lite.memory().map("lmr", Permission.READ)) {
            assertThat(made.size()).isEqualTo(1000);
            assertThat(made.name()).contains("lmr");
            assertThat(mapped.id()).isEqualTo(made.id());
            assertThat(mapped.permissions()).containsExactly(Permission.READ);
            byte[] source = {1, 2, 3, 4, 5};
            made.write(990, source);
            byte[] destination = new byte[10];
            mapped.read(988, destination);
            assertThat(destination).containsExactly(0, 0, 1, 2, 3, 4, 5, 0, 0, 0);
        }
    }

    @ParameterizedTest
    @ValueSource(
            ints = {0, 1, 7, 8, 65_535, 65_536, 65_537, 131_072, 262_144, 262_145, 1_000_003, 4 * 1024 * 1024 + 17})
    void transfersOfEverySizeKeepEveryByteOnTheHeapAndOff(int bytes) {
        byte[] source = new byte[bytes];
        new Random(bytes).nextBytes(source);
        try (LmrHandle lmr = lite.memory().malloc(LmrSpec.of(bytes + 200L));
                Arena arena = Arena.ofConfined()) {
            lmr.write(100, source);
            byte[] onHeap = new byte[bytes];
            lmr.read(100, onHeap);
            assertThat(onHeap).isEqualTo(source);

            MemorySegment offHeap = arena.allocate(Math.max(1, bytes)).asSlice(0, bytes);
            lmr.read(100, offHeap);
            lmr.write(101, offHeap);
            lmr.read(101, onHeap);
            assertThat(onHeap).isEqualTo(source);
            byte[] edges = new byte[1];
            lmr.read(99, edges);
            assertThat(edges).containsExactly(0);
            lmr.read(bytes + 101L, edges);
            assertThat(edges).containsExactly(0);
        }
    }

    @Test
    void atomicsReturnThePreviousValue() {
        try (LmrHandle lmr = lite.memory().malloc(LmrSpec.of(64))) {
            assertThat(lmr.fetchAdd(8, 5)).isZero();
            assertThat(lmr.fetchAdd(8, -7)).isEqualTo(5);
            assertThat(lmr.testSet(8, 1, 9)).isEqualTo(-2);
            assertThat(lmr.testSet(8, -2, 9)).isEqualTo(-2);
            MemorySegment word = MemorySegment.ofArray(new long[1]);
            lmr.read(8, word);
            assertThat(word.get(ValueLayout.JAVA_LONG, 0)).isEqualTo(9);
        }
    }

    @Test
    void rangesOutOfBoundsAreRefusedEvenIfTheyOverflow() {
        try (LmrHandle lmr = lite.memory().malloc(LmrSpec.of(100))) {
            byte[] ten = new byte[10];
            for (long offset : new long[] {91, 100, -1, Long.MAX_VALUE, Long.MAX_VALUE - 5, Long.MIN_VALUE}) {
                assertThatExceptionOfType(LmrBoundsException.class)
                        .isThrownBy(() -> lmr.read(offset, ten))
                        .withMessageContaining(Long.toString(offset))
                        .withMessageContaining("100 bytes");
                assertThatExceptionOfType(LmrBoundsException.class).isThrownBy(() -> lmr.write(offset, ten));
            }
            assertThatExceptionOfType(LmrBoundsException.class)
                    .isThrownBy(() -> lmr.fetchAdd(4, 1))
                    .withMessageContaining("multiple of 8");
            assertThatExceptionOfType(LmrBoundsException.class).isThrownBy(() -> lmr.testSet(96, 0, 1));
            lmr.read(100, new byte[0]);
        }
    }

    @Test
    void aHandleAllowsOnlyTheOperationsItWasMappedFor() {
        try (LmrHandle made = lite.memory().malloc(LmrSpec.of(64).withName("mine"));
                LmrHandle readable = lite.memory().map("mine", Permission.READ);
                LmrHandle writable = lite.memory().map("mine", Permission.WRITE)) {
            byte[] bytes = new byte[8];
            readable.read(0, bytes);
            writable.write(0, bytes);
            assertThat(made.permissions()).isEqualTo(EnumSet.allOf(Permission.class));
            assertThatExceptionOfType(LmrPermissionException.class)
                    .isThrownBy(() -> readable.write(0, bytes))
                    .withMessageContaining("\"mine\"")
                    .withMessageContaining("WRITE");
            assertThatExceptionOfType(LmrPermissionException.class).isThrownBy(() -> writable.read(0, bytes));
            assertThatExceptionOfType(LmrPermissionException.class).isThrownBy(() -> writable.fetchAdd(0, 1));
            assertThatExceptionOfType(LmrPermissionException.class).isThrownBy(readable::free);
            // A refused free does not change the handle.
            readable.read(0, bytes);
        }
    }

    @Test
    void aReadOnlyDestinationIsRefusedBeforeTheNodeIsAsked() {
        try (LmrHandle lmr = lite.memory().malloc(LmrSpec.of(64))) {
            assertThatExceptionOfType(IllegalArgumentException.class)
                    .isThrownBy(
                            () -> lmr.read(0, MemorySegment.ofArray(new byte[8]).asReadOnly()));
        }
    }

    @Test
    void anUnusableSegmentLeaksNoSlot() throws InterruptedException {
        try (LmrHandle lmr = lite.memory().malloc(LmrSpec.of(1 << 20));
                Arena arena = Arena.ofConfined()) {
            MemorySegment others = arena.allocate(1 << 20);
            AtomicInteger refused = new AtomicInteger();
            Thread.ofPlatform()
                    .start(() -> {
                        for (int i = 0; i < 100; i++) {
                            assertThatExceptionOfType(WrongThreadException.class)
                                    .isThrownBy(() -> lmr.read(0, others));
                            assertThatExceptionOfType(WrongThreadException.class)
                                    .isThrownBy(() -> lmr.write(0, others));
                            refused.incrementAndGet();
                        }
                    })
                    .join();
            assertThat(refused).hasValue(100);
            lmr.read(0, others);
        }
    }

    @Test
    void anErrorOfTheNodeIsThrownWithItsTypeAndMessage() {
        lite.memory().malloc(LmrSpec.of(8).withName("taken"));
        assertThatExceptionOfType(LmrExistsException.class)
                .isThrownBy(() -> lite.memory().malloc(LmrSpec.of(8).withName("taken")))
                .withMessage("LMR \"taken\" exists");
        assertThatExceptionOfType(LmrNotFoundException.class)
                .isThrownBy(() -> lite.memory().map("unknown", Permission.READ))
                .withMessage("no LMR \"unknown\"");
        assertThatExceptionOfType(LiteException.class)
                .isThrownBy(() -> lite.memory().malloc(LmrSpec.of(Long.MAX_VALUE)))
                .withMessageContaining(Long.toString(Long.MAX_VALUE));
    }

    @Test
    void aHandleReportsItsRemainingPermissionsAfterARevocation() {
        LmrHandle lmr = lite.memory().malloc(LmrSpec.of(64).withName("kept"));
        assertThat(lmr.permissions()).containsExactlyInAnyOrder(Permission.values());
        backend.revoked = Permission.WRITE.bit() | Permission.ATOMIC.bit();
        assertThat(lmr.permissions()).containsExactlyInAnyOrder(Permission.READ, Permission.MASTER);
        assertThatExceptionOfType(LmrPermissionException.class).isThrownBy(() -> lmr.write(0, new byte[8]));
        lmr.unmap();
        assertThat(lmr.permissions()).containsExactlyInAnyOrder(Permission.values());
    }

    @Test
    void anUnmappedHandleIsStaleAndASecondUnmapDoesNothing() {
        LmrHandle lmr = lite.memory().malloc(LmrSpec.of(64).withName("kept"));
        lmr.unmap();
        lmr.unmap();
        assertThatExceptionOfType(LmrFreedException.class)
                .isThrownBy(() -> lmr.read(0, new byte[8]))
                .withMessageContaining("\"kept\"")
                .withMessageContaining("unmapped");
        assertThatExceptionOfType(LmrFreedException.class).isThrownBy(() -> lmr.fetchAdd(0, 1));
        assertThatExceptionOfType(LmrFreedException.class).isThrownBy(lmr::free);
        assertThat(backend.handlesUnmapped).hasValue(1);
        assertThat(backend.has("kept")).isTrue();
    }

    @Test
    void afterAFreeEveryHandleIsStale() {
        LmrHandle made = lite.memory().malloc(LmrSpec.of(64).withName("gone"));
        LmrHandle other = lite.memory().map("gone", Permission.READ, Permission.WRITE);
        made.free();
        assertThat(backend.has("gone")).isFalse();
        assertThatExceptionOfType(LmrFreedException.class).isThrownBy(() -> made.read(0, new byte[8]));
        // Only the node knows that this one is stale.
        assertThatExceptionOfType(LmrFreedException.class).isThrownBy(() -> other.read(0, new byte[8]));
        assertThatExceptionOfType(LmrFreedException.class).isThrownBy(() -> other.write(0, new byte[1 << 6]));
        other.unmap();
        made.unmap();
    }

    @Test
    void longListsArriveComplete() {
        backend.extents = 5_000;
        List<NodeInfo> nodes = new ArrayList<>();
        for (int i = 0; i < 3_000; i++) {
            nodes.add(new NodeInfo("node-with-quite-a-long-name-" + i, i, i, i, "shm"));
        }
        backend.nodes = nodes;
        assertThat(lite.nodes()).isEqualTo(nodes);
        try (LmrHandle lmr = lite.memory().malloc(LmrSpec.of(64))) {
            List<Extent> extents = lmr.extents();
            assertThat(extents).hasSize(5_000);
            assertThat(extents.getLast()).isEqualTo(new Extent("node-4999", 499_900, 100));
        }
    }

    @Test
    void virtualThreadsCanUseTheSession() throws InterruptedException {
        try (LmrHandle lmr = lite.memory().malloc(LmrSpec.of(64))) {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
                threads.add(Thread.ofVirtual().start(() -> lmr.fetchAdd(0, 1)));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(lmr.fetchAdd(0, 0)).isEqualTo(200);
        }
    }

    @Test
    void detachingReleasesEverythingOnceBeforeItReturns() {
        lite.memory().malloc(LmrSpec.of(64));
        lite.memory().malloc(LmrSpec.of(64).withName("a"));
        lite.close();
        lite.close();
        assertThat(backend.sessionsClosed).hasValue(1);
        assertThat(backend.handlesUnmapped).hasValue(2);
        assertThat(lite.isOpen()).isFalse();
        Waits.until("the session is gone", () -> server.sessions().isEmpty());
    }

    @Test
    void waitingOperationsDelayNoOtherOfTheirSession() {
        backend.resume();
        LmrHandle slow = lite.memory().malloc(LmrSpec.of(8).withName(FakeBackend.SLOW));
        LmrHandle quick = lite.memory().malloc(LmrSpec.of(8));
        backend.slowAgain();
        List<Thread> waiting = new ArrayList<>();
        AtomicInteger went = new AtomicInteger();
        for (int thread = 0; thread < 5; thread++) {
            int before = backend.waited.get();
            waiting.add(Thread.ofPlatform().start(() -> {
                long unused = slow.fetchAdd(0, 1);
                went.incrementAndGet();
            }));
            Waits.until("it waits", () -> backend.waited.get() > before);
            for (int round = 0; round < 100; round++) {
                long unused = quick.fetchAdd(0, 1);
            }
        }
        assertThat(went).hasValue(0);
        assertThat(servingThreads()).isGreaterThan(1);

        backend.resume();

        for (Thread thread : waiting) {
            Waits.join(thread);
        }
        assertThat(slow.fetchAdd(0, 0)).isEqualTo(5);
        assertThat(quick.fetchAdd(0, 0)).isEqualTo(500);
        Waits.until("the extra threads have ended", () -> servingThreads() <= 1);
    }

    /** Those of the only session; none while it rests. */
    private int servingThreads() {
        Object session = Inside.field(server, "connections", Map.class)
                .keySet()
                .iterator()
                .next();
        return Inside.field(Inside.field(session, "worker", SessionWorker.class), "serving", Integer.class);
    }

    @Test
    void aLockIsReleasedEvenIfTheShortPathToItsHomeFails() {
        HeldLock held = lite.sync().lock("far").acquire(Waits.scaled(Duration.ofSeconds(5)));

        held.close();

        assertThat(backend.locksReleased).hasValue(1);
        assertThat(held.isHeld()).isFalse();
    }
}
