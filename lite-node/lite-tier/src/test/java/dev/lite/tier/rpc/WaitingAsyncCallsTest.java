package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Asynchronous calls that need a thread and a copy of their request. */
class WaitingAsyncCallsTest {
    private static final Duration LONG = Waits.seconds(60);
    private static final Duration SHORT = Waits.seconds(1);
    /** So many small ones wait at most: 64 MiB, with 5 KiB for each. */
    private static final int LIMIT = (64 << 10) / 5;

    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void anAsynchronousCallIsNotStartedWhileThoseThatWaitTakeAllOfTheirMemory() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(1)) {
            Lite app = cluster.attach(0);
            RpcServer server = app.rpc().serve("f");
            RpcClient client = app.rpc().bindAny("f");
            List<CompletableFuture<byte[]>> calls = new ArrayList<>();
            for (int call = 0; call < LIMIT; call++) {
                calls.add(client.callAsync(new byte[8], LONG));
            }

            Thread.currentThread().interrupt();
            CompletableFuture<byte[]> late = client.callAsync(new byte[8], SHORT);
            assertThat(Thread.interrupted()).as("the interrupt is kept").isTrue();
            assertThat(late)
                    .as("its deadline passed before it was started")
                    .isCompletedExceptionally()
                    .failsWithin(SHORT)
                    .withThrowableThat()
                    .withCauseInstanceOf(LiteTimeoutException.class)
                    .withMessageContaining("function \"f\" at any node: not started within")
                    .withMessageContaining("64 MiB");

            CompletableFuture<CompletableFuture<byte[]>> next = new CompletableFuture<>();
            Thread.ofPlatform().daemon().start(() -> next.complete(client.callAsync(new byte[8], LONG)));
            for (int call = 0; call < LIMIT + 1; call++) { // it may overtake one of them
                server.receive(LONG).reply(new byte[1]);
            }
            calls.forEach(call -> assertThat(call.join()).hasSize(1));
            assertThat(next.join().join()).hasSize(1);
        }
    }

    /** It would wait for more memory than that of all, until its deadline, and all others behind it. */
    @Test
    void aRequestThatIsTooLongIsRefusedAtOnce() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(1)) {
            Lite app = cluster.attach(0);
            byte[] request = new byte[(64 << 20) + 1];
            for (RpcClient client : List.of(
                    app.rpc().bindAny("f"),
                    app.rpc().bind("n0", "f"),
                    app.rpc().bindAny("f").withContext("c"))) {
                assertThat(client.callAsync(request, SHORT))
                        .isCompletedExceptionally()
                        .failsWithin(SHORT)
                        .withThrowableThat()
                        .withCauseInstanceOf(LimitExceededException.class)
                        .withMessageContaining("the request has 67108865 bytes");
            }
        }
    }

    @Test
    void smallCallsDoNotOvertakeALargeOneThatWaitsForMemory() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(1)) {
            Lite app = cluster.attach(0);
            RpcServer server = app.rpc().serve("f");
            RpcClient client = app.rpc().bindAny("f");
            List<CompletableFuture<byte[]>> calls = new ArrayList<>();
            for (int call = 0; call < LIMIT; call++) {
                calls.add(client.callAsync(new byte[8], LONG));
            }
            CompletableFuture<CompletableFuture<byte[]>> large = new CompletableFuture<>();
            Thread caller = Thread.ofPlatform()
                    .daemon()
                    .start(() -> large.complete(client.callAsync(new byte[32 << 10], LONG)));
            Waits.until("it waits", () -> caller.getState() == Thread.State.TIMED_WAITING);

            server.receive(LONG).reply(new byte[1]);
            Waits.until("a call has ended", () -> calls.stream().anyMatch(CompletableFuture::isDone));
            assertThat(client.callAsync(new byte[8], SHORT))
                    .failsWithin(SHORT)
                    .withThrowableThat()
                    .withCauseInstanceOf(LiteTimeoutException.class)
                    .withMessageContaining("not started within");

            for (int call = 1; call < LIMIT + 1; call++) {
                server.receive(LONG).reply(new byte[1]);
            }
            assertThat(large.join().join()).hasSize(1);
        }
    }
}
