package dev.lite.client.reattach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ForwardingLmrHandle;
import dev.lite.api.HeldLock;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteException;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtLock;
import dev.lite.api.LtMemory;
import dev.lite.api.LtSync;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.Priority;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.client.fake.FakeLite;
import dev.lite.client.fake.FakeSync;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ReattachingLiteTest {

    private static final Duration LONG = Waits.seconds(30);
    private static final Duration SHORT = Duration.ofMillis(150);
    private static final byte[] BYTES = new byte[8];

    private final List<FakeLite> sessions = new CopyOnWriteArrayList<>();
    private volatile boolean nodeIsUp = true;
    private volatile long idOfA = 7;
    private volatile boolean attachesSlowly;
    /** The only thread that can attach, or null. */
    private volatile @Nullable Thread attachesBy;

    private volatile boolean attaches;
    private volatile int refusedRegistrations;
    private final Queue<Error> registrationErrors = new ConcurrentLinkedQueue<>();
    private volatile String nodeName = "fake-1";
    private volatile Runnable whenMapping = () -> {};
    private volatile Runnable whenRegistering = () -> {};
    /** How many of the next sessions end at once, and their node with them. */
    private final AtomicInteger shortSessions = new AtomicInteger();

    private final Queue<Thread> attemptsToAttach = new ConcurrentLinkedQueue<>();
    private final ReattachingLite lite = open(LONG);

    private ReattachingLite open(Duration deadline) {
        return open(AttachOptions.to(Path.of("/tmp/x.sock"), "test")
                .withReattach(true)
                .withDeadline(deadline));
    }

    private ReattachingLite open(AttachOptions wanted) {
        return ReattachingLite.attach(wanted, options -> {
            attemptsToAttach.add(Thread.currentThread());
            Thread only = attachesBy;
            if (!nodeIsUp || (only != null && only != Thread.currentThread())) {
                throw new NodeUnreachableException("nobody listens");
            }
            if (attachesSlowly) {
                attaches = true;
                Waits.pass(Duration.ofMillis(20));
            }
            FakeLite attached = new FakeLite(options).knowing("a", idOfA);
            attached.nodeName = nodeName;
            attached.whenMapping = whenMapping;
            attached.rpc().refusals.set(refusedRegistrations);
            Error error = registrationErrors.poll();
            if (error != null) {
                attached.rpc().errors.add(error);
            }
            attached.rpc().whenRegistering = whenRegistering;
            sessions.add(attached);
            if (shortSessions.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                nodeIsUp = false;
                attached.lose();
                attached.ended().toCompletableFuture().join();
            }
            return sessions.getLast();
        });
    }

    @Test
    void aLazySessionAttachesAtItsFirstUse() {
        nodeIsUp = false;
        ReattachingLite lazy = openLazily(SHORT);
        assertThat(lazy.isOpen()).isFalse();
        assertThat(lazy).hasToString("ReattachingLite[/tmp/x.sock, not attached yet]");
        assertThatThrownBy(() -> lazy.memory().map("a", Permission.READ)).isInstanceOf(NodeUnreachableException.class);
        assertThatThrownBy(lazy::nodeName).isInstanceOf(NodeUnreachableException.class);
        assertThatThrownBy(lazy::nodes).isInstanceOf(NodeUnreachableException.class);
        nodeIsUp = true;
        assertThat(lazy.memory().map("a", Permission.READ).id()).isEqualTo(idOfA);
        assertThat(lazy.isOpen()).isTrue();
        assertThat(lazy.nodeName()).isEqualTo("fake-1");
        assertThat(sessions)
                .as("one at the start of the test, and the lazy one")
                .hasSize(2);
    }

    @Test
    void theHandlersOfALazySessionAreServedOnceAsSoonAsTheNodeIsThere() {
        nodeIsUp = false;
        ReattachingLite lazy = openLazily(SHORT);
        RpcServer one = lazy.rpc().register("one", 1, call -> MemorySegment.ofArray(BYTES));
        RpcServer two = lazy.rpc().register("two", 1, call -> MemorySegment.ofArray(BYTES));
        nodeIsUp = true;
        Waits.until(
                "both are served",
                () -> sessions.size() == 2 && sessions.getLast().rpc().handlers.size() == 2);
        assertThat(sessions.getLast().rpc().handlers).containsOnlyKeys("one", "two");
        one.close();
        two.close();
        lazy.close();
    }

    @Test
    void aLazySessionThatWasNeverUsedCloses() {
        ReattachingLite lazy = openLazily(SHORT);
        lazy.close();
        assertThat(sessions).hasSize(1);
        assertThatThrownBy(lazy::nodes).isInstanceOf(SessionLostException.class);
    }

    private ReattachingLite openLazily(Duration deadline) {
        return open(
                AttachOptions.to(Path.of("/tmp/x.sock"), "test").withLazy(true).withDeadline(deadline));
    }

    @Test
    void theMemoryOutlivesTheNodesRestart() {
        var memory = lite.memory();
        sessions.getLast().lose();
        assertThat(lite.isOpen()).isFalse();
        assertThatThrownBy(() -> memory.map("b", Permission.READ)).isInstanceOf(LmrNotFoundException.class);
        assertThat(lite.isOpen()).isTrue();
        assertThat(sessions).hasSize(2);
    }

    @Test
    void aLockUsesTheCurrentSession() {
        LtSync sync = lite.sync();
        LtLock lock = sync.lock("a");
        assertThat(lock.tryAcquire()).isEmpty();
        sessions.getLast().lose();
        assertThat(lock.tryAcquire()).isEmpty();
        assertThat(sessions).hasSize(2);
        assertThat(sync.lock("a").tryAcquire()).isEmpty();
        assertThat(sessions).hasSize(2);
    }

    @Test
    void aLockWhoseOpeningMeetsTheLossOfTheSessionIsOpenedInTheNextOne() {
        sessions.getLast().sync().losesSessionInNextLock = true;
        LtLock lock = lite.sync().lock(FakeSync.FREE);
        assertThat(sessions).hasSize(2);
        sessions.getLast().lose();
        assertThat(lite.nodes()).hasSize(2);
        sessions.getLast().sync().losesSessionInNextLock = true;
        lock.tryAcquire().orElseThrow().close();
        assertThat(sessions).hasSize(4);
    }

    @Test
    void aRegistrationThatMeetsTheLossOfTheSessionIsRepeatedInTheNextOne() {
        FakeLite first = sessions.getLast();
        first.rpc().whenRegistering = () -> {
            first.lose();
            throw new SessionLostException("the session was lost");
        };
        RpcServer server = lite.rpc().register("f", 1, call -> call.request());
        assertThat(sessions).hasSize(2);
        assertThat(sessions.getLast().rpc().handlers).containsOnlyKeys("f");
        server.close();
        assertThat(sessions.getLast().rpc().handlers).isEmpty();

        FakeLite last = sessions.getLast();
        last.rpc().whenRegistering = () -> {
            lite.close();
            throw new SessionLostException("the session was closed");
        };
        assertThatThrownBy(() -> lite.rpc().register("g", 1, call -> call.request()))
                .isInstanceOf(SessionLostException.class);
    }

    @Test
    void aHandleThatIsUnmappedWhileAnotherThreadMapsItAgainStaysUnmapped() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        sessions.getLast().lose();
        whenMapping = handle::unmap;
        assertThatThrownBy(() -> handle.getLong(0)).isInstanceOf(LmrFreedException.class);
        assertThat(sessions).hasSize(2);
        assertThat(sessions.getLast().known("a").unmaps).hasValue(1);
    }

    @Test
    void callersGetAnErrorAtTheirDeadlineWhileTheNodeIsDown() {
        ReattachingLite shortLived = open(SHORT);
        LmrHandle handle = shortLived.memory().map("a", Permission.READ);
        nodeIsUp = false;
        sessions.getLast().lose();
        long startNs = System.nanoTime();

        assertThatThrownBy(() -> shortLived.memory().map("a", Permission.READ))
                .isInstanceOf(NodeUnreachableException.class);
        assertThatThrownBy(() -> handle.read(0, BYTES)).isInstanceOf(NodeUnreachableException.class);

        assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isBetween(SHORT.multipliedBy(2), LONG);
        assertThatThrownBy(shortLived::nodes).as("asked at once").isInstanceOf(NodeUnreachableException.class);
        nodeIsUp = true;
        assertThat(shortLived.nodes()).hasSize(2);
    }

    @Test
    void nodesWaitsForAnotherThreadThatIsAttaching() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        attachesSlowly = true;
        sessions.getLast().lose();
        Thread other = Thread.ofPlatform().start(() -> handle.read(0, BYTES));
        Waits.until("an attachment began", () -> attaches);

        assertThat(lite.nodes()).hasSize(2);

        assertThat(sessions).hasSize(2);
        Waits.join(other);
    }

    @Test
    void callersWaitForTheNodeAndContinueWithTheirHandles() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.WRITE, Permission.ATOMIC);
        LtLock lock = lite.sync().lock("a");
        nodeIsUp = false;
        sessions.getLast().lose();
        Thread node = Thread.ofPlatform().start(() -> {
            Waits.pass(SHORT);
            nodeIsUp = true;
        });

        handle.read(0, BYTES);

        assertThat(nodeIsUp).isTrue();
        handle.write(0, BYTES);
        assertThat(handle.fetchAdd(0, 1)).isEqualTo(5);
        assertThat(handle.id()).isEqualTo(7);
        assertThat(lock.tryAcquire()).isEmpty();
        assertThat(sessions).hasSize(2);
        assertThat(sessions.getLast().known("a").calls).hasValue(3);
        Waits.join(node);
    }

    @Test
    void anAcquireThatTheNextSessionRepeatsHasOnlyTheTimeThatIsLeft() {
        LtLock lock = lite.sync().lock(FakeSync.FREE);
        sessions.getLast().sync().losesSessionInNextAcquireAfter(SHORT);

        lock.acquire(LONG).close();

        assertThat(sessions).hasSize(2);
        assertThat(sessions.getLast().sync().lastDeadline()).isLessThanOrEqualTo(LONG.minus(SHORT));
    }

    @Test
    void aWriteDuringTheLossIsRepeatedButAFetchAddIsNot() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.WRITE, Permission.ATOMIC);
        sessions.getLast().known("a").losesSessionInNextCall = true;

        handle.write(0, BYTES);

        assertThat(sessions).hasSize(2);
        assertThat(sessions.getLast().known("a").calls).hasValue(1);
        sessions.getLast().known("a").losesSessionInNextCall = true;
        assertThatThrownBy(() -> handle.fetchAdd(0, 1)).isInstanceOf(SessionLostException.class);
        assertThat(sessions).as("the call was not repeated").hasSize(2);
        assertThat(handle.fetchAdd(0, 1)).isEqualTo(5);
        assertThat(sessions).hasSize(3);
        assertThat(sessions.getLast().known("a").calls).hasValue(1);
    }

    @Test
    void aWriteIsRepeatedThoughTheNextSessionEndsWhileItMapsAgain() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.WRITE);
        for (boolean writes : List.of(false, true)) {
            int before = sessions.size();
            whenMapping = () -> {
                whenMapping = () -> {};
                sessions.getLast().lose();
            };
            sessions.getLast().known("a").losesSessionInNextCall = true;
            if (writes) {
                handle.write(0, BYTES);
            } else {
                handle.read(0, BYTES);
            }
            assertThat(sessions).hasSize(before + 2);
            assertThat(sessions.getLast().known("a").calls).hasValue(1);
        }
    }

    @Test
    void wordsAreReadAndWrittenAgainAfterALossAsDataIs() {
        ReattachingLite moving = open(AttachOptions.to(Path.of("/tmp/x.sock"), "test")
                .withReattach(true)
                .withDeadline(LONG)
                .withAlternatives(List.of(Path.of("/tmp/y.sock"))));
        LmrHandle handle = moving.memory().map("a", Permission.READ, Permission.WRITE);
        sessions.getLast().known("a").losesSessionInNextCall = true;
        handle.putLong(0, 1);
        sessions.getLast().known("a").losesSessionInNextCall = true;
        handle.putInt(0, 1);
        assertThat(sessions.getLast().known("a").calls)
                .as("repeated at the same node")
                .hasValue(1);

        nodeName = "fake-2";
        sessions.getLast().known("a").losesSessionInNextCall = true;
        assertThat(handle.getLong(0)).isEqualTo(5);
        nodeName = "fake-3";
        sessions.getLast().known("a").losesSessionInNextCall = true;
        assertThat(handle.getInt(0)).isEqualTo(5);
        nodeName = "fake-4";
        sessions.getLast().known("a").losesSessionInNextCall = true;
        assertThatThrownBy(() -> handle.putLong(0, 1)).isInstanceOf(SessionLostException.class);
        sessions.getLast().lose();
        handle.putLong(0, 1); // it began after the loss
        nodeName = "fake-5";
        sessions.getLast().known("a").losesSessionInNextCall = true;
        assertThatThrownBy(() -> handle.putInt(0, 1)).isInstanceOf(SessionLostException.class);
        sessions.getLast().lose();
        handle.putInt(0, 1);
        assertThat(sessions.getLast().known("a").calls).hasValue(1);
        moving.close();
    }

    @Test
    void aWriteDuringTheLossIsNotRepeatedAtAnotherNodeButAReadIs() {
        ReattachingLite moving = open(AttachOptions.to(Path.of("/tmp/x.sock"), "test")
                .withReattach(true)
                .withDeadline(LONG)
                .withAlternatives(List.of(Path.of("/tmp/y.sock"))));
        LmrHandle handle = moving.memory().map("a", Permission.READ, Permission.WRITE);
        nodeName = "fake-2";
        sessions.getLast().known("a").losesSessionInNextCall = true;
        handle.read(0, BYTES);
        assertThat(sessions.getLast().known("a").calls).hasValue(1);

        nodeName = "fake-3";
        sessions.getLast().known("a").losesSessionInNextCall = true;
        assertThatThrownBy(() -> handle.write(0, BYTES)).isInstanceOf(SessionLostException.class);
        assertThat(sessions.getLast().known("a").calls).as("not repeated").hasValue(0);
        handle.write(0, BYTES);
        assertThat(moving.nodeName()).isEqualTo("fake-3");

        nodeName = "fake-4";
        sessions.getLast().lose();
        handle.write(0, BYTES); // it began after the loss
        sessions.getLast().known("a").losesSessionInNextCall = true;
        handle.memset(0, 8, (byte) 0); // repeated, because the next session is at the same node
        assertThat(sessions.getLast().known("a").calls).hasValue(1);
        moving.close();
    }

    @Test
    void onlyABoundedNumberOfOperationsWaitsForANodeThatIsAway() {
        ReattachingLite bounded = open(AttachOptions.to(Path.of("/tmp/x.sock"), "test")
                .withReattach(true)
                .withDeadline(LONG)
                .withWaitersMax(2));
        LmrHandle handle = bounded.memory().map("a", Permission.READ);
        nodeIsUp = false;
        sessions.getLast().lose();
        List<Thread> waiting = new ArrayList<>();
        for (int index = 0; index < 2; index++) {
            waiting.add(Thread.ofVirtual().start(() -> readWhenAdmitted(handle)));
        }
        Waits.until("a further operation fails at once", () -> {
            try {
                bounded.nodes();
                return false;
            } catch (NodeUnreachableException | LiteTimeoutException e) {
                return String.valueOf(e.getMessage()).contains("2 operations wait for it already");
            }
        });
        assertThatThrownBy(() -> handle.read(0, BYTES))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessage("the node at /tmp/x.sock is away, and 2 operations wait for it already; no more may wait");
        nodeIsUp = true;
        waiting.forEach(Waits::join);
        handle.read(0, BYTES);
        bounded.close();
    }

    /** The test's own checks may take its place among the waiters for a moment. */
    private static void readWhenAdmitted(LmrHandle handle) {
        Waits.until("the read is admitted", () -> {
            try {
                handle.read(0, new byte[8]);
                return true;
            } catch (NodeUnreachableException e) {
                return false;
            }
        });
    }

    @Test
    void noOperationIsRepeatedUnderALockThatWasLostWithItsSession() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.WRITE, Permission.ATOMIC);
        LtLock lock = lite.sync().lock(FakeSync.FREE);
        HeldLock first = lock.acquire(LONG);
        HeldLock second = lock.tryAcquire().orElseThrow();
        sessions.getLast().known("a").losesSessionInNextCall = true;

        assertThatThrownBy(() -> handle.write(0, BYTES))
                .isInstanceOf(SessionLostException.class)
                .hasMessageContaining("2 locks that the application has not closed yet");
        first.close();
        first.close();
        assertThatThrownBy(() -> handle.read(0, BYTES))
                .isInstanceOf(SessionLostException.class)
                .hasMessageContaining("1 lock that the application has not closed yet; close it before");
        assertThatThrownBy(() -> handle.fetchAdd(0, 1)).isInstanceOf(SessionLostException.class);
        assertThatThrownBy(() -> handle.memset(0, 8, (byte) 0)).isInstanceOf(SessionLostException.class);
        second.close();

        handle.write(0, BYTES);
        assertThat(sessions.getLast().known("a").calls)
                .as("at the next session")
                .hasValue(1);
    }

    @Test
    void theStatisticsNameALostLockUntilTheApplicationClosesIt() {
        HeldLock lost = lite.sync().lock(FakeSync.FREE).acquire(LONG);
        sessions.getLast().lose();
        assertThat(lite.statistics().locks()).as("before the next session").containsExactly(FakeSync.FREE);
        lite.nodes();
        HeldLock held = lite.sync().lock("b").acquire(LONG);
        sessions.getLast().statistics = new LiteStatistics(Map.of(), 3, List.of("f"), List.of("p"), List.of("b"));
        assertThat(lite.statistics())
                .isEqualTo(new LiteStatistics(Map.of(), 3, List.of("f"), List.of("p"), List.of("b", FakeSync.FREE)));
        lost.close();
        assertThat(lite.statistics()).isEqualTo(sessions.getLast().statistics);
        held.close();
    }

    @Test
    void anInterruptedThreadUsesTheRestartedNodeAndKeepsItsInterrupt() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        sessions.getLast().lose();
        Thread.currentThread().interrupt();
        try {
            handle.read(0, BYTES);
        } finally {
            assertThat(Thread.interrupted()).as("interrupted").isTrue();
        }
        assertThat(sessions.getLast().known("a").calls).hasValue(1);
    }

    @Test
    void aThreadThatIsInterruptedWhileAnotherOneAttachesIsToldSo() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        CountDownLatch mayMap = new CountDownLatch(1);
        CountDownLatch maps = new CountDownLatch(1);
        whenMapping = () -> {
            maps.countDown();
            Waits.await(mayMap);
        };
        sessions.getLast().lose();
        Thread mapping = Thread.ofVirtual().start(() -> handle.read(0, BYTES));
        Waits.await(maps);
        Thread.currentThread().interrupt();
        try {
            assertThatThrownBy(() -> handle.read(0, BYTES))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessageStartingWith("mapping LMR \"a\" again by another thread was under way, and this thread"
                            + " was interrupted while it waited for that, for at most ");
        } finally {
            assertThat(Thread.interrupted()).as("interrupted").isTrue();
            mayMap.countDown();
        }
        Waits.join(mapping);
    }

    @Test
    void argumentsThatNeedNoNodeAreRefusedWhileTheNodeIsAway() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.MASTER);
        nodeIsUp = false;
        sessions.getLast().lose();
        attemptsToAttach.clear();
        LtMemory memory = lite.memory();
        LmrSpec anonymous = LmrSpec.of(8);
        List<ThrowingCallable> invalid = List.of(
                () -> memory.createOrMap(anonymous, Permission.READ),
                () -> memory.map("", Permission.READ),
                () -> memory.map("a", Set.of()),
                () -> memory.map(7, Set.of(), LONG),
                () -> memory.register(anonymous, MemorySegment.ofArray(new byte[7])),
                () -> lite.sync().lock(" "),
                () -> lite.sync().barrier("", 2),
                () -> lite.sync().barrier("b", 0),
                () -> lite.rpc().serve("\n"),
                () -> lite.rpc().messages("\n"),
                () -> lite.rpc().send(" ", "p", MemorySegment.ofArray(BYTES), LONG),
                () -> lite.rpc().send("fake-1", "\n", MemorySegment.ofArray(BYTES), LONG),
                () -> handle.grant("", Set.of(Permission.READ)),
                () -> handle.moveTo(" "));

        for (int index = 0; index < invalid.size(); index++) {
            assertThatThrownBy(invalid.get(index)).as("call %d", index).isInstanceOf(IllegalArgumentException.class);
        }
        assertThat(attemptsToAttach).isEmpty();
    }

    @Test
    void aHandleContinuesOnlyAfterTheApplicationClosedTheLostLockHoweverLongThatTakes() {
        Duration deadline = Waits.seconds(1);
        ReattachingLite shortLived = open(deadline);
        LmrHandle handle = shortLived.memory().map("a", Permission.READ, Permission.WRITE);
        HeldLock lost = shortLived.sync().lock(FakeSync.FREE).acquire(LONG);
        sessions.getLast().lose();
        assertThatThrownBy(() -> handle.write(0, BYTES)).isInstanceOf(SessionLostException.class);
        Waits.pass(deadline.multipliedBy(2));

        assertThatThrownBy(() -> handle.write(0, BYTES))
                .as("two deadlines later")
                .isInstanceOf(SessionLostException.class);
        lost.close();

        handle.write(0, BYTES);
        assertThat(sessions.getLast().known("a").calls)
                .as("at the next session")
                .hasValue(1);
    }

    @Test
    void aHandleOfAnEarlierSessionWaitsForTheCloseOfALockThatALaterSessionLost() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.WRITE, Permission.ATOMIC);
        sessions.getLast().lose();
        HeldLock lost = lite.sync().lock(FakeSync.FREE).acquire(LONG);
        sessions.getLast().lose();

        assertThatThrownBy(() -> handle.write(0, BYTES))
                .as("under the lock, and first used since the first session")
                .isInstanceOf(SessionLostException.class)
                .hasMessageContaining("1 lock that the application has not closed yet");
        assertThatThrownBy(() -> handle.fetchAdd(0, 1)).isInstanceOf(SessionLostException.class);
        lost.close();

        handle.write(0, BYTES);
        assertThat(sessions.getLast().known("a").calls)
                .as("at the next session")
                .hasValue(1);
    }

    @Test
    void aLockThatIsLostWhileItsHolderWaitsForAnotherMappingKeepsTheHandleFromTheNextSession() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.ATOMIC);
        sessions.getLast().lose();
        HeldLock lost = lite.sync().lock(FakeSync.FREE).acquire(LONG);
        FakeLite second = sessions.getLast();
        Thread holder = Thread.currentThread();
        CountDownLatch maps = new CountDownLatch(1);
        AtomicBoolean adds = new AtomicBoolean();
        second.whenMapping = () -> {
            maps.countDown();
            Waits.until("the holder waits", () -> adds.get() && holder.getState() == Thread.State.TIMED_WAITING);
            second.lose();
        };
        Thread other = Thread.ofVirtual().start(() -> assertThatThrownBy(() -> handle.read(0, BYTES)));
        Waits.await(maps);
        adds.set(true);

        assertThatThrownBy(() -> handle.fetchAdd(0, 1))
                .isInstanceOf(SessionLostException.class)
                .hasMessageContaining("1 lock that the application has not closed yet");
        Waits.join(other);
        lost.close();
    }

    @Test
    void aHandleOfAnEarlierSessionContinuesUnderALockOfTheNextOne() {
        LmrHandle handle = lite.memory().map("a", Permission.READ, Permission.WRITE);
        sessions.getLast().lose();
        HeldLock held = lite.sync().lock(FakeSync.FREE).acquire(LONG);
        handle.write(0, BYTES);
        assertThat(sessions.getLast().known("a").calls).hasValue(1);
        held.close();
    }

    @Test
    void aCopyWhoseSessionIsLostBeforeItBeginsIsMadeInTheNextSession() {
        LmrHandle source = lite.memory().map("a", Permission.READ);
        LmrHandle destination = lite.memory().map("a", Permission.WRITE);
        LmrHandle lossy = new ForwardingLmrHandle() {
            @Override
            public LmrHandle unwrap() { // after the source was looked at
                if (sessions.size() == 1) {
                    sessions.getLast().lose();
                }
                return destination;
            }
        };

        lite.memory().memcpy(source, 0, lossy, 0, 8);

        assertThat(sessions).hasSize(2);
        assertThat(sessions.getLast().copies).containsExactly("a to a");
    }

    @Test
    void aCopyWithAHandleOfAnotherApplicationIsRefusedAtOnce() {
        LmrHandle foreign = lite.memory().map("a", Permission.READ);
        ReattachingLite own = open(LONG);
        LmrHandle source = own.memory().map("a", Permission.READ);
        assertThatThrownBy(() -> own.memory().memcpy(source, 0, foreign, 0, 8))
                .isInstanceOf(IllegalArgumentException.class);
        own.close();
    }

    @Test
    void aHandleNeverContinuesInAnotherLmrWithItsName() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        idOfA = 8;
        sessions.getLast().lose();

        assertThatThrownBy(() -> handle.read(0, BYTES))
                .isInstanceOf(LmrFreedException.class)
                .hasMessageContaining("\"a\"")
                .hasMessageContaining("LMR 8");
    }

    @Test
    void anUnmappedHandleIsNotMappedAgain() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        handle.unmap();
        sessions.getLast().lose();

        assertThatThrownBy(() -> handle.read(0, BYTES)).isInstanceOf(LmrFreedException.class);
        assertThat(lite.nodes()).hasSize(2);
        assertThatThrownBy(() -> handle.read(0, BYTES)).isInstanceOf(LmrFreedException.class);
    }

    /** A mapping of its own would not end with the handle. */
    @Test
    void aViewOfLowPriorityWhoseNextSessionEndsAtOnceMapsNothingItself() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        LmrHandle low = handle.withPriority(Priority.LOW);
        whenMapping = () -> {
            if (sessions.size() == 2) {
                FakeLite second = sessions.getLast();
                second.known("a").whenPrioritized = second::lose;
            }
        };
        sessions.getLast().lose();
        assertThat(low.getLong(0)).isEqualTo(5);
        assertThat(handle.getLong(0)).isEqualTo(5);
        assertThat(sessions).hasSize(3);
        assertThat(sessions.getLast().deadlines).as("mappings").hasSize(1);
    }

    @Test
    void callersThatWaitForTheNodeFailWhenTheApplicationCloses() {
        LmrHandle handle = lite.memory().map("a", Permission.READ);
        nodeIsUp = false;
        sessions.getLast().lose();
        Thread closer = Thread.ofPlatform().start(() -> {
            Waits.pass(SHORT);
            lite.close();
        });

        assertThatThrownBy(() -> handle.read(0, BYTES))
                .isInstanceOfAny(SessionLostException.class, NodeUnreachableException.class);
        Waits.join(closer);
    }

    @Test
    void aHandlerIsRegisteredAgainAfterARestartWithoutAnyCall() {
        RpcServer server = lite.rpc().register("f", 1, call -> call.request());
        assertThat(sessions.getLast().rpc().handlers).containsKey("f");
        nodeIsUp = false;
        sessions.getLast().lose();
        nodeIsUp = true;
        Waits.until(
                "the function is served in the next session",
                () -> sessions.size() == 2 && sessions.getLast().rpc().handlers.containsKey("f"));
        server.close();
        assertThat(sessions.getLast().rpc().handlers).isEmpty();
        sessions.getLast().lose();
        assertThat(lite.nodes()).hasSize(2);
        assertThat(sessions.getLast().rpc().handlers).isEmpty();
    }

    /** The session gives it to the handler. */
    @Test
    void aHandlerIsRegisteredAgainWithTheContextClassLoaderOfItsFirstRegistration() {
        Queue<ClassLoader> loaders = new ConcurrentLinkedQueue<>();
        Runnable recording = () -> loaders.add(Thread.currentThread().getContextClassLoader());
        whenRegistering = recording;
        sessions.getLast().rpc().whenRegistering = recording;
        RpcServer server = lite.rpc().register("f", 1, call -> call.request());
        nodeIsUp = false;
        sessions.getLast().lose();
        Thread caller = Thread.ofPlatform().unstarted(lite::nodes);
        caller.setContextClassLoader(new ClassLoader() {});
        attachesBy = caller;
        nodeIsUp = true;
        caller.start();
        Waits.until("the function is registered again", () -> loaders.size() == 2);
        assertThat(loaders).containsOnly(Thread.currentThread().getContextClassLoader());
        Waits.join(caller);
        server.close();
    }

    /** For example because the process has no file descriptor or thread left for a moment. */
    @Test
    void aHandlerIsRegisteredAgainAlthoughAttemptsToAttachFailUnexpectedly() {
        Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
        ReattachingLite own = ReattachingLite.attach(
                AttachOptions.to(Path.of("/tmp/x.sock"), "test").withDeadline(LONG), options -> {
                    Throwable next = failures.poll();
                    if (next instanceof RuntimeException failure) {
                        throw failure;
                    }
                    if (next instanceof Error failure) {
                        throw failure;
                    }
                    sessions.add(new FakeLite(options));
                    return sessions.getLast();
                });
        RpcServer server = own.rpc().register("f", 1, call -> call.request());
        int before = sessions.size();
        failures.add(new UncheckedIOException(new IOException("Too many open files")));
        failures.add(new OutOfMemoryError("unable to create native thread"));
        sessions.getLast().lose();

        Waits.until(
                "the function is served in the next session",
                () -> sessions.size() == before + 1
                        && sessions.getLast().rpc().handlers.containsKey("f"));
        assertThat(failures).isEmpty();
        server.close();
        own.close();
    }

    @Test
    void aHandlerThatTheRestartedNodeRefusesAtFirstIsRegisteredLater() {
        RpcServer server = lite.rpc().register("f", 1, call -> call.request());
        refusedRegistrations = 3;
        sessions.getLast().lose();

        Waits.until(
                "the function is served in the next session",
                () -> sessions.size() == 2 && sessions.getLast().rpc().handlers.containsKey("f"));

        server.close();
        assertThat(sessions.getLast().rpc().handlers).isEmpty();
    }

    @Test
    void anErrorInTheRegistrationOfOneHandlerKeepsNeitherThatNorAnotherOneFromTheNextSessions() {
        List<RpcServer> servers = new ArrayList<>();
        for (String function : List.of("f", "g", "h")) {
            servers.add(lite.rpc().register(function, 1, call -> call.request()));
        }
        registrationErrors.add(new OutOfMemoryError("unable to create native thread"));
        sessions.getLast().lose();
        Waits.until(
                "all are served in the next session",
                () -> sessions.size() == 2 && sessions.getLast().rpc().handlers.size() == 3);

        sessions.getLast().lose();
        Waits.until(
                "all are served in the one after that",
                () -> sessions.size() == 3 && sessions.getLast().rpc().handlers.size() == 3);
        servers.forEach(RpcServer::close);
    }

    @Test
    void aCallThatAttachesLeavesTheRegistrationOfHandlersToAnotherThread() {
        RpcServer server = lite.rpc().register("f", 1, call -> call.request());
        AtomicReference<@Nullable Thread> registering = new AtomicReference<>();
        whenRegistering = () -> registering.set(Thread.currentThread());
        sessions.getLast().close(); // its listeners are not called, so that the next call finds the loss
        assertThat(lite.nodes()).hasSize(2);
        Waits.until(
                "the function is served in the next session",
                () -> sessions.size() == 2 && sessions.getLast().rpc().handlers.containsKey("f"));
        assertThat(registering.get()).isNotSameAs(Thread.currentThread());
        server.close();
    }

    @Test
    void aCallWhoseNewSessionEndsAtOnceLeavesFurtherAttemptsToAnotherThread() {
        RpcServer server = lite.rpc().register("f", 1, call -> call.request());
        attemptsToAttach.clear();
        shortSessions.set(1);
        sessions.getLast().close(); // its listeners are not called, so that the next call finds the loss
        Thread node = Thread.ofPlatform().start(() -> {
            Waits.until("a further attempt was made", () -> attemptsToAttach.size() > 2);
            nodeIsUp = true;
        });
        assertThatThrownBy(() -> lite.rpc().call("fake-1", "f", BYTES, SHORT)).isInstanceOf(LiteException.class);
        Waits.join(node);
        assertThat(attemptsToAttach.stream().filter(thread -> thread == Thread.currentThread()))
                .hasSize(1);
        Waits.until(
                "the function is served in the session after that",
                () -> sessions.size() == 3 && sessions.getLast().rpc().handlers.containsKey("f"));
        server.close();
    }

    @Test
    void aCallWaitsForTheNodeNoLongerThanItsOwnDeadline() {
        nodeIsUp = false;
        sessions.getLast().lose();
        long startNs = System.nanoTime();

        assertThatThrownBy(() -> lite.rpc().call("fake-1", "f", BYTES, SHORT))
                .isInstanceOf(NodeUnreachableException.class);

        assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isBetween(SHORT, LONG.dividedBy(2));
    }

    @Test
    void aClosedSessionIsNotReplaced() {
        lite.close();
        assertThatThrownBy(lite::nodes).isInstanceOf(SessionLostException.class);
        assertThat(sessions).hasSize(1);
    }
}
