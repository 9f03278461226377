package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static dev.lite.client.SessionFixture.SHORT;
import static dev.lite.client.SessionFixture.await;
import static dev.lite.client.SessionFixture.bytes;
import static dev.lite.client.SessionFixture.run;
import static dev.lite.client.SessionFixture.start;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcOutcome;
import dev.lite.client.fake.FakeNode;
import dev.lite.client.fake.FakeNode.Command;
import dev.lite.session.protocol.SessionMessage.RpcOpen;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** Calls over a session. */
class SessionRpcTest {
    @Test
    void aCallReturnsItsReply() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            assertThat(fixture.lite.rpc().call("n", "echo", bytes("hello"), LONG))
                    .isEqualTo(bytes("hello"));
            byte[] reply = new byte[8];
            assertThat(fixture.lite
                            .rpc()
                            .bind("n", "echo")
                            .call(MemorySegment.ofArray(bytes("abc")), MemorySegment.ofArray(reply), LONG))
                    .isEqualTo(3);
            assertThat(reply).startsWith(bytes("abc"));
            assertThat(await(fixture.lite.rpc().callAsync("n", "echo", bytes("later"), LONG)))
                    .isEqualTo(bytes("later"));
        }
    }

    @Test
    void namesAndSizesAreCheckedBeforeTheNodeIsAsked() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            LtRpc rpc = fixture.lite.rpc();
            assertThatThrownBy(() -> rpc.bind("n", "")).isInstanceOf(LimitExceededException.class);
            assertThatThrownBy(() -> rpc.serve("f".repeat(LtRpc.NAME_BYTES_MAX + 1)))
                    .isInstanceOf(LimitExceededException.class);
            assertThatThrownBy(() -> rpc.bind("n", "\0f")).isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> rpc.register("f", 0, RpcCall::request))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("concurrency");
            assertThatThrownBy(() -> rpc.call("n", "f", new byte[FakeNode.WINDOW_BYTES + 1], LONG))
                    .isInstanceOf(LimitExceededException.class);
        }
    }

    @Test
    void aMulticastHasOneOutcomePerNode() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            Map<String, RpcOutcome> outcomes =
                    fixture.lite.rpc().multicast(List.of("b", "a", "b"), "echo", bytes("hi"), LONG);
            assertThat(outcomes).containsOnlyKeys("a", "b");
            assertThat(outcomes.keySet()).containsExactly("b", "a");
            assertThat(outcomes.values())
                    .allSatisfy(each -> assertThat(each.get()).isEqualTo(bytes("hi")));

            fixture.node.failCommands(LiteException.Code.NODE_UNREACHABLE);
            outcomes = fixture.lite.rpc().multicast(List.of("a"), "echo", bytes("hi"), LONG);
            RpcOutcome failed = Objects.requireNonNull(outcomes.get("a"));
            assertThatThrownBy(failed::get).isInstanceOf(NodeUnreachableException.class);
        }
    }

    @Test
    void theStagesOfAnAsynchronousCallGetTheSameExceptionWhetherOrNotItNeedsAThread() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.failCommands(LiteException.Code.NODE_UNREACHABLE);
            RpcClient client = fixture.lite.rpc().bind("n", "echo");
            for (int call = 0; call < 2; call++) { // the first one also opens the function
                CompletableFuture<Throwable> seen = new CompletableFuture<>();
                CompletableFuture<byte[]> unused =
                        client.callAsync(bytes("x"), LONG).whenComplete((reply, failure) -> seen.complete(failure));
                assertThat(await(seen)).isInstanceOf(NodeUnreachableException.class);
            }
        }
    }

    @Test
    void aCallThatWaitedForASlotHasOnlyTheRestOfItsDeadline() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(op -> op == Op.CALL);
            RpcClient client = fixture.lite.rpc().bind("n", "echo");
            List<Command> held = new ArrayList<>();
            for (int slot = 0; slot < FakeNode.SLOTS; slot++) {
                CompletableFuture<byte[]> unused = client.callAsync(bytes("x"), LONG);
                held.add(fixture.node.awaitHeldCommand());
            }
            CountDownLatch begins = new CountDownLatch(1);
            CompletableFuture<byte[]> waiting = start(() -> {
                begins.countDown();
                return client.call(bytes("y"), LONG);
            });
            Waits.await(begins);
            Waits.pass(SHORT.multipliedBy(2));
            fixture.node.complete(held.getFirst(), 1);
            Command next = fixture.node.awaitHeldCommand();
            assertThat(Duration.ofNanos(next.timeoutNs())).isLessThan(LONG.minus(SHORT));
            fixture.node.complete(next, 1);
            assertThat(await(waiting)).hasSize(1);
        }
    }

    @Test
    void aFirstCallWaitsForTheNodeUntilItsOwnDeadline() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdRequests(RpcOpen.class::isInstance);
            CompletableFuture<byte[]> call = start(() -> fixture.lite.rpc().call("n", "echo", bytes("x"), SHORT));
            CompletableFuture<Boolean> send =
                    run(() -> fixture.lite.rpc().send("n", "p", MemorySegment.ofArray(bytes("x")), SHORT));
            for (CompletableFuture<?> late : List.of(call, send)) {
                assertThat(late)
                        .failsWithin(LONG.dividedBy(2))
                        .withThrowableThat()
                        .withCauseInstanceOf(LiteTimeoutException.class);
            }
        }
    }

    @Test
    void anAsynchronousCallWaitsWhileVeryManyOthersWaitForSlots() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            RpcClient client = fixture.lite.rpc().bind("n", "echo");
            assertThat(client.call(bytes("x"), LONG)).isEqualTo(bytes("x")); // opens the function
            fixture.node.holdCommands(op -> op == Op.CALL);
            List<CompletableFuture<byte[]>> calls = new ArrayList<>();
            for (int call = 0; call < FakeNode.SLOTS + 1024; call++) {
                calls.add(client.callAsync(bytes("x"), LONG));
            }
            assertThat(client.callAsync(bytes("late"), SHORT))
                    .as("its deadline passed before it was started")
                    .isCompletedExceptionally();

            fixture.node.holdCommands(op -> false);
            for (int slot = 0; slot < FakeNode.SLOTS; slot++) {
                fixture.node.complete(fixture.node.awaitHeldCommand(), 1);
            }
            calls.add(client.callAsync(bytes("x"), LONG));
            calls.forEach(each -> assertThat(await(each)).hasSize(1));
        }
    }

    @Test
    void aCallThatTimedOutQuarantinesItsSlot() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            RpcClient client = fixture.lite.rpc().bind("n", "echo");
            byte[] unused = client.call(bytes("x"), LONG); // opens the function, which would take some of the deadline
            fixture.node.holdCommands(op -> op == Op.CALL);
            CompletableFuture<byte[]> call = start(() -> client.call(bytes("x"), SHORT));
            Command held = fixture.node.awaitHeldCommand();
            assertThat(held.timeoutNs()).isEqualTo(SHORT.toNanos());
            assertThatThrownBy(() -> await(call)).isInstanceOf(LiteTimeoutException.class);
            fixture.node.holdCommands(op -> false);
            fixture.node.complete(held, 1);
            assertThat(fixture.lite.rpc().call("n", "echo", bytes("y"), LONG)).isEqualTo(bytes("y"));
        }
    }

    /** Here nothing can make a future. */
    @Test
    @SuppressWarnings("NullAway")
    void anAsynchronousCallForWhoseFutureThereIsNoMemoryKeepsNoSlot() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            RpcClient client = fixture.lite.rpc().bind("n", "echo");
            assertThat(client.call(bytes("one"), LONG)).isEqualTo(bytes("one")); // it is open now
            Session session = Inside.field(fixture.lite, "session", Session.class);
            Object futures = Inside.field(session.async(), "futures", Object.class);
            Inside.set(session.async(), "futures", null);
            for (int i = 0; i <= FakeNode.SLOTS; i++) {
                assertThatThrownBy(() -> client.callAsync(bytes("two"), LONG)).isInstanceOf(NullPointerException.class);
            }
            Inside.set(session.async(), "futures", futures);
            assertThat(await(client.callAsync(bytes("three"), LONG))).isEqualTo(bytes("three"));
        }
    }
}
