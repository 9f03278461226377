package dev.lite.tier.sync;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.BarrierBrokenException;
import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import dev.lite.fabric.FabricProvider;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSync;
import dev.lite.tier.testing.Effort;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ObjLongConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The contract of locks and barriers, for any fabric. A subclass supplies only the fabric. */
abstract class SyncContract {
    static final Duration LONG = Waits.seconds(20);

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

    /** A task with its own thread. */
    static final class Task<T> extends FutureTask<T> {
        private final Thread thread = Thread.ofPlatform().daemon().unstarted(this);

        private Task(Callable<T> body) {
            super(body);
        }

        /** Waits until the thread is parked, wherever that is. */
        void awaitParked() {
            Waits.until("the thread is parked", () -> LockSupport.getBlocker(thread) != null);
        }

        /** Waits until the thread is parked in a wait for a lock's turn or a barrier's round. */
        void awaitParkedAt(Class<?> place) {
            Waits.until("the thread is parked at a " + place.getSimpleName(), () -> {
                Object blocker = LockSupport.getBlocker(thread);
                return blocker != null && blocker.getClass() == place;
            });
        }
    }

    /** Runs a body on its own thread. */
    static <T> Task<T> go(Callable<T> body) {
        Task<T> task = new Task<>(body);
        task.thread.start();
        return task;
    }

