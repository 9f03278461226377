package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static dev.lite.client.SessionFixture.SHORT;
import static dev.lite.client.SessionFixture.await;
import static dev.lite.client.SessionFixture.start;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.HeldLock;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.NodeInfo;
import dev.lite.api.RpcStatus;
import dev.lite.client.fake.FakeNode;
import dev.lite.client.fake.FakeNode.Command;
import dev.lite.os.waiting.Durations;
import dev.lite.session.protocol.SessionMessage.AcquireLock;
import dev.lite.session.protocol.SessionMessage.Acquired;
import dev.lite.session.protocol.SessionMessage.AwaitBarrier;
import dev.lite.session.protocol.SessionMessage.CancelTry;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.Nodes;
import dev.lite.session.protocol.SessionMessage.OpenLock;
import dev.lite.session.protocol.SessionMessage.ReleaseLock;
import dev.lite.session.protocol.SessionMessage.Request;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Locks and barriers over a session. */
class SessionSyncTest {
    @Test
    void aFreeLockNeedsNoControlRequest() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtLock lock = fixture.lite.sync().lock("l");
            fixture.node.holdRequests(request -> true);
            try (HeldLock held = lock.acquire(LONG)) {
                assertThat(held.isHeld()).isTrue();
                assertThat(held.fencingToken()).isPositive();
            }
            HeldLock second = lock.tryAcquire().orElseThrow();
            second.close();
            second.close();
            assertThat(second.isHeld()).isFalse();
            fixture.node.holdRequests(request -> false);
        }
    }

    @Test
    void aLockWhoseNumberTheNodeHasForgottenIsOpenedAgain() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtLock lock = fixture.lite.sync().lock("l");
            fixture.node.awaitRequest(OpenLock.class);
            fixture.node.holdCommands(op -> op == Op.TRY_LOCK);
            CompletableFuture<HeldLock> acquiring = start(() -> lock.acquire(LONG));
            Command first = fixture.node.awaitHeldCommand();
            fixture.node.fail(first, LiteException.Code.LMR_NOT_FOUND);
            Command second = fixture.node.awaitHeldCommand();
            assertThat(fixture.node.awaitRequest(OpenLock.class).name()).isEqualTo("l");
            assertThat(second.lh()).isNotEqualTo(first.lh());
            fixture.node.complete(second, 57);
            assertThat(await(acquiring).fencingToken()).isEqualTo(57);
        }
    }

    @Test
    void waitingForATakenLockTakesASlot() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtLock lock = fixture.lite.sync().lock("l");
            fixture.node.holdRequests(request -> true);
            SlotWait waiting = SlotWait.start(fixture, lock, LONG);
            assertThat(waiting.acquiring()).isNotDone();
            fixture.node.complete(waiting.command(), 55);
            assertThat(await(waiting.acquiring()).fencingToken()).isEqualTo(55);
            fixture.node.holdRequests(request -> false);
        }
    }

    @Test
    void aWaitThatTimedOutIsCancelled() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtLock lock = fixture.lite.sync().lock("l");
            SlotWait waiting = SlotWait.start(fixture, lock, SHORT.multipliedBy(5));
            assertThatThrownBy(() -> await(waiting.acquiring())).isInstanceOf(LiteTimeoutException.class);
            long attempt = waiting.command().operand0();
            assertThat(fixture.node.awaitRequest(CancelTry.class).attempt()).isEqualTo(attempt);
        }
    }

    @Test
    void aWaitThatTheNodeEndedIsNotCancelled() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtLock lock = fixture.lite.sync().lock("l");
            SlotWait waiting = SlotWait.start(fixture, lock, LONG);
            fixture.node.fail(waiting.command(), LiteException.Code.TIMEOUT);
            assertThatThrownBy(() -> await(waiting.acquiring())).isInstanceOf(LiteTimeoutException.class);
            // Requests come in order: a cancellation would come before this one.
            fixture.node.holdRequests(request -> true);
            CompletableFuture<LtLock> next = start(() -> fixture.lite.sync().lock("m"));
            assertThat(fixture.node.awaitHeldRequest()).isInstanceOf(OpenLock.class);
            fixture.node.holdRequests(request -> false);
            assertThat(next).isNotDone();
        }
    }

    @Test
    void waitsBeyondAQuarterOfTheSlotsUseTheControlChannel() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtLock lock = fixture.lite.sync().lock("l");
            List<SlotWait> inSlots = takeSlots(fixture, lock);
            fixture.node.holdRequests(AcquireLock.class::isInstance);
            CompletableFuture<HeldLock> acquiring = startWait(fixture, lock, LONG);
            Request request = fixture.node.awaitHeldRequest();
            assertThat(acquiring).isNotDone();
            fixture.node.reply(new Acquired(request.requestId(), 55));
            assertThat(await(acquiring).fencingToken()).isEqualTo(55);
            inSlots.forEach(waiting -> waiting.end(fixture));
        }
    }

    @Test
    void aLockThatIsAcquiredTooLateIsReleased() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtLock lock = fixture.lite.sync().lock("l");
            List<SlotWait> inSlots = takeSlots(fixture, lock);
            fixture.node.holdRequests(AcquireLock.class::isInstance);
            CompletableFuture<HeldLock> acquiring = startWait(fixture, lock, SHORT.multipliedBy(5));
            Request late = fixture.node.awaitHeldRequest();
            assertThatThrownBy(() -> await(acquiring)).isInstanceOf(LiteTimeoutException.class);
            fixture.node.reply(new Acquired(late.requestId(), 56));
            assertThat(fixture.node.awaitRequest(ReleaseLock.class).token()).isEqualTo(56);
            inSlots.forEach(waiting -> waiting.end(fixture));
        }
    }

    /** Starts to acquire a lock that is taken; its first attempt has failed when this returns. */
    private static CompletableFuture<HeldLock> startWait(SessionFixture fixture, LtLock lock, Duration deadline) {
        fixture.node.holdCommands(op -> op == Op.TRY_LOCK || op == Op.LOCK);
        CompletableFuture<HeldLock> acquiring = start(() -> lock.acquire(deadline));
        Command attempt = fixture.node.awaitHeldCommand();
        assertThat(attempt.op()).isEqualTo(Op.TRY_LOCK);
        fixture.node.complete(attempt, 0);
        return acquiring;
    }

    /** Waits in all slots in which a wait is possible. */
    private static List<SlotWait> takeSlots(SessionFixture fixture, LtLock lock) {
        return Stream.generate(() -> SlotWait.start(fixture, lock, LONG))
                .limit(FakeNode.SLOTS / 4)
                .toList();
    }

    /** A wait for a lock in a slot. */
    private record SlotWait(CompletableFuture<HeldLock> acquiring, Command command) {
        static SlotWait start(SessionFixture fixture, LtLock lock, Duration deadline) {
            CompletableFuture<HeldLock> acquiring = startWait(fixture, lock, deadline);
            Command command = fixture.node.awaitHeldCommand();
            assertThat(command.op()).isEqualTo(Op.LOCK);
            return new SlotWait(acquiring, command);
        }

        void end(SessionFixture fixture) {
            fixture.node.complete(command, 57);
            assertThat(await(acquiring).fencingToken()).isEqualTo(57);
        }
    }

    @Test
    void anAttemptThatTimedOutIsCancelled() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtLock lock = fixture.lite.sync().lock("l");
            fixture.node.holdCommands(op -> op == Op.TRY_LOCK);
            assertThatThrownBy(() -> lock.acquire(SHORT)).isInstanceOf(LiteTimeoutException.class);
            Command attempt = fixture.node.awaitHeldCommand();
            assertThat(fixture.node.awaitRequest(CancelTry.class).attempt()).isEqualTo(attempt.operand0());
        }
    }

    @Test
    void anAttemptThatTimedOutIsCancelledAlsoAtTheLimitOfOtherRequests() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtLock lock = fixture.lite.sync().lock("l");
            List<CompletableFuture<List<NodeInfo>>> others = reachTheLimitOfRequests(fixture);
            fixture.node.holdCommands(op -> op == Op.TRY_LOCK);
            assertThatThrownBy(() -> lock.acquire(SHORT)).isInstanceOf(LiteTimeoutException.class);
            Command attempt = fixture.node.awaitHeldCommand();
            assertThat(fixture.node.awaitRequest(CancelTry.class).attempt()).isEqualTo(attempt.operand0());
            assertThat(others).noneMatch(CompletableFuture::isDone);
        }
    }

    @Test
    void aLockIsReleasedOnTheControlChannelAlsoAtTheLimitOfOtherRequests() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            HeldLock held = fixture.lite.sync().lock("l").acquire(LONG);
            List<CompletableFuture<List<NodeInfo>>> others = reachTheLimitOfRequests(fixture);
            fixture.node.failCommands(LiteException.Code.LMR_UNAVAILABLE);
            held.close();
            assertThat(fixture.node.awaitRequest(ReleaseLock.class).token()).isEqualTo(held.fencingToken());
            assertThat(others).noneMatch(CompletableFuture::isDone);
        }
    }

    /** Makes as many requests as a session may; the node holds them back. */
    private static List<CompletableFuture<List<NodeInfo>>> reachTheLimitOfRequests(SessionFixture fixture) {
        fixture.node.holdRequests(Nodes.class::isInstance);
        List<CompletableFuture<List<NodeInfo>>> asking = new ArrayList<>();
        for (int request = 0; request < FakeNode.REQUESTS_MAX; request++) {
            asking.add(start(fixture.lite::nodes));
            assertThat(fixture.node.awaitHeldRequest()).isInstanceOf(Nodes.class);
        }
        return asking;
    }

    @Test
    void aReleaseThatFailsOnTheDataPathIsRepeatedOnTheControlChannel() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            HeldLock held = fixture.lite.sync().lock("l").acquire(LONG);
            fixture.node.failCommands(LiteException.Code.LMR_UNAVAILABLE);
            held.close();
            assertThat(fixture.node.awaitRequest(ReleaseLock.class).token()).isEqualTo(held.fencingToken());
        }
    }

    @Test
    void aHeldLockIsLostWithItsSession() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            HeldLock held = fixture.lite.sync().lock("l").acquire(LONG);
            fixture.node.dropSession();
            await(fixture.lite.ended().toCompletableFuture());
            assertThat(held.isHeld()).isFalse();
            held.close();
        }
    }

    @Test
    void aBarrierReturnsItsRound() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            assertThat(fixture.lite.sync().barrier("b", 2).await(LONG)).isEqualTo(3);
        }
    }

    /** The node waits a little less, and its message names that time, which the caller does not know. */
    @Test
    void aBarrierThatIsNotPassedInTimeNamesTheDeadlineOfItsCaller() throws Exception {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtBarrier barrier = fixture.lite.sync().barrier("b", 2);
            fixture.node.holdRequests(AwaitBarrier.class::isInstance);
            CompletableFuture<Long> round = start(() -> barrier.await(LONG));
            Request request = fixture.node.awaitHeldRequest();
            fixture.node.reply(new Failed(
                    request.requestId(), LiteException.Code.TIMEOUT.number(), RpcStatus.UNKNOWN, "too few came"));
            assertThatThrownBy(() -> await(round))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessage("barrier \"b\" of 2 parties was not passed within its deadline of %s: too few came"
                            .formatted(Durations.text(LONG)));
        }
    }

    /** Else it counts as a party, and lets the others pass, when it has long given up. */
    @Test
    void aBarrierThatWaitsForItsTurnWaitsAtTheNodeOnlyForTheRestOfItsTime() throws Exception {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtBarrier barrier = fixture.lite.sync().barrier("b", 2);
            fixture.node.holdRequests(AwaitBarrier.class::isInstance);
            List<Request> held = new ArrayList<>();
            List<Thread> waits = new ArrayList<>();
            for (int wait = 0; wait < SessionProtocol.WAITS_MAX; wait++) {
                waits.add(Thread.ofVirtual().start(() -> barrier.await(LONG)));
                held.add(fixture.node.awaitHeldRequest());
            }
            CompletableFuture<Long> round = new CompletableFuture<>();
            Thread last = Thread.ofPlatform().daemon().start(() -> round.complete(barrier.await(LONG)));
            Waits.until("it waits for its turn", () -> last.getState() == Thread.State.TIMED_WAITING);
            long seenNs = System.nanoTime();
            Waits.pass(Duration.ofMillis(1));
            long waitedNs = System.nanoTime() - seenNs; // or more
            held.forEach(fixture.node::answer);
            AwaitBarrier sent = (AwaitBarrier) fixture.node.awaitHeldRequest();

            assertThat(sent.deadlineNs()).isLessThanOrEqualTo(Session.forNode(LONG.toNanos()) - waitedNs);

            fixture.node.answer(sent);
            assertThat(await(round)).isEqualTo(3);
            for (Thread wait : waits) {
                assertThat(wait.join(LONG)).isTrue();
            }
        }
    }
}
