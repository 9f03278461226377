package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static dev.lite.client.SessionFixture.SHORT;
import static dev.lite.client.SessionFixture.await;
import static dev.lite.client.SessionFixture.bytes;
import static dev.lite.client.SessionFixture.start;
import static dev.lite.client.SessionFixture.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcHandlerException;
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
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The functions that an application serves over a session. */
class ServedFunctionsTest {
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
            fixture.node.holdCommands(SessionFixture::receives);
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
            fixture.node.holdCommands(SessionFixture::receives);
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
            fixture.node.holdCommands(SessionFixture::receives);
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
            fixture.node.holdCommands(SessionFixture::receives);
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
            fixture.node.holdCommands(SessionFixture::receives);
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
            RpcCall call = fixture.receive(server, 1, 4);
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
            RpcCall call = fixture.receive(fixture.lite.rpc().serve("f"), 1, FakeNode.WINDOW_BYTES);
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
            RpcCall replied = fixture.receive(server, 1, FakeNode.WINDOW_BYTES);
            RpcCall failed = fixture.receive(server, 2, FakeNode.WINDOW_BYTES);
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
            RpcCall call = fixture.receive(server, 1, FakeNode.WINDOW_BYTES);
            fixture.node.holdCommands(op -> op == Op.CALL);
            RpcClient client = fixture.lite.rpc().bind("n", "g");
            List<Command> held = new ArrayList<>();
            for (int slot = 0; slot < FakeNode.SLOTS; slot++) {
                CompletableFuture<byte[]> unused = client.callAsync(bytes("x"), LONG);
                held.add(fixture.node.awaitHeldCommand());
            }
            fixture.node.holdCommands(SessionFixture::receives);
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
            fixture.node.holdCommands(SessionFixture::receives);
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
            fixture.node.holdCommands(SessionFixture::receives);
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
    void aReceiveEndsWithTheSession() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(SessionFixture::receives);
            RpcServer server = fixture.lite.rpc().serve("f");
            CompletableFuture<RpcCall> receiving = start(() -> server.receive(Duration.ofDays(365_000)));
            fixture.node.awaitHeldCommand();
            fixture.node.dropSession();
            assertThatThrownBy(() -> await(receiving)).isInstanceOf(SessionLostException.class);
        }
    }
}