    static <T> T get(FutureTask<T> task) {
        try {
            return task.get(LONG.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new AssertionError(e.getCause());
        } catch (InterruptedException | TimeoutException e) {
            throw new AssertionError("it did not end", e);
        }
    }

    /** Waits until this many tickets have had to wait, over all nodes. */
    static void awaitWaits(TestCluster cluster, int nodes, long waits) {
        Waits.until(waits + " wait", () -> stats(cluster, nodes).waits() >= waits);
    }

    static SyncStats stats(TestCluster cluster, int nodes) {
        long[] sums = new long[4];
        for (int index = 0; index < nodes; index++) {
            SyncStats of = cluster.node(index).figures().syncStats();
            sums[0] += of.waits();
            sums[1] += of.wakeUps();
            sums[2] += of.turnsSent();
            sums[3] += of.passedOver();
        }
        return new SyncStats(sums[0], sums[1], sums[2], sums[3]);
    }

    @Test
    void aFreeLockIsAcquiredReleasedAndAcquiredAgainWithALargerToken() {
        TestCluster cluster = cluster(2);
        LtLock here = cluster.attach(0).sync().lock("x");
        LtLock there = cluster.attach(1).sync().lock("x");
        long last = 0;
        for (int count = 0; count < Effort.times(100); count++) {
            try (HeldLock held = (count % 3 == 0 ? here : there).acquire(LONG)) {
                assertThat(held.isHeld()).isTrue();
                assertThat(held.fencingToken()).isGreaterThan(last);
                assertThat(held.name()).isEqualTo("x");
                last = held.fencingToken();
            }
        }
        SyncStats stats = stats(cluster, 2);
        assertThat(stats).isEqualTo(new SyncStats(0, 0, 0, 0));
    }

    @Test
    void aLockAndABarrierContinueAfterAllSessionsOfTheirNodesHaveEnded() {
        TestCluster cluster = cluster(2);
        long last = 0;
        long round = -1;
        for (int count = 0; count < 6; count++) {
            try (Lite here = cluster.node(0).attach("here");
                    Lite there = cluster.node(1).attach("there")) {
                HeldLock held = (count % 2 == 0 ? here : there).sync().lock("x").acquire(LONG);
                assertThat(held.fencingToken()).isGreaterThan(last);
                last = held.fencingToken();
                assertThat((count % 2 == 0 ? there : here).sync().lock("x").tryAcquire())
                        .isEmpty();
                Task<Long> party = go(() -> there.sync().barrier("x", 2).await(LONG));
                long passed = here.sync().barrier("x", 2).await(LONG);
                assertThat(get(party)).isEqualTo(passed).isGreaterThan(round);
                round = passed;
            } // the end of the session releases the lock
        }
    }

    @Test
    void aHeldLockIsAcquiredByNoSessionUntilItIsReleased() {
        TestCluster cluster = cluster(2);
        Lite lite = cluster.attach(0);
        LtLock lock = lite.sync().lock("x");
        LtLock other = cluster.attach(1).sync().lock("x");
        HeldLock held = lock.acquire(LONG);
        assertThatExceptionOfType(LiteTimeoutException.class)
                .isThrownBy(() -> lock.acquire(Waits.seconds(0.05)))
                .withMessageContaining("lock \"x\"");
        assertThatExceptionOfType(LiteTimeoutException.class).isThrownBy(() -> other.acquire(Waits.seconds(0.05)));
        assertThat(lock.tryAcquire()).isEmpty();
        assertThat(other.tryAcquire()).isEmpty();
        held.close();
        held.close();
        assertThat(held.isHeld()).isFalse();
        // Two tickets were abandoned; they must not delay the next thread.
        try (HeldLock next = other.acquire(LONG)) {
            assertThat(next.fencingToken()).isGreaterThan(held.fencingToken());
            held.close();
            assertThat(next.isHeld()).isTrue();
        }
        Waits.until("the lock is free", () -> {
            Optional<HeldLock> tried = lock.tryAcquire();
            tried.ifPresent(HeldLock::close);
            return tried.isPresent();
        });
    }

    @Test
    void manyThreadsOfSeveralNodesNeverHoldTheLockTogether() throws InterruptedException {
        TestCluster cluster = cluster(3);
        int threads = 16;
        int rounds = Effort.times(60);
        LmrHandle counter = cluster.attach(0)
                .memory()
                .malloc(LmrSpec.of(8)
                        .withName("counter")
                        .withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC));
        ConcurrentLinkedQueue<Long> tokens = new ConcurrentLinkedQueue<>();
        List<FutureTask<Boolean>> tasks = new ArrayList<>();
        for (int index = 0; index < threads; index++) {
            Lite lite = cluster.attach(index % 3);
            tasks.add(go(() -> {
                LtLock lock = lite.sync().lock("guard");
                LmrHandle mine = lite.memory().map("counter", Permission.READ, Permission.WRITE);
                try (Arena arena = Arena.ofConfined()) {
                    MemorySegment word = arena.allocate(ValueLayout.JAVA_LONG);
                    for (int round = 0; round < rounds; round++) {
                        try (HeldLock held = lock.acquire(LONG)) {
                            tokens.add(held.fencingToken());
                            mine.read(0, word);
                            word.set(ValueLayout.JAVA_LONG, 0, word.get(ValueLayout.JAVA_LONG, 0) + 1);
                            mine.write(0, word);
                        }
                    }
                }
                return true;
            }));
        }
        tasks.forEach(SyncContract::get);
        assertThat(counter.fetchAdd(0, 0)).isEqualTo((long) threads * rounds);
        assertThat(List.copyOf(tokens)).isSorted().doesNotHaveDuplicates();
        SyncStats stats = stats(cluster, 3);
        // Every ticket that waited was woken once, by at most one message.
        assertThat(stats.wakeUps()).isEqualTo(stats.waits());
        assertThat(stats.passedOver()).isZero();
    }

    @Test
    void waitersAreServedInTheOrderOfTheirTicketsWithOneMessageEach() {
        TestCluster cluster = cluster(3);
        int waiters = 12;
        HeldLock first = cluster.attach(0).sync().lock("x").acquire(LONG);
        ConcurrentLinkedQueue<Integer> order = new ConcurrentLinkedQueue<>();
        List<FutureTask<Long>> tasks = new ArrayList<>();
        for (int index = 0; index < waiters; index++) {
            int number = index;
            LtLock lock = cluster.attach(index % 3).sync().lock("x");
            tasks.add(go(() -> {
                try (HeldLock held = lock.acquire(LONG)) {
                    order.add(number);
                    return held.fencingToken();
                }
            }));
            awaitWaits(cluster, 3, index + 1L);
        }
        first.close();
        List<Long> tokens = tasks.stream().map(SyncContract::get).toList();
        assertThat(order)
                .containsExactlyElementsOf(IntStream.range(0, waiters).boxed().toList());
        assertThat(tokens).isSorted();
        SyncStats stats = stats(cluster, 3);
        assertThat(stats.wakeUps()).isEqualTo(waiters);
        assertThat(stats.turnsSent()).isLessThanOrEqualTo(waiters);
    }

