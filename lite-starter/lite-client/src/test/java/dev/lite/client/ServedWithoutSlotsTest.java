package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static dev.lite.client.SessionFixture.await;
import static dev.lite.client.SessionFixture.start;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.client.fake.FakeNode;
import dev.lite.client.fake.FakeNode.Command;
import dev.lite.os.SharedMemory;
import dev.lite.os.waiting.Turns;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.channel.ChannelCaller;
import dev.lite.session.protocol.SessionMessage.ChannelOffered;
import dev.lite.session.protocol.SessionMessage.ChannelTaken;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A server with a channel, whose session has no free slot: the application's own calls have them all, and perhaps wait for an answer of
 * this server.
 */
class ServedWithoutSlotsTest {
    private static final byte[] REQUEST = {1};
    /** The first number that the node gives. */
    private static final long SERVER = 1;

    /** @param waitsBefore whether the server's thread waits for a slot before there is a channel */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCallOfAChannelIsReceivedAlthoughTheSessionHasNoFreeSlot(boolean waitsBefore) throws IOException {
        ChannelArea area = new ChannelArea(1, 128);
        try (SessionFixture fixture = new SessionFixture(LONG);
                SharedMemory memory = area.create();
                ChannelCaller caller = new ChannelCaller(
                        SharedMemory.openFile(Path.of("/proc/self/fd/" + memory.descriptor())),
                        area,
                        "f",
                        1,
                        new Turns())) {
            RpcServer server = fixture.lite.rpc().serve("f");
            List<Command> held = new ArrayList<>();
            List<CompletableFuture<byte[]>> calls = takeAllSlots(fixture, held);

            CompletableFuture<RpcCall> received = new CompletableFuture<>();
            Thread receiving = Thread.ofPlatform().daemon().unstarted(() -> received.complete(server.receive(LONG)));
            if (waitsBefore) {
                receiving.start();
                Waits.until("it waits", () -> receiving.getState() == Thread.State.TIMED_WAITING);
            }
            fixture.node.reply(new ChannelOffered(7, SERVER, area, "node-1", "web", null), memory.descriptor());
            assertThat(fixture.node.awaitRequest(ChannelTaken.class).channel()).isEqualTo(7);
            if (!waitsBefore) {
                receiving.start();
            }
            CompletableFuture<byte[]> reply =
                    start(() -> caller.call(MemorySegment.ofArray(new byte[8]), LONG.toNanos()));

            await(received).reply(MemorySegment.ofArray(REQUEST));

            assertThat(await(reply)).isEqualTo(REQUEST);
            held.forEach(command -> fixture.node.complete(command, 0));
            calls.forEach(call -> assertThat(await(call)).isEmpty());
            server.close();
        }
    }

    private static List<CompletableFuture<byte[]>> takeAllSlots(SessionFixture fixture, List<Command> held) {
        fixture.node.holdCommands(op -> op == Op.CALL);
        RpcClient client = fixture.lite.rpc().bind("n", "g");
        List<CompletableFuture<byte[]>> calls = new ArrayList<>();
        for (int slot = 0; slot < FakeNode.SLOTS; slot++) {
            calls.add(start(() -> client.call(REQUEST, LONG)));
            held.add(fixture.node.awaitHeldCommand());
        }
        return calls;
    }
}
