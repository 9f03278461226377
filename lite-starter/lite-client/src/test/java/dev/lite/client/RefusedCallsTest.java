package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.RpcClient;
import dev.lite.api.RpcStatus;
import dev.lite.api.SessionLostException;
import dev.lite.os.SharedMemory;
import dev.lite.session.async.AsyncOperations;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.channel.ChannelServer;
import dev.lite.session.channel.ReceivedRequest;
import dev.lite.session.protocol.SessionMessage.ChannelOpen;
import dev.lite.session.protocol.SessionMessage.ChannelOpened;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A channel whose server declines every call at once, and a node that answers none: declined calls go through the nodes, and wait. */
class RefusedCallsTest {
    private static final byte[] REQUEST = {1};
    private static final int MORE = 100;

    private final ChannelArea area = new ChannelArea(2, 128);
    private final AtomicInteger declined = new AtomicInteger();
    private final AtomicInteger started = new AtomicInteger();
    private volatile boolean ended;

    /** Else an application that starts calls without end, and relies on being held up, would run out of memory. */
    @Test
    void startingACallWaitsWhileTooManyThatTheServerDeclinedWaitForTheNode() throws IOException {
        try (SessionFixture fixture = new SessionFixture(LONG);
                SharedMemory memory = area.create();
                ChannelServer server = new ChannelServer(
                        SharedMemory.openFile(Path.of("/proc/self/fd/" + memory.descriptor())),
                        area,
                        "f",
                        "node-1",
                        "web")) {
            RpcClient client = clientWithChannel(fixture, memory, area);
            Thread declining = Thread.ofPlatform().daemon().start(() -> declineAll(server));
            Waits.until("calls are declined", () -> {
                byte[] unused = client.call(REQUEST, LONG);
                return declined.get() > 0;
            });
            fixture.node.holdCommands(op -> op == Op.CALL);

            int most = AsyncOperations.OPERATIONS_DEFAULT + area.slots();
            CountDownLatch through = new CountDownLatch(1);
            Thread starting = Thread.ofPlatform().daemon().start(() -> {
                startMany(client, most + MORE);
                through.countDown();
            });
            Waits.until(
                    "it is held up, or through",
                    () -> through.getCount() == 0 || starting.getState() == Thread.State.TIMED_WAITING);

            assertThat(started).hasValueLessThanOrEqualTo(most);
            ended = true;
            fixture.node.dropSession();
            Waits.join(starting);
            Waits.join(declining);
        }
    }

    private static RpcClient clientWithChannel(SessionFixture fixture, SharedMemory memory, ChannelArea area) {
        fixture.node.holdRequests(ChannelOpen.class::isInstance);
        RpcClient client = fixture.lite.rpc().bind("n", "f");
        assertThat(client.call(REQUEST, LONG)).isEqualTo(REQUEST);
        long request = fixture.node.awaitHeldRequest().requestId();
        fixture.node.reply(new ChannelOpened(request, 7, area, null), memory.descriptor());
        return client;
    }

    /** Starts the next call when the last one was declined; stops when the session ends. */
    private void startMany(RpcClient client, int count) {
        int before = declined.get();
        try {
            while (started.get() < count) {
                CompletableFuture<byte[]> unused = client.callAsync(REQUEST, LONG);
                int all = started.incrementAndGet();
                while (declined.get() - before < all && !ended) {
                    Thread.onSpinWait();
                }
            }
        } catch (SessionLostException e) {
            assertThat(ended).isTrue();
        }
    }

    private void declineAll(ChannelServer server) {
        ReceivedRequest request = new ReceivedRequest(area);
        while (!ended) {
            Waits.until("a request has come", LONG, () -> ended || server.tryReceive(request));
            if (!ended) {
                server.fail(request.call(), RpcStatus.NOT_SERVED, 0, "declined");
                declined.incrementAndGet();
            }
        }
    }
}