    @Test
    void aLockPassesToAnotherThreadOfItsNodeWithoutAMessage() {
        TestCluster cluster = cluster(1);
        HeldLock first = cluster.attach(0).sync().lock("x").acquire(LONG);
        LtLock lock = cluster.attach(0).sync().lock("x");
        Task<HeldLock> waits = go(() -> lock.acquire(LONG));
        waits.awaitParkedAt(NodeLock.class);
        first.close();
        get(waits).close();
        assertThat(stats(cluster, 1)).isEqualTo(new SyncStats(1, 1, 0, 0));
    }

    @Test
    void aTurnThatWasSeenBeforeTheNodeWasFencedIsNotTaken() {
        assertNotTaken((lock, ticket) -> {
            int since = lock.generation();
            lock.lose(); // from here on the turn may be another one's
            assertThat(lock.wakeHere(ticket, since)).isFalse();
        });
    }

    @Test
    void aMessageOfATurnFromBeforeTheNodeWasFencedIsNotTakenAfterIt() {
        assertNotTaken((lock, ticket) -> {
            synchronized (lock) { // as if the waiter's next report took so long
                lock.lose();
                assertThat(lock.turn(ticket)).isEqualTo(SyncCalls.Claim.UNDECIDED);
            }
        });
    }

    /** An application that is attached would reattach, and an embedded one cannot. */
    @Test
    void aTurnThatIsLostBeforeItsWaiterWakesDoesNotEndTheSession() {
        TestCluster cluster = cluster(1);
        HeldLock first = cluster.attach(0).sync().lock("x").acquire(LONG);
        SessionLock other = (SessionLock) cluster.attach(0).sync().lock("x");
        NodeLock lock = other.lock();
        Hold.Queued waits = (Hold.Queued) lock.draw(Inside.field(other, "user", LockUser.class));
        assertThat(waits).isNotNull();
        assertThat(lock.wakeHere(waits.ticket(), lock.generation())).isTrue();
        lock.lose();

        assertThatExceptionOfType(LmrUnavailableException.class)
                .isThrownBy(() -> lock.await(waits, Deadline.in(LONG)))
                .withMessageContaining("lost");

        assertThat(first.isHeld()).isFalse();
        other.acquire(LONG).close();
    }

    /** Else the home finds that no node claims the present holder's ticket, and lets another one hold the lock beside it. */
    @Test
    void aTryThatIsDelayedUntilItsNodeWasFencedLeavesTheRecordOfTheNextHolder() {
        TestCluster cluster = cluster(1);
        SessionLock slow = (SessionLock) cluster.attach(0).sync().lock("x");
        LtLock other = cluster.attach(0).sync().lock("x");
        NodeLock lock = slow.lock();
        LockUser user = Inside.field(slow, "user", LockUser.class);
        int since = lock.generation();
        long drawn = lock.word().fetchAdd(LockWord.DRAW, Deadline.in(LONG)) + LockWord.DRAW;
        long ticket = LockWord.turn(drawn);
        lock.lose();
        assertThat(lock.word().pass(ticket, Deadline.in(LONG))).isNotEqualTo(SyncWord.NOT_PASSED); // by the home
        HeldLock next = other.tryAcquire().orElseThrow();

        assertThat(lock.holdNow(drawn, user, since)).isNull();

        assertThat(next.isHeld()).isTrue();
        assertThat(lock.turn(ticket + 1)).isEqualTo(SyncCalls.Claim.TAKEN);
        next.close();
        slow.acquire(LONG).close();
    }

