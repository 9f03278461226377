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
import dev.lite.api.LtLock;
import dev.lite.client.fake.FakeNode.Command;
import dev.lite.session.protocol.SessionMessage.AcquireLock;
import dev.lite.session.protocol.SessionMessage.Acquired;
import dev.lite.session.protocol.SessionMessage.CancelTry;
import dev.lite.session.protocol.SessionMessage.ReleaseLock;
import dev.lite.session.protocol.SessionMessage.Request;
import dev.lite.session.protocol.SessionProtocol.Op;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
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
    void waitingForATakenLockUsesTheControlChannel() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtLock lock = fixture.lite.sync().lock("l");
            fixture.node.holdCommands(op -> op == Op.TRY_LOCK);
            fixture.node.holdRequests(AcquireLock.class::isInstance);
            CompletableFuture<HeldLock> acquiring = start(() -> lock.acquire(LONG));
            fixture.node.complete(fixture.node.awaitHeldCommand(), 0);
            Request waiting = fixture.node.awaitHeldRequest();
            assertThat(acquiring).isNotDone();
            fixture.node.reply(new Acquired(waiting.requestId(), 55));
            assertThat(await(acquiring).fencingToken()).isEqualTo(55);
        }
    }

    @Test
    void aLockThatIsAcquiredTooLateIsReleased() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtLock lock = fixture.lite.sync().lock("l");
            fixture.node.holdCommands(op -> op == Op.TRY_LOCK);
            fixture.node.holdRequests(AcquireLock.class::isInstance);
            CompletableFuture<HeldLock> acquiring = start(() -> lock.acquire(SHORT.multipliedBy(5)));
            fixture.node.complete(fixture.node.awaitHeldCommand(), 0);
            Request late = fixture.node.awaitHeldRequest();
            assertThatThrownBy(() -> await(acquiring)).isInstanceOf(LiteTimeoutException.class);
            fixture.node.reply(new Acquired(late.requestId(), 56));
            assertThat(fixture.node.awaitRequest(ReleaseLock.class).token()).isEqualTo(56);
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
}
