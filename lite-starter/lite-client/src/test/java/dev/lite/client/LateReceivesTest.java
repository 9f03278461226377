package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static dev.lite.client.SessionFixture.SHORT;
import static dev.lite.client.SessionFixture.await;
import static dev.lite.client.SessionFixture.bytes;
import static dev.lite.client.SessionFixture.start;
import static dev.lite.client.SessionFixture.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcMessages.Message;
import dev.lite.api.RpcServer;
import dev.lite.client.fake.FakeNode;
import dev.lite.client.fake.FakeNode.Command;
import dev.lite.session.protocol.SessionMessage.RpcClose;
import dev.lite.session.protocol.SessionMessage.RpcOrigin;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Calls and messages over a session that no thread takes in time, or whose caller is not known in time. */
class LateReceivesTest {
    @Test
    void aMessageThatComesForAReceiveThatHasTimedOutIsReceivedNext() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionFixture::receives);
            RpcMessages messages = fixture.lite.rpc().messages("p");
            CompletableFuture<Message> receiving = start(() -> messages.receive(SHORT));
            Command late = fixture.node.awaitHeldCommand();
            assertThatThrownBy(() -> await(receiving)).isInstanceOf(LiteTimeoutException.class);
            fixture.node.completeWithCall(late, 0, "hello");
            assertThat(messages.receive(LONG).data()).isEqualTo(bytes("hello"));
        }
    }

    @Test
    void aMessageIsReceivedLaterIfTheNodeDoesNotTellWhoItsSenderIs() throws IOException {
        try (SessionFixture fixture = new SessionFixture(SHORT)) {
            fixture.node.holdCommands(SessionFixture::receives);
            fixture.node.holdRequests(RpcOrigin.class::isInstance);
            RpcMessages messages = fixture.lite.rpc().messages("p");
            CompletableFuture<Message> receiving = start(() -> messages.receive(LONG));
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 0, "hello");
            assertThatThrownBy(() -> await(receiving)).isInstanceOf(LiteTimeoutException.class);
            fixture.node.holdRequests(request -> false);
            assertThat(messages.receive(LONG).data()).isEqualTo(bytes("hello"));
        }
    }

    @Test
    void aReceiveThatIsNotToldTheSenderEndsAtItsDeadlineAndTheNextOneGetsTheMessage() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionFixture::receives);
            fixture.node.holdRequests(RpcOrigin.class::isInstance);
            RpcMessages messages = fixture.lite.rpc().messages("p");
            CompletableFuture<Message> receiving = start(() -> messages.receive(SHORT));
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 0, "hello");
            assertThat(receiving)
                    .failsWithin(LONG.dividedBy(2))
                    .withThrowableThat()
                    .withCauseInstanceOf(LiteTimeoutException.class);

            fixture.node.answer(fixture.node.awaitHeldRequest());

            Message message = messages.receive(LONG);
            assertThat(message.data()).isEqualTo(bytes("hello"));
            assertThat(message.senderNode()).isEqualTo("caller-node");
        }
    }

    private static String notTaken(long call) {
        return "fail with 0 %d: no thread of the application that serves \"f\" could take the call".formatted(call);
    }

    @Test
    void aCallThatComesForAReceiveThatHasTimedOutIsRefused() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionFixture::receives);
            RpcServer server = fixture.lite.rpc().serve("f");
            CompletableFuture<RpcCall> receiving = start(() -> server.receive(SHORT));
            Command late = fixture.node.awaitHeldCommand();
            assertThatThrownBy(() -> await(receiving)).isInstanceOf(LiteTimeoutException.class);

            fixture.node.completeWithCall(late, 1, "one");

            assertThat(fixture.node.awaitReply()).isEqualTo(notTaken(1));
            RpcCall call = fixture.receive(server, 2, FakeNode.WINDOW_BYTES);
            CompletableFuture<RpcCall> next =
                    start(() -> server.replyAndReceive(call, MemorySegment.ofArray(bytes("r2")), SHORT));
            Command second = fixture.node.awaitHeldCommand();
            assertThat(fixture.node.awaitReply()).isEqualTo("reply 2: r2");
            assertThatThrownBy(() -> await(next)).isInstanceOf(LiteTimeoutException.class);

            fixture.node.completeWithCall(second, 3, "three");

            assertThat(fixture.node.awaitReply()).isEqualTo(notTaken(3));
        }
    }

    @Test
    void aReceiveThatEndsLateWithoutACallRefusesNone() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionFixture::receives);
            RpcServer server = fixture.lite.rpc().serve("f");
            CompletableFuture<RpcCall> receiving = start(() -> server.receive(SHORT));
            Command late = fixture.node.awaitHeldCommand();
            assertThatThrownBy(() -> await(receiving)).isInstanceOf(LiteTimeoutException.class);
            fixture.node.fail(late, LiteException.Code.TIMEOUT);
            fixture.receive(server, 2, FakeNode.WINDOW_BYTES).reply(bytes("r2"));
            assertThat(fixture.node.awaitReply()).isEqualTo("reply 2: r2");
        }
    }

    @Test
    void aCallThatNoThreadHasTakenIsRefusedAlthoughTheNodeDoesNotAnswerTheCloseOfItsServer() throws IOException {
        try (SessionFixture fixture = new SessionFixture(SHORT)) {
            fixture.node.holdCommands(SessionFixture::receives);
            RpcServer server = fixture.lite.rpc().serve("f");
            CompletableFuture<RpcCall> receiving = start(() -> server.receive(LONG));
            fixture.node.completeWithTwoCalls(fixture.node.awaitHeldCommand(), 1, 2, "call");
            assertThat(text(await(receiving).request())).isEqualTo("call");

            fixture.node.holdRequests(RpcClose.class::isInstance);
            assertThatThrownBy(server::close).isInstanceOf(LiteTimeoutException.class);

            assertThat(fixture.node.awaitReply()).startsWith("fail").contains(" 2: ");
        }
    }

    @Test
    void aCallIsRefusedIfTheNodeDoesNotTellWhoItsCallerIs() throws IOException {
        try (SessionFixture fixture = new SessionFixture(SHORT)) {
            fixture.node.holdCommands(SessionFixture::receives);
            fixture.node.holdRequests(RpcOrigin.class::isInstance);
            RpcServer server = fixture.lite.rpc().serve("f");
            CompletableFuture<RpcCall> receiving = start(() -> server.receive(LONG));
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 1, "one");
            assertThat(fixture.node.awaitReply()).isEqualTo(notTaken(1));

            fixture.node.holdRequests(request -> false);
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 2, "two");
            assertThat(text(await(receiving).request())).isEqualTo("two");
        }
    }

    @Test
    void aReceiveThatIsNotToldTheCallerEndsAtItsDeadlineAndTheNextOneGetsTheCall() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionFixture::receives);
            fixture.node.holdRequests(RpcOrigin.class::isInstance);
            RpcServer server = fixture.lite.rpc().serve("f");
            CompletableFuture<RpcCall> receiving = start(() -> server.receive(SHORT));
            fixture.node.completeWithTwoCalls(fixture.node.awaitHeldCommand(), 1, 2, "one");
            assertThat(receiving)
                    .failsWithin(LONG.dividedBy(2))
                    .withThrowableThat()
                    .withCauseInstanceOf(LiteTimeoutException.class)
                    .withMessageContaining(
                            "did not send the caller's name before the deadline; the next receive gets the call");

            fixture.node.answer(fixture.node.awaitHeldRequest());

            RpcCall call = server.receive(LONG);
            assertThat(call.callerNode()).isEqualTo("caller-node");
            call.reply(bytes("r1"));
            assertThat(fixture.node.awaitReply()).isEqualTo("reply 1: r1");
            server.receive(LONG).reply(bytes("r2"));
            assertThat(fixture.node.awaitReply()).isEqualTo("reply 2: r2");
        }
    }

    @Test
    void aReplyAndReceiveThatIsNotToldTheCallerEndsAtItsDeadlineAndTheNextReceiveGetsTheCall() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionFixture::receives);
            RpcServer server = fixture.lite.rpc().serve("f");
            RpcCall first = fixture.receive(server, 1, FakeNode.WINDOW_BYTES);
            fixture.node.holdRequests(RpcOrigin.class::isInstance);
            CompletableFuture<RpcCall> next =
                    start(() -> server.replyAndReceive(first, MemorySegment.ofArray(bytes("r1")), SHORT));
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 2, 7, "two", FakeNode.WINDOW_BYTES);
            assertThat(next)
                    .failsWithin(LONG.dividedBy(2))
                    .withThrowableThat()
                    .withCauseInstanceOf(LiteTimeoutException.class);

            fixture.node.answer(fixture.node.awaitHeldRequest());

            assertThat(server.receive(LONG).callerNode()).isEqualTo("caller-node");
        }
    }

    @Test
    void aCallWhoseCallerIsNotKnownIsRefusedWhenItsServerIsClosed() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionFixture::receives);
            fixture.node.holdRequests(RpcOrigin.class::isInstance);
            RpcServer server = fixture.lite.rpc().serve("f");
            CompletableFuture<RpcCall> receiving = start(() -> server.receive(SHORT));
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 1, "one");
            assertThatThrownBy(() -> await(receiving)).isInstanceOf(LiteTimeoutException.class);
            server.close();
            assertThat(fixture.node.awaitReply())
                    .isEqualTo("fail with 0 1: the server of the function \"f\" was closed");
        }
    }
}
