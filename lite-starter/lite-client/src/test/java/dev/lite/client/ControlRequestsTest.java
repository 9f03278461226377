package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static dev.lite.client.SessionFixture.SHORT;
import static dev.lite.client.SessionFixture.await;
import static dev.lite.client.SessionFixture.start;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.client.fake.FakeNode;
import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.os.SharedMemory;
import dev.lite.os.UnixServerSocket;
import dev.lite.os.UnixSocket;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionChannel;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.session.protocol.SessionMessage.CancelTry;
import dev.lite.session.protocol.SessionMessage.ChannelClose;
import dev.lite.session.protocol.SessionMessage.ChannelOffered;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.Free;
import dev.lite.session.protocol.SessionMessage.Malloc;
import dev.lite.session.protocol.SessionMessage.Map;
import dev.lite.session.protocol.SessionMessage.Mapped;
import dev.lite.session.protocol.SessionMessage.Nodes;
import dev.lite.session.protocol.SessionMessage.Publish;
import dev.lite.session.protocol.SessionMessage.ReleaseLock;
import dev.lite.session.protocol.SessionMessage.Request;
import dev.lite.session.protocol.SessionMessage.RpcClose;
import dev.lite.session.protocol.SessionMessage.Unmap;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Requests on the control channel: their limit, and replies that come late or never. */
class ControlRequestsTest {
    private static Mapped mapped(Request request, long lh) {
        return new Mapped(request.requestId(), lh, 7, "x", 64, EnumSet.allOf(Permission.class));
    }

    @Test
    void aMallocThatTimedOutIsFreedWhenItsReplyArrives() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdRequests(Malloc.class::isInstance);
            assertThatThrownBy(() -> fixture.lite.memory().malloc(LmrSpec.of(64), SHORT))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessageContaining("malloc of 64 bytes")
                    .hasMessageContaining("the node did not answer");

            fixture.node.reply(mapped(fixture.node.awaitHeldRequest(), 123));