    /** @param turn a turn of this ticket, which waits, that it must not take; it takes the real one */
    private void assertNotTaken(ObjLongConsumer<NodeLock> turn) {
        TestCluster cluster = cluster(2);
        HeldLock first = cluster.attach(0).sync().lock("x").acquire(LONG);
        LtLock other = cluster.attach(1).sync().lock("x");
        Task<HeldLock> waits = go(() -> other.acquire(LONG));
        waits.awaitParkedAt(NodeLock.class);
        turn.accept(((SessionLock) other).lock(), first.fencingToken()); // the ticket after the first one's
        assertThat(waits.isDone()).isFalse();
        first.close();
        HeldLock second = get(waits);
        assertThat(second.isHeld()).isTrue();
        assertThat(second.fencingToken()).isGreaterThan(first.fencingToken());
        second.close();
    }

    @Test
    void anAbandonedTicketIsPassedOverAlthoughNobodyElseWaits() {
        TestCluster cluster = cluster(2);
        HeldLock first = cluster.attach(0).sync().lock("x").acquire(LONG);
        LtLock other = cluster.attach(1).sync().lock("x");
        assertThatThrownBy(() -> other.acquire(Duration.ofMillis(200))).isInstanceOf(LiteTimeoutException.class);
        first.close();
        Waits.until("the ticket is passed over", () -> stats(cluster, 2).passedOver() == 1);
    }

    @Test
    void virtualThreadsOfSeveralNodesNeverHoldTheLockTogether() {
        TestCluster cluster = cluster(3);
        int rounds = Effort.times(40);
        ConcurrentLinkedQueue<Long> tokens = new ConcurrentLinkedQueue<>();
        List<FutureTask<Boolean>> tasks = new ArrayList<>();
        for (int index = 0; index < 12; index++) {
            LtLock lock = cluster.attach(index % 3).sync().lock("guard");
            FutureTask<Boolean> task = new FutureTask<>(() -> {
                for (int round = 0; round < rounds; round++) {
                    try (HeldLock held = lock.acquire(LONG)) {
                        tokens.add(held.fencingToken());
                    }
                }
                return true;
            });
            Thread unused = Thread.ofVirtual().start(task);
            tasks.add(task);
        }
        tasks.forEach(SyncContract::get);
        assertThat(List.copyOf(tokens)).hasSize(12 * rounds).isSorted().doesNotHaveDuplicates();
        SyncStats stats = stats(cluster, 3);
        assertThat(stats.wakeUps()).isEqualTo(stats.waits());
        assertThat(stats.passedOver()).isZero();
    }

    @Test
    void aWaiterThatTimedOutIsSkippedAndTheNextIsServed() {
        TestCluster cluster = cluster(3);
        HeldLock first = cluster.attach(0).sync().lock("x").acquire(LONG);
        LtLock shortWait = cluster.attach(1).sync().lock("x");
        FutureTask<HeldLock> timesOut = go(() -> shortWait.acquire(Waits.seconds(0.3)));
        awaitWaits(cluster, 3, 1);
        LtLock longWait = cluster.attach(2).sync().lock("x");
        FutureTask<HeldLock> waits = go(() -> longWait.acquire(LONG));
        awaitWaits(cluster, 3, 2);
        assertThatExceptionOfType(LiteTimeoutException.class).isThrownBy(() -> get(timesOut));
        first.close();
        get(waits).close();
        assertThat(stats(cluster, 3).passedOver()).isEqualTo(1);
    }

    @Test
    void retriesWithAShortDeadlineKeepOneTicket() {
        TestCluster cluster = cluster(2);
        HeldLock first = cluster.attach(0).sync().lock("x").acquire(LONG);
        LtLock other = cluster.attach(1).sync().lock("x");
        for (int count = 0; count < 20; count++) {
            assertThatThrownBy(() -> other.acquire(Duration.ofMillis(5))).isInstanceOf(LiteTimeoutException.class);
        }
        first.close();
        try (HeldLock held = other.acquire(LONG)) {
            assertThat(held.fencingToken()).isLessThanOrEqualTo(first.fencingToken() + 3);
        }
    }

    @Test
    void anInterruptEndsTheWaitAndIsPreserved() {
        TestCluster cluster = cluster(2);
        HeldLock first = cluster.attach(0).sync().lock("x").acquire(LONG);
        LtLock lock = cluster.attach(1).sync().lock("x");
        Task<Boolean> task = go(() -> {
            assertThatExceptionOfType(LmrUnavailableException.class).isThrownBy(() -> lock.acquire(LONG));
            return Thread.interrupted();
        });
        awaitWaits(cluster, 2, 1);
        task.awaitParkedAt(NodeLock.class);
        task.thread.interrupt();
        assertThat(get(task)).isTrue();
        first.close();
        lock.acquire(LONG).close();
    }

