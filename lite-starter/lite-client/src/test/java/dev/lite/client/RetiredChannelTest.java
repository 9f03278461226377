package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static dev.lite.client.SessionFixture.SHORT;
import static dev.lite.client.SessionFixture.await;
import static dev.lite.client.SessionFixture.start;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcClient;
import dev.lite.os.SharedMemory;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.channel.ChannelServer;
import dev.lite.session.channel.ReceivedRequest;
import dev.lite.session.protocol.SessionMessage.ChannelClose;
import dev.lite.session.protocol.SessionMessage.ChannelOpen;
import dev.lite.session.protocol.SessionMessage.ChannelOpened;
import dev.lite.session.protocol.SessionMessage.ChannelRetired;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A channel whose server received calls and never answers some of them. The node echoes what goes through it. */
class RetiredChannelTest {
    private static final long CHANNEL = 7;
    private static final byte[] REQUEST = {1};
    private static final byte[] REPLY = {2};

    private final ChannelArea area = new ChannelArea(2, 128);
    private SessionFixture fixture;
    private SharedMemory memory;
    private ChannelServer server;
    private RpcClient client;

    @BeforeEach
    void open() throws IOException {
        fixture = new SessionFixture(LONG);
        memory = area.create();
        server = new ChannelServer(
                SharedMemory.openFile(Path.of("/proc/self/fd/" + memory.descriptor())), area, "f", "node-1", "web");
        fixture.node.holdRequests(ChannelOpen.class::isInstance);
        client = fixture.lite.rpc().bind("n", "f");
        assertThat(client.call(REQUEST, LONG)).isEqualTo(REQUEST);
        long request = fixture.node.awaitHeldRequest().requestId();
        fixture.node.reply(new ChannelOpened(request, CHANNEL, area, null), memory.descriptor());
        Waits.until("the calls go through the channel", () -> {
            CompletableFuture<byte[]> call = start(() -> client.call(REQUEST, LONG));
            Waits.until("the call is over, or received", () -> call.isDone() || answer());
            return await(call)[0] == REPLY[0];
        });
    }

    @AfterEach
    void close() throws IOException {
        server.close();
        memory.close();
        fixture.close();
    }

    private ReceivedRequest receive() {
        ReceivedRequest request = new ReceivedRequest(area);
        Waits.until("a request has come", () -> server.tryReceive(request));
        return request;
    }

    private boolean answer() {
        ReceivedRequest request = new ReceivedRequest(area);
        boolean received = server.tryReceive(request);
        if (received) {
            server.reply(request.call(), MemorySegment.ofArray(REPLY));
        }
        return received;
    }

    /** Calls, with a deadline that passes after the server has received the request. */
    private void callInVain() {
        CompletableFuture<byte[]> call = start(() -> client.call(REQUEST, SHORT));
        receive();
        assertThatThrownBy(() -> await(call)).isInstanceOf(LiteTimeoutException.class);
    }

    /** In a channel, the slots of such calls do not come back. */
    @Test
    void callsGoThroughTheNodesWhenThoseThatAreNeverAnsweredKeepItsSlotsAndItIsClosed() {
        callInVain();
        callInVain();
        assertThat(client.call(REQUEST, LONG)).as("the node's answer").isEqualTo(REQUEST);
        assertThat(await(client.callAsync(REQUEST, LONG))).isEqualTo(REQUEST);
        assertThat(fixture.node.awaitRequest(ChannelClose.class).channel()).isEqualTo(CHANNEL);
        assertThat(server.isEnded()).isTrue();
    }

    @Test
    void itIsClosedWithItsFunctionWhichTheSessionUsesNoMore() {
        fixture.node.holdRequests(request -> false);
        for (int function = 0; function < 2 * 4096; function++) {
            assertThat(fixture.lite.rpc().call("n", "f-" + function, REQUEST, LONG))
                    .isEqualTo(REQUEST);
        }
        assertThat(fixture.node.awaitRequest(ChannelClose.class).channel()).isEqualTo(CHANNEL);
        assertThat(client.call(REQUEST, LONG)).as("the node's answer").isEqualTo(REQUEST);
    }

    @Test
    void itIsClosedAfterAWhileAlthoughACallWasNeverAnsweredButNotBeforeAnotherOnesDeadline() {
        callInVain();
        CompletableFuture<byte[]> call = start(() -> client.call(REQUEST, LONG));
        ReceivedRequest request = receive();

        fixture.node.reply(new ChannelRetired(CHANNEL, "for the test"));
        Waits.pass(Duration.ofMillis(5_500)); // longer than it waits for an answer to the first one
        assertThat(server.isEnded()).isFalse();
        server.reply(request.call(), MemorySegment.ofArray(REPLY));
        assertThat(await(call)).isEqualTo(REPLY);

        assertThat(fixture.node.awaitRequest(ChannelClose.class).channel()).isEqualTo(CHANNEL);
        assertThat(server.isEnded()).isTrue();
    }
}
