package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static dev.lite.client.SessionFixture.SHORT;
import static dev.lite.client.SessionFixture.await;
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
import dev.lite.api.RpcHandlerException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcMessages.Message;
import dev.lite.api.RpcOutcome;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.client.fake.FakeNode;
import dev.lite.client.fake.FakeNode.Command;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Turns;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.channel.ChannelCaller;
import dev.lite.session.protocol.FurtherCalls;
import dev.lite.session.protocol.SessionMessage.ChannelOffered;
import dev.lite.session.protocol.SessionMessage.ChannelTaken;
import dev.lite.session.protocol.SessionMessage.RpcClose;
import dev.lite.session.protocol.SessionMessage.RpcOpen;
import dev.lite.session.protocol.SessionMessage.RpcOpened;
import dev.lite.session.protocol.SessionMessage.RpcOrigin;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls, and the functions that an application serves, over a session. */
class SessionRpcTest {
    private static boolean receives(int op) {
        return op == Op.RECEIVE || op == Op.REPLY_AND_RECEIVE;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(MemorySegment segment) {
        return new String(segment.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
    }

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

    @SuppressWarnings("NullAway") // as a handler that is not checked may return it
    private static MemorySegment nothing() {
        return null;
    }

    /** In an executable archive the system's class loader knows neither the application nor its libraries. */
    @Test
    void aHandlerHasTheContextClassLoaderOfTheThreadThatRegisteredIt() throws IOException {
        Thread thread = Thread.currentThread();
        ClassLoader former = thread.getContextClassLoader();
        ClassLoader own = new ClassLoader("own", former) {};
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            thread.setContextClassLoader(own);
            fixture.node.holdCommands(SessionRpcTest::receives);
            fixture.lite.rpc().register("loader", 1, call -> {
                ClassLoader its = Thread.currentThread().getContextClassLoader();
                return MemorySegment.ofArray(bytes(String.valueOf(its.getName())));
            });
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 41, "");
            assertThat(fixture.node.awaitReply()).isEqualTo("reply 41: own");
        } finally {
            thread.setContextClassLoader(former);
        }
    }