    @Test
    void theEndOfASessionReleasesItsLocksAndAbandonsItsTickets() {
        TestCluster cluster = cluster(3);
        Lite holder = cluster.attach(1);
        HeldLock held = holder.sync().lock("x").acquire(LONG);
        Lite waiting = cluster.attach(2);
        LtLock abandoned = waiting.sync().lock("x");
        FutureTask<HeldLock> ended = go(() -> abandoned.acquire(LONG));
        awaitWaits(cluster, 3, 1);
        LtLock longWait = cluster.attach(0).sync().lock("x");
        FutureTask<HeldLock> waits = go(() -> longWait.acquire(LONG));
        awaitWaits(cluster, 3, 2);
        waiting.close();
        assertThatExceptionOfType(SessionLostException.class).isThrownBy(() -> get(ended));
        holder.close();
        HeldLock next = get(waits);
        assertThat(held.isHeld()).isFalse();
        assertThat(next.isHeld()).isTrue();
        assertThat(next.fencingToken()).isGreaterThan(held.fencingToken());
        held.close();
        next.close();
        assertThatExceptionOfType(SessionLostException.class).isThrownBy(() -> abandoned.acquire(LONG));
        assertThatExceptionOfType(SessionLostException.class).isThrownBy(abandoned::tryAcquire);
        assertThatExceptionOfType(SessionLostException.class)
                .isThrownBy(() -> holder.sync().lock("y"));
    }

    @Test
    void aNodeThatLeftTheClusterHoldsNoLocks() {
        TestCluster cluster = cluster(3);
        cluster.attach(0).sync().lock("x").acquire(LONG).close(); // n0 is its home
        cluster.attach(2).sync().lock("x").acquire(LONG);
        FutureTask<HeldLock> waits = go(() -> cluster.attach(1).sync().lock("x").acquire(LONG));
        awaitWaits(cluster, 3, 1);
        cluster.stop("n2");
        get(waits).close();
    }

    @Test
    void aLockWorksAfterARestartOfItsHome() {
        TestCluster cluster = cluster(3);
        cluster.attach(2).sync().lock("x").acquire(LONG).close(); // n2 is its home
        HeldLock held = cluster.attach(0).sync().lock("x").acquire(LONG);
        FutureTask<HeldLock> waits = go(() -> cluster.attach(1).sync().lock("x").acquire(LONG));
        awaitWaits(cluster, 2, 1);
        cluster.stop("n2");
        cluster.start("n2");
        cluster.awaitConnections();
        Waits.pass(Duration.ofMillis(500)); // enough time for audits, which must not find anything
        assertThat(waits.isDone()).isFalse();
        held.close();
        HeldLock next = get(waits);
        assertThat(next.fencingToken()).isGreaterThan(held.fencingToken());
        next.close();
    }

    @Test
    void aLockWhoseHomeIsLostIsNotWaitedForUntilTheDeadline() {
        TestCluster cluster = cluster(2);
        cluster.attach(1).sync().lock("x").acquire(LONG).close(); // n1 is its home
        cluster.node(0).setReturnGrace(Duration.ofMillis(200));
        cluster.stop("n1");
        TierSync locks = cluster.node(0).open("app", "test").sync();
        assertThatExceptionOfType(LmrUnavailableException.class)
                .isThrownBy(() -> locks.lock("x", LONG))
                .withMessageContaining("it left the cluster");
    }

