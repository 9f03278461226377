package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static dev.lite.client.SessionFixture.await;
import static dev.lite.client.SessionFixture.start;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Turns;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.channel.ChannelCaller;
import dev.lite.session.channel.ChannelServer;
import dev.lite.session.channel.ReceivedRequest;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls for which the server's application has no memory. Nobody would answer them, and their callers' slots would not come back. */
class UntakenCallsTest {
    @Test
    void aCallForWhichNoThreadStartsIsDeclinedAndTheNextOneIsExecuted() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(op -> op == Op.RECEIVE);
            ClientServer server = (ClientServer) fixture.lite.rpc().serve("f");
            AtomicInteger threads = new AtomicInteger();
            server.startHandler(RpcCall::request, 1, task -> {
                if (threads.getAndIncrement() == 0) {
                    throw new OutOfMemoryError("on purpose");
                }
                return Thread.ofVirtual().unstarted(task);
            });

            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 41, "one");

            assertThat(fixture.node.awaitReply())
                    .isEqualTo("fail with 0 41: no thread of the application that serves \"f\" could take the call");
            fixture.node.completeWithCall(fixture.node.awaitHeldCommand(), 42, "two");
            assertThat(fixture.node.awaitReply()).isEqualTo("reply 42: two");
        }
    }

    /** Whatever keeps the application from taking a call: here it is a caller of a wrong type. */
    @Test
    void aCallThatMeetsAnErrorIsRefusedWithThoseThatCameWithIt() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdCommands(op -> op == Op.RECEIVE);
            ClientServer server = (ClientServer) fixture.lite.rpc().serve("f");
            callers(server).put(1L, "not a caller");
            CompletableFuture<RpcCall> receiving = start(() -> server.receive(LONG));

            fixture.node.completeWithTwoCalls(fixture.node.awaitHeldCommand(), 41, 42, "one");

            assertThatThrownBy(() -> await(receiving)).isInstanceOf(ClassCastException.class);
            String why = ": no thread of the application that serves \"f\" could take the call";
            assertThat(List.of(fixture.node.awaitReply(), fixture.node.awaitReply()))
                    .containsExactlyInAnyOrder("fail with 0 41" + why, "fail with 0 42" + why);
        }
    }

    /** The callers that a server knows, by number. */
    @SuppressWarnings("unchecked")
    private static Map<Long, Object> callers(ClientServer server) {
        return (Map<Long, Object>) Inside.field(Inside.field(server, "commands", Object.class), "origins", Map.class);
    }

    /** A thread that receives takes the request itself; for one that serves, the thread that polls does. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCallOfAChannelForWhichThereIsNoMemoryGoesThroughTheNodes(boolean serves) throws IOException {
        ChannelArea area = new ChannelArea(1, 128);
        try (SessionFixture fixture = new SessionFixture(LONG);
                SharedMemory memory = area.create();
                ChannelCaller caller = new ChannelCaller(mapAgain(memory), area, "f", 1, new Turns());
                ChannelServer server = new ChannelServer(mapAgain(memory), area, "f", "node-1", "web")) {
            fixture.node.holdCommands(op -> op == Op.RECEIVE);
            IncomingCalls calls = withoutMemory(session(fixture));
            assertThat(calls.add(server)).isTrue();
            long deadlineNs = System.nanoTime() + LONG.toNanos();
            CompletableFuture<Throwable> thrown = new CompletableFuture<>();
            Thread receiving = (serves
                            ? Thread.ofVirtual()
                            : Thread.ofPlatform().daemon())
                    .start(() -> {
                        try {
                            RpcCall unused =
                                    serves ? calls.serve(call -> true, deadlineNs, 0) : calls.receive(deadlineNs);
                        } catch (Throwable e) {
                            thrown.complete(e);
                        }
                    });
            Waits.until("it waits", () -> !serves || receiving.getState() == Thread.State.WAITING);

            assertThatThrownBy(() -> caller.call(MemorySegment.ofArray(new byte[8]), LONG.toNanos()))
                    .isInstanceOfSatisfying(
                            RpcFailedException.class,
                            e -> assertThat(e.status()).isEqualTo(RpcStatus.NOT_SERVED));

            assertThat(thrown).succeedsWithin(LONG).isInstanceOf(OutOfMemoryError.class);
            calls.close();
        }
    }

    /** Else its slot and its memory would stay until the end of the session, and longer. */
    @Test
    void aServerWhoseThreadFindsNoMemoryForRequestsEndsItsReceiveAtItsEnd() throws IOException {
        ChannelArea area = new ChannelArea(1, 128);
        try (SessionFixture fixture = new SessionFixture(LONG);
                SharedMemory memory = area.create();
                ChannelServer server = new ChannelServer(mapAgain(memory), area, "f", "node-1", "web")) {
            fixture.node.holdCommands(op -> op == Op.RECEIVE);
            IncomingCalls calls = withoutMemory(session(fixture));
            assertThat(calls.add(server)).isTrue();
            receiveNothing(calls);
            assertThat(calls.isStanding()).isTrue();

            Inside.set(calls, "spare", new AtomicReference<>());
            Inside.set(calls, "rooms", new ConcurrentLinkedDeque<ReceivedRequest>() {
                @Override
                public ReceivedRequest pollFirst() {
                    throw new OutOfMemoryError("on purpose");
                }
            });
            assertThatThrownBy(() -> calls.receive(System.nanoTime() + LONG.toNanos()))
                    .isInstanceOf(OutOfMemoryError.class);

            calls.close();
            assertThat(calls.isStanding()).isFalse();
        }
    }

    private static void receiveNothing(IncomingCalls calls) {
        assertThatThrownBy(() -> calls.receive(System.nanoTime() + 30_000_000))
                .isInstanceOf(LiteTimeoutException.class);
    }

    /** The call that it has received needs an answer. */
    @Test
    void aThreadThatFindsNoMemoryToKeepTheRoomOfARequestHasTheCallAllTheSame() throws IOException {
        ChannelArea area = new ChannelArea(1, 128);
        try (SessionFixture fixture = new SessionFixture(LONG);
                SharedMemory memory = area.create();
                ChannelCaller caller = new ChannelCaller(mapAgain(memory), area, "f", 1, new Turns());
                ChannelServer server = new ChannelServer(mapAgain(memory), area, "f", "node-1", "web")) {
            fixture.node.holdCommands(op -> op == Op.RECEIVE);
            ClientServer serving = (ClientServer) fixture.lite.rpc().serve("f");
            IncomingCalls calls = Inside.field(serving, "incoming", IncomingCalls.class);
            assertThat(calls.add(server)).isTrue();
            Inside.set(calls, "rooms", new ConcurrentLinkedDeque<ReceivedRequest>() {
                @Override
                public ReceivedRequest pollFirst() {
                    ReceivedRequest room = new ReceivedRequest(new ChannelArea(1, ChannelArea.WINDOW_BYTES_MAX));
                    Inside.set(calls, "spare", new AtomicReference<>(room)); // as if another thread gave one back
                    return room;
                }

                @Override
                public void addFirst(ReceivedRequest room) {
                    throw new OutOfMemoryError("on purpose");
                }
            });
            CompletableFuture<byte[]> reply =
                    start(() -> caller.call(MemorySegment.ofArray(new byte[8]), LONG.toNanos()));

            serving.receive(LONG).reply(MemorySegment.ofArray(new byte[] {1}));

            assertThat(await(reply)).containsExactly(1);
            calls.close();
        }
    }

    private record WithoutMemory(Session session) implements IncomingCalls.Made {
        @Override
        public RpcCall fromNode(int slot, long length) {
            throw new AssertionError("the node sends no call");
        }

        @Override
        public RpcCall fromChannel(ReceivedRequest request) {
            throw new OutOfMemoryError("on purpose");
        }

        @Override
        public void awaitCaller(RpcCall call, long deadlineNs) {
            throw new AssertionError("there is no call");
        }

        @Override
        public void refuse(long number) {
            throw new AssertionError("the node sends no call");
        }

        @Override
        public void returnSlot(int slot) {
            session.data().returnSlot(slot);
        }
    }

    private static IncomingCalls withoutMemory(Session session) {
        return new IncomingCalls(new RpcCommandPath(session), "f", 1, new CallsAhead<>(), new WithoutMemory(session));
    }

    private static SharedMemory mapAgain(SharedMemory memory) {
        return SharedMemory.openFile(Path.of("/proc/self/fd/" + memory.descriptor()));
    }

    private static Session session(SessionFixture fixture) {
        return Inside.field(fixture.lite, "session", Session.class);
    }
}