    @Test
    void aHandlerAnswersCallsAndItsExceptionsFailThem() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionRpcTest::receives);
            RpcServer server = fixture.lite.rpc().register("shout", 2, call -> {
                if (text(call.request()).equals("fail")) {
                    throw new RpcHandlerException(-3, "as asked by " + call.callerPrincipal());
                }
                if (text(call.request()).equals("null")) {
                    return nothing();
                }
                return MemorySegment.ofArray(bytes(text(call.request()).toUpperCase(Locale.ROOT)));
            });
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 41, "hello");
            assertThat(fixture.node.awaitReply()).isEqualTo("reply 41: HELLO");
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 42, "fail");
            assertThat(fixture.node.awaitReply()).isEqualTo("fail with -3 42: as asked by caller");
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 43, "null");
            assertThat(fixture.node.awaitReply())
                    .isEqualTo("fail with 0 43: the handler returned null; it must return a reply, which may be empty");
            assertThatThrownBy(() -> server.receive(SHORT)).isInstanceOf(IllegalStateException.class);
            server.close();
            assertThat(fixture.node.awaitRequest(RpcClose.class)).isNotNull();
        }
    }

    @Test
    void aHandlerServesOnAfterAnErrorOfItsOwnAndAfterAFailedReceive() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionRpcTest::receives);
            RpcServer server = fixture.lite.rpc().register("shout", 1, call -> {
                if (text(call.request()).equals("error")) {
                    throw new AssertionError("out of ideas");
                }
                return call.request();
            });
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 41, "error");
            assertThat(fixture.node.awaitReply())
                    .isEqualTo("fail with 0 41: the handler failed; the log of its application has the cause");
            for (LiteException.Code code : LiteException.Code.values()) {
                if (code != LiteException.Code.SESSION_LOST) {
                    fixture.node.fail(fixture.node.awaitHeldCommand(), code);
                }
            }
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 42, "hello");
            assertThat(fixture.node.awaitReply()).isEqualTo("reply 42: hello");
            server.close();
        }
    }

    /** The channel comes while the thread that receives waits for the node, whose answer is that the server was closed. */
    @Test
    void aHandlerAlsoExecutesTheCallsOfAChannelThatCameJustBeforeItsServerWasClosed() throws IOException {
        ChannelArea area = new ChannelArea(1, 128);
        try (SessionFixture fixture = new SessionFixture(LONG);
                SharedMemory memory = area.create();
                ChannelCaller caller = new ChannelCaller(
                        SharedMemory.openFile(Path.of("/proc/self/fd/" + memory.descriptor())),
                        area,
                        "f",
                        1,
                        new Turns())) {
            fixture.node.holdCommands(SessionRpcTest::receives);
            RpcServer server = fixture.lite.rpc().register("f", 1, RpcCall::request);
            Command receive = fixture.node.awaitHeldCommand();
            fixture.node.reply(new ChannelOffered(7, receive.lh(), area, "node-1", "web", null), memory.descriptor());
            fixture.node.awaitRequest(ChannelTaken.class);
            server.close();
            fixture.node.fail(receive, LiteException.Code.SESSION_LOST);
            assertThat(caller.call(MemorySegment.ofArray(bytes("hello")), LONG.toNanos()))
                    .isEqualTo(bytes("hello"));
        }
    }

    @Test
    void aServerReceivesAndAnswersEachCallOnce() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionRpcTest::receives);
            RpcServer server = fixture.lite.rpc().serve("f");
            CompletableFuture<RpcCall> receiving = start(() -> server.receive(LONG));
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 1, "one");
            RpcCall first = await(receiving);
            assertThat(first.callerNode()).isEqualTo("caller-node");
            assertThat(text(first.request())).isEqualTo("one");

            CompletableFuture<RpcCall> next =
                    start(() -> server.replyAndReceive(first, MemorySegment.ofArray(bytes("r1")), LONG));
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 2, "two");
            assertThat(fixture.node.awaitReply()).isEqualTo("reply 1: r1");
            RpcCall second = await(next);
            assertThatThrownBy(() -> first.reply(bytes("again"))).isInstanceOf(IllegalStateException.class);
            second.fail("no");
            assertThat(fixture.node.awaitReply()).isEqualTo("fail with 0 2: no");
            assertThatThrownBy(() -> second.fail("again")).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void aServerThatIsOpenedTooLateIsClosed() throws IOException {
        try (SessionFixture fixture = new SessionFixture(SHORT)) {
            fixture.node.holdRequests(RpcOpen.class::isInstance);
            assertThatThrownBy(() -> fixture.lite.rpc().serve("f")).isInstanceOf(LiteTimeoutException.class);

            fixture.node.reply(new RpcOpened(fixture.node.awaitHeldRequest().requestId(), 41));

            assertThat(fixture.node.awaitRequest(RpcClose.class).id()).isEqualTo(41);
        }
    }

    @Test
    void aCallWhoseReplyIsTooLongForItsCallerCanStillBeAnswered() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            RpcServer server = fixture.lite.rpc().serve("f");
            RpcCall call = receive(fixture, server, 1, 4);
            fixture.node.holdCommands(op -> false);
            fixture.node.failCommands(LiteException.Code.LIMIT_EXCEEDED); // as a node does that gets such a reply
            assertThatThrownBy(() -> server.replyAndReceive(call, MemorySegment.ofArray(bytes("too long")), LONG))
                    .isInstanceOf(LimitExceededException.class);
            fixture.node.failCommands(null);
            call.fail("too long");
            assertThat(fixture.node.awaitReply()).isEqualTo("fail with 0 1: too long");
        }
    }

    @Test
    void aCallWhoseReplyCannotBeReadCanStillBeAnswered(@TempDir Path directory) throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG);
                Arena arena = Arena.ofShared()) {
            RpcCall call = receive(fixture, fixture.lite.rpc().serve("f"), 1, FakeNode.WINDOW_BYTES);
            Path file = directory.resolve("truncated");
            MemorySegment truncated;
            try (FileChannel open = FileChannel.open(
                    file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                truncated = open.map(FileChannel.MapMode.READ_WRITE, 0, 512, arena);
                open.truncate(0);
            }
            assertThatThrownBy(() -> call.reply(truncated)).isInstanceOf(InternalError.class);
            call.fail("no");
            assertThat(fixture.node.awaitReply()).isEqualTo("fail with 0 1: no");
        }
    }

    @Test
    void aCallWhoseAnswerFoundNoFreeSlotCanStillBeAnswered() throws IOException {
        try (SessionFixture fixture = new SessionFixture(SHORT)) {
            RpcServer server = fixture.lite.rpc().serve("f");
            RpcCall replied = receive(fixture, server, 1, FakeNode.WINDOW_BYTES);
            RpcCall failed = receive(fixture, server, 2, FakeNode.WINDOW_BYTES);
            fixture.node.holdCommands(op -> op == Op.CALL);
            RpcClient client = fixture.lite.rpc().bind("n", "g");
            List<Command> held = new ArrayList<>();
            for (int slot = 0; slot < FakeNode.SLOTS; slot++) {
                CompletableFuture<byte[]> unused = client.callAsync(bytes("x"), LONG);
                held.add(fixture.node.awaitHeldCommand());
            }
            assertThatThrownBy(() -> replied.reply(bytes("r1"))).isInstanceOf(LiteTimeoutException.class);
            assertThatThrownBy(() -> failed.fail("no")).isInstanceOf(LiteTimeoutException.class);

            held.forEach(one -> fixture.node.complete(one, 0));
            replied.reply(bytes("r1"));
            assertThat(fixture.node.awaitReply()).isEqualTo("reply 1: r1");
            failed.fail("no");
            assertThat(fixture.node.awaitReply()).isEqualTo("fail with 0 2: no");
            assertThatThrownBy(() -> failed.fail("again")).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void aReplyIsSentAlsoIfNoSlotIsFreeBeforeTheDeadlineOfTheNextReceive() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            RpcServer server = fixture.lite.rpc().serve("f");
            RpcCall call = receive(fixture, server, 1, FakeNode.WINDOW_BYTES);
            fixture.node.holdCommands(op -> op == Op.CALL);
            RpcClient client = fixture.lite.rpc().bind("n", "g");
            List<Command> held = new ArrayList<>();
            for (int slot = 0; slot < FakeNode.SLOTS; slot++) {
                CompletableFuture<byte[]> unused = client.callAsync(bytes("x"), LONG);
                held.add(fixture.node.awaitHeldCommand());
            }
            fixture.node.holdCommands(SessionRpcTest::receives);
            CompletableFuture<RpcCall> next =
                    start(() -> server.replyAndReceive(call, MemorySegment.ofArray(bytes("r1")), SHORT));
            Waits.pass(SHORT.multipliedBy(2));
            held.forEach(one -> fixture.node.complete(one, 0));
            assertThat(fixture.node.awaitReply()).isEqualTo("reply 1: r1");
            assertThatThrownBy(() -> await(next)).isInstanceOf(LiteTimeoutException.class);
        }
    }

    @Test
    void aThreadThatRepliesAndReceivesSoonLooksForCallsThatAnotherThreadGot() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionRpcTest::receives);
            RpcServer server = fixture.lite.rpc().serve("f");
            CompletableFuture<RpcCall> own = new CompletableFuture<>();
            CompletableFuture<RpcCall> others = start(() -> {
                own.complete(server.receive(LONG));
                return server.receive(LONG); // for this thread and, as far as it knows, for no other one
            });
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 1, "one");
            Command several = fixture.node.awaitHeldCommand();
            assertThat(several.offset()).isEqualTo(FurtherCalls.MAX);

            RpcCall first = await(own);
            CompletableFuture<RpcCall> next =
                    start(() -> server.replyAndReceive(first, MemorySegment.ofArray(bytes("r1")), LONG));
            Command one = fixture.node.awaitHeldCommand();
            assertThat(one.offset()).isZero();
            assertThat(Duration.ofNanos(one.timeoutNs())).isLessThan(SHORT);

            fixture.node.completeWithCall(several, 2, "two");
            assertThat(text(await(others).request())).isEqualTo("two");
            fixture.node.completeWithCall(one, 3, "three");
            assertThat(text(await(next).request())).isEqualTo("three");
        }
    }

    @Test
    void anApplicationThatServesMoreFunctionsThanItHasSlotsServesThemAllAndCanDoOtherThings() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionRpcTest::receives);
            Set<Long> waiting = new HashSet<>();
            for (int function = 0; function < 2 * FakeNode.SLOTS; function++) {
                fixture.lite.rpc().register("f" + function, 1, RpcCall::request);
            }
            CompletableFuture<byte[]> call = start(() -> fixture.lite.rpc().call("n", "echo", bytes("hello"), LONG));
            while (waiting.size() < 2 * FakeNode.SLOTS) {
                Command receive = fixture.node.awaitHeldCommand();
                waiting.add(receive.lh());
                if (receive.timeoutNs() < SHORT.toNanos()) {
                    fixture.node.fail(receive, LiteException.Code.TIMEOUT);
                }
            }
            assertThat(await(call)).isEqualTo(bytes("hello"));
        }
    }

    @Test
    void aMessageThatComesForAReceiveThatHasTimedOutIsReceivedNext() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionRpcTest::receives);
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
            fixture.node.holdCommands(SessionRpcTest::receives);
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
            fixture.node.holdCommands(SessionRpcTest::receives);
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
            fixture.node.holdCommands(SessionRpcTest::receives);
            RpcServer server = fixture.lite.rpc().serve("f");
            CompletableFuture<RpcCall> receiving = start(() -> server.receive(SHORT));
            Command late = fixture.node.awaitHeldCommand();
            assertThatThrownBy(() -> await(receiving)).isInstanceOf(LiteTimeoutException.class);

            fixture.node.completeWithCall(late, 1, "one");

            assertThat(fixture.node.awaitReply()).isEqualTo(notTaken(1));
            RpcCall call = receive(fixture, server, 2, FakeNode.WINDOW_BYTES);
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
            fixture.node.holdCommands(SessionRpcTest::receives);
            RpcServer server = fixture.lite.rpc().serve("f");
            CompletableFuture<RpcCall> receiving = start(() -> server.receive(SHORT));
            Command late = fixture.node.awaitHeldCommand();
            assertThatThrownBy(() -> await(receiving)).isInstanceOf(LiteTimeoutException.class);
            fixture.node.fail(late, LiteException.Code.TIMEOUT);
            receive(fixture, server, 2, FakeNode.WINDOW_BYTES).reply(bytes("r2"));
            assertThat(fixture.node.awaitReply()).isEqualTo("reply 2: r2");
        }
    }

    @Test
    void aCallThatNoThreadHasTakenIsRefusedAlthoughTheNodeDoesNotAnswerTheCloseOfItsServer() throws IOException {
        try (SessionFixture fixture = new SessionFixture(SHORT)) {
            fixture.node.holdCommands(SessionRpcTest::receives);
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
            fixture.node.holdCommands(SessionRpcTest::receives);
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
            fixture.node.holdCommands(SessionRpcTest::receives);
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
            fixture.node.holdCommands(SessionRpcTest::receives);
            RpcServer server = fixture.lite.rpc().serve("f");
            RpcCall first = receive(fixture, server, 1, FakeNode.WINDOW_BYTES);
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
            fixture.node.holdCommands(SessionRpcTest::receives);
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

    /** Receives a call with this number. */
    private static RpcCall receive(SessionFixture fixture, RpcServer server, long number, int replyBytesMax) {
        fixture.node.holdCommands(SessionRpcTest::receives);
        CompletableFuture<RpcCall> receiving = start(() -> server.receive(LONG));
        fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), number, "request", replyBytesMax);
        return await(receiving);
    }

    @Test
    void aReceiveEndsWithTheSession() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionRpcTest::receives);
            RpcServer server = fixture.lite.rpc().serve("f");
            CompletableFuture<RpcCall> receiving = start(() -> server.receive(Duration.ofDays(365_000)));
            fixture.node.awaitHeldCommand();
            fixture.node.dropSession();
            assertThatThrownBy(() -> await(receiving)).isInstanceOf(SessionLostException.class);
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