            assertThat(fixture.node.awaitRequest(Free.class).lh()).isEqualTo(123);
            assertThat(fixture.lite.nodes()).hasSize(1);
        }
    }

    @Test
    void aMapThatTimedOutIsUnmappedWhenItsReplyArrives() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdRequests(Map.class::isInstance);
            assertThatThrownBy(() -> fixture.lite.memory().map("x", Set.of(Permission.READ), SHORT))
                    .isInstanceOf(LiteTimeoutException.class);

            fixture.node.reply(mapped(fixture.node.awaitHeldRequest(), 124));

            assertThat(fixture.node.awaitRequest(Unmap.class).lh()).isEqualTo(124);
        }
    }

    @Test
    void aPublicationThatTimedOutIsFreedWhenItsReplyArrives() throws IOException {
        try (SessionFixture fixture = new SessionFixture(SHORT);
                Arena arena = Arena.ofConfined()) {
            fixture.node.holdRequests(Publish.class::isInstance);
            assertThatThrownBy(
                            () -> fixture.lite.memory().register(LmrSpec.of(64).withName("x"), arena.allocate(64)))
                    .isInstanceOf(LiteTimeoutException.class);
            Publish late = (Publish) fixture.node.awaitHeldRequest();

            fixture.node.answer(late);

            assertThat(fixture.node.awaitRequest(Free.class).lh()).isEqualTo(late.lh());
        }
    }

    @Test
    void aRegistrationThatFailsCountsNoHandle() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG);
                Arena arena = Arena.ofShared()) {
            fixture.node.holdRequests(Publish.class::isInstance);
            CompletableFuture<LmrHandle> registered =
                    start(() -> fixture.lite.memory().register(LmrSpec.of(64).withName("x"), arena.allocate(64)));
            long id = fixture.node.awaitHeldRequest().requestId();
            fixture.node.reply(
                    new Failed(id, LiteException.Code.LMR_EXISTS.number(), RpcStatus.UNKNOWN, "another one has it"));
            assertThatThrownBy(() -> await(registered)).isInstanceOf(LmrExistsException.class);

            assertThat(fixture.lite.statistics().handles()).isZero();
        }
    }

    /** Both ends of a connection to a node. */
    private record Ends(SessionChannel client, SessionChannel node) implements AutoCloseable {
        static Ends connected(Path socket) {
            try (UnixServerSocket listening = UnixServerSocket.bind(socket, 0600, 1)) {
                SessionChannel client = new SessionChannel(UnixSocket.connect(socket));
                return new Ends(client, new SessionChannel(listening.accept()));
            }
        }

        @Override
        public void close() {
            node.close();
            client.close();
        }
    }

    @Test
    void aReleaseThatABusyNodeDoesNotTakeIsSentLater(@TempDir Path directory) throws ProtocolException {
        try (Ends ends = Ends.connected(directory.resolve("node.sock"))) {
            ends.client.setTimeout(0, TimeUnit.MILLISECONDS.toNanos(1));
            ControlRequests requests = new ControlRequests(ends.client, "busy", 16);
            int filled = fill(ends.client);
            requests.postRelease(id -> new ReleaseLock(id, 5, 77));
            requests.postRelease(id -> new ReleaseLock(id, 5, 78));

            ends.node.setTimeout(LONG.toNanos(), 0);
            for (int message = 0; message < filled; message++) {
                assertThat(ends.node.receive()).isInstanceOf(CancelTry.class);
            }
            assertThat(List.of(token(ends.node.receive()), token(ends.node.receive())))
                    .containsExactlyInAnyOrder(77L, 78L);
            requests.lose("the test ends");
        }
    }

    /** The application may not close the lock again, and the node would hold it until the end of the session. */
    @Test
    void aReleaseThatIsWaitedForAndThatABusyNodeDoesNotTakeIsSentLater(@TempDir Path directory)
            throws ProtocolException {
        try (Ends ends = Ends.connected(directory.resolve("node.sock"))) {
            ends.client.setTimeout(0, TimeUnit.MILLISECONDS.toNanos(1));
            ControlRequests requests = new ControlRequests(ends.client, "busy", 16);
            int filled = fill(ends.client);
            assertThatThrownBy(() -> requests.askToRelease(
                            "a release", TimeUnit.MILLISECONDS.toNanos(20), id -> new ReleaseLock(id, 5, 77)))
                    .isInstanceOf(LiteTimeoutException.class);

            ends.node.setTimeout(LONG.toNanos(), 0);
            for (int message = 0; message < filled; message++) {
                assertThat(ends.node.receive()).isInstanceOf(CancelTry.class);
            }
            assertThat(token(ends.node.receive())).isEqualTo(77);
            requests.lose("the test ends");
        }
    }

    /** Sends until the node's socket takes no more; returns how many messages it took. */
    private static int fill(SessionChannel client) {
        int filled = 0;
        try {
            while (true) {
                client.send(new CancelTry(filled, 0, 0));
                filled++;
            }
        } catch (OsException full) {
            assertThat(full.errno()).isEqualTo(Errno.EAGAIN);
        }
        return filled;
    }

    @Test
    void aRequestForWhichThereIsNoMemoryKeepsNoPlace(@TempDir Path directory) throws ProtocolException {
        try (Ends ends = Ends.connected(directory.resolve("node.sock"))) {
            ControlRequests requests = new ControlRequests(ends.client, "node", 1);
            LongFunction<Request> noMemory = id -> {
                throw new OutOfMemoryError("on purpose");
            };
            assertThatThrownBy(() -> requests.ask("a release", Done.class, LONG.toNanos(), noMemory, null))
                    .isInstanceOf(OutOfMemoryError.class);
            assertThatThrownBy(() -> requests.tryPost(noMemory)).isInstanceOf(OutOfMemoryError.class);

            assertThat(requests.tryPost(id -> new ReleaseLock(id, 5, 77))).isTrue();

            ends.node.setTimeout(LONG.toNanos(), 0);
            assertThat(token(ends.node.receive())).isEqualTo(77);
            requests.lose("the test ends");
        }
    }

    private static long token(@Nullable SessionMessage message) {
        return ((ReleaseLock) Objects.requireNonNull(message)).token();
    }

    @Test
    void aFailureOfTheNodeBecomesItsException() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdRequests(Map.class::isInstance);
            CompletableFuture<?> mapping = start(() -> fixture.lite.memory().map("x", Permission.READ));
            Request request = fixture.node.awaitHeldRequest();
            fixture.node.reply(new Failed(
                    request.requestId(), LiteException.Code.LMR_NOT_FOUND.number(), RpcStatus.UNKNOWN, "no LMR \"x\""));
            assertThatThrownBy(() -> await(mapping))
                    .isInstanceOf(LmrNotFoundException.class)
                    .hasMessage("no LMR \"x\"");
        }
    }

    /** As many requests as a session may have under way; the node holds them back. */
    private static List<CompletableFuture<List<NodeInfo>>> askUpToTheLimit(SessionFixture fixture, List<Request> held) {
        fixture.node.holdRequests(Nodes.class::isInstance);
        List<CompletableFuture<List<NodeInfo>>> asking = new ArrayList<>();
        for (int request = 0; request < FakeNode.REQUESTS_MAX; request++) {
            asking.add(start(fixture.lite::nodes));
            held.add(fixture.node.awaitHeldRequest());
        }
        return asking;
    }

    /** As {@link #askUpToTheLimit}; the deadlines of all of them have passed. */
    private static List<Request> timeOutUpToTheLimit(SessionFixture fixture) {
        List<Request> held = new ArrayList<>();
        for (CompletableFuture<List<NodeInfo>> each : askUpToTheLimit(fixture, held)) {
            assertThatThrownBy(() -> await(each)).hasMessageContaining("the node did not answer");
        }
        return held;
    }

    @Test
    void requestsOverTheLimitWaitUntilAnotherIsAnswered() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            List<Request> held = new ArrayList<>();
            List<CompletableFuture<List<NodeInfo>>> asking = askUpToTheLimit(fixture, held);
            assertThatThrownBy(() -> fixture.lite.memory().malloc(LmrSpec.of(64), SHORT))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessageContaining("limit of requests under way")
                    .hasMessageContaining("which is " + FakeNode.REQUESTS_MAX);

            fixture.node.answer(held.getFirst());

            assertThat(await(asking.getFirst())).hasSize(1);
            fixture.lite.memory().malloc(LmrSpec.of(64), LONG).unmap();
            held.subList(1, held.size()).forEach(fixture.node::answer);
            asking.forEach(each -> assertThat(await(each)).hasSize(1));
        }
    }

    /** The serving application's answer, which the calling application waits for. */
    @Test
    void theAnswerToAnOfferedChannelDoesNotWaitAtTheLimitOfRequests() throws IOException {
        ChannelArea area = new ChannelArea(1, 128);
        try (SessionFixture fixture = new SessionFixture(LONG);
                SharedMemory memory = area.create()) {
            List<Request> held = new ArrayList<>();
            List<CompletableFuture<List<NodeInfo>>> asking = askUpToTheLimit(fixture, held);
            fixture.node.reply(
                    new ChannelOffered(7, 99, area, "node-1", "web", null), memory.descriptor()); // it serves no 99
            assertThat(fixture.node.awaitRequest(ChannelClose.class).channel()).isEqualTo(7);
            held.forEach(fixture.node::answer);
            asking.forEach(each -> assertThat(await(each)).hasSize(1));
        }
    }

    @Test
    void aRequestThatTimedOutKeepsItsPlaceUntilItsReplyArrives() throws IOException {
        try (SessionFixture fixture = new SessionFixture(SHORT)) {
            List<Request> held = timeOutUpToTheLimit(fixture);
            assertThatThrownBy(fixture.lite::nodes).hasMessageContaining("limit of requests under way");
            fixture.node.holdRequests(request -> false);
            held.forEach(fixture.node::answer);
            assertThat(fixture.lite.memory().malloc(LmrSpec.of(64), LONG).size())
                    .isEqualTo(FakeNode.LMR_BYTES);
        }
    }

    @Test
    void anUnmapThatFailedCanBeRepeated() throws IOException {
        try (SessionFixture fixture = new SessionFixture(SHORT)) {
            LmrHandle handle = fixture.lite.memory().malloc(LmrSpec.of(64));
            List<Request> held = timeOutUpToTheLimit(fixture);
            assertThatThrownBy(handle::unmap).hasMessageContaining("limit of requests under way");
            assertThatThrownBy(() -> handle.getLong(0)).isInstanceOf(LmrFreedException.class);
            fixture.node.holdRequests(request -> false);
            held.forEach(fixture.node::answer);
            handle.unmap();
            assertThat(fixture.node.awaitRequest(Unmap.class)).isNotNull();
            handle.unmap();
        }
    }

    /** Its callers would wait for a server that nobody closes a second time. */
    @Test
    void aServerThatWasClosedAtTheLimitOfRequestsIsClosedAtTheNodeLater() throws IOException {
        try (SessionFixture fixture = new SessionFixture(SHORT)) {
            RpcServer server = fixture.lite.rpc().serve("f");
            List<Request> held = timeOutUpToTheLimit(fixture);
            assertThatThrownBy(server::close).hasMessageContaining("limit of requests under way");

            fixture.node.holdRequests(request -> false);
            held.forEach(fixture.node::answer);

            assertThat(fixture.node.awaitRequest(RpcClose.class)).isNotNull();
            assertThatThrownBy(() -> server.receive(SHORT)).isInstanceOf(SessionLostException.class);
        }
    }

    @Test
    void aReplyWithoutARequestEndsTheSession() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.reply(new Done(999));
            assertThat(await(fixture.lite.ended().toCompletableFuture()))
                    .contains("the node violated the protocol")
                    .contains("999");
        }
    }

    @Test
    void aReplyOfAnotherTypeIsAnErrorOfTheNode() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG)) {
            fixture.node.holdRequests(Nodes.class::isInstance);
            CompletableFuture<List<NodeInfo>> asking = start(fixture.lite::nodes);
            fixture.node.reply(new Done(fixture.node.awaitHeldRequest().requestId()));
            assertThatThrownBy(() -> await(asking))
                    .isInstanceOf(SessionLostException.class)
                    .hasMessageContaining("Done instead of NodesPage");
        }
    }
}