    @Test
    void aLocksNameIsNotAnLmrsName() {
        TestCluster cluster = cluster(1);
        Lite lite = cluster.attach(0);
        lite.sync().lock("x").acquire(LONG).close();
        assertThatExceptionOfType(LmrNotFoundException.class)
                .isThrownBy(() -> lite.memory().map("x", Permission.ATOMIC));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> lite.memory().map("\u0001lock/x", Permission.ATOMIC))
                .withMessageContaining("control character");
        for (String bad : new String[] {" ", "a\nb", "é".repeat(257)}) {
            assertThatThrownBy(() -> lite.sync().lock(bad)).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> lite.sync().barrier(bad, 1)).isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> lite.sync().barrier("b", 0)).hasMessageContaining("16384");
        assertThatThrownBy(() -> lite.sync().barrier("b", 16_385)).hasMessageContaining("16385");
        assertThatThrownBy(() -> lite.sync().lock("x").acquire(Duration.ZERO)).hasMessageContaining("0 s");
    }

    @Test
    void aBarrierCanBePassedInManyRounds() {
        TestCluster cluster = cluster(3);
        int parties = 5;
        int rounds = Effort.times(1_000);
        List<FutureTask<List<Long>>> tasks = new ArrayList<>();
        for (int index = 0; index < parties; index++) {
            Lite lite = cluster.attach(index % 3);
            tasks.add(go(() -> {
                LtBarrier barrier = lite.sync().barrier("b", parties);
                List<Long> passed = new ArrayList<>();
                for (int round = 0; round < rounds; round++) {
                    passed.add(barrier.await(LONG));
                }
                return passed;
            }));
        }
        List<Long> all = java.util.stream.LongStream.range(0, rounds).boxed().toList();
        for (FutureTask<List<Long>> task : tasks) {
            assertThat(get(task)).isEqualTo(all);
        }
    }

    @Test
    void aPartyThatTimesOutBreaksTheRoundAndTheNextRoundWorks() {
        TestCluster cluster = cluster(3);
        LtBarrier longWait = cluster.attach(1).sync().barrier("b", 3);
        FutureTask<Long> waits = go(() -> longWait.await(LONG));
        LtBarrier shortWait = cluster.attach(2).sync().barrier("b", 3);
        assertThatExceptionOfType(LiteTimeoutException.class).isThrownBy(() -> shortWait.await(Waits.seconds(0.3)));
        assertThatExceptionOfType(BarrierBrokenException.class)
                .isThrownBy(() -> get(waits))
                .withMessageContaining("gave up at its deadline of " + Durations.text(Waits.seconds(0.3)));
        List<FutureTask<Long>> next = new ArrayList<>();
        for (int index = 0; index < 3; index++) {
            LtBarrier barrier = cluster.attach(index).sync().barrier("b", 3);
            next.add(go(() -> barrier.await(LONG)));
        }
        assertThat(next.stream().map(SyncContract::get)).containsOnly(1L);
    }

    @Test
    void aPartyWhoseSessionOrNodeEndsBreaksTheRound() {
        TestCluster cluster = cluster(3);
        LtBarrier barrier = cluster.attach(0).sync().barrier("b", 3);
        for (boolean node : new boolean[] {false, true}) {
            Task<Long> waits = go(() -> barrier.await(LONG));
            Lite dying = cluster.attach(2);
            LtBarrier its = dying.sync().barrier("b", 3);
            Task<Long> dies = go(() -> its.await(LONG));
            waits.awaitParkedAt(NodeBarrier.class); // a party parks there once its arrival is confirmed
            dies.awaitParkedAt(NodeBarrier.class);
            if (node) {
                cluster.stop("n2");
            } else {
                dying.close();
            }
            assertThatExceptionOfType(SessionLostException.class).isThrownBy(() -> get(dies));
            assertThatExceptionOfType(BarrierBrokenException.class).isThrownBy(() -> get(waits));
        }
    }

    @Test
    void differentNumbersOfPartiesBreakTheRoundWithBothNumbers() {
        TestCluster cluster = cluster(2);
        FutureTask<Long> waits =
                go(() -> cluster.attach(0).sync().barrier("b", 3).await(LONG));
        FutureTask<Long> other =
                go(() -> cluster.attach(1).sync().barrier("b", 4).await(LONG));
        for (FutureTask<Long> task : List.of(waits, other)) {
            assertThatExceptionOfType(BarrierBrokenException.class)
                    .isThrownBy(() -> get(task))
                    .withMessageContaining("3")
                    .withMessageContaining("4");
        }
    }
}
