package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.api.RpcStatus;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.FairShares;
import dev.lite.tier.testing.Effort;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is left when servers end: nothing, whatever their callers do. */
class EndOfServersTest {
    private static final Duration LONG = Waits.seconds(60);

    @TempDir(factory = InDevShm.class)
    Path root;

    private static RpcEngine engine(TestCluster cluster, int node) {
        return Inside.field(cluster.node(node), "rpc", RpcEngine.class);
    }

    /** A server that comes while the last one goes has the function's place among those of its principal. */
    @Test
    void serversOfOneFunctionThatComeAndGoAtTheSameTimeAllCloseAndGiveTheirPlacesBack() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(1)) {
            Lite app = cluster.attach(0);
            AtomicReference<@Nullable Throwable> failed = new AtomicReference<>();
            List<Thread> threads = new ArrayList<>();
            for (int number = 0; number < 3; number++) {
                threads.add(Thread.ofPlatform().daemon().start(() -> {
                    try {
                        for (int i = 0; i < Effort.times(500_000); i++) {
                            app.rpc().serve("f").close();
                        }
                    } catch (RuntimeException | Error e) {
                        failed.compareAndSet(null, e);
                    }
                }));
            }
            for (Thread thread : threads) {
                Waits.until("the servers are closed", LONG, () -> !thread.isAlive());
            }

            assertThat(failed.get()).isNull();
            assertThat(Inside.field(engine(cluster, 0), "served", FairShares.class)
                            .taken())
                    .as("places of served functions")
                    .isZero();
        }
    }

    /** Everything of the server's session that ends after its functions would wait, too: its locks, for example. */
    @Test
    void aServerClosesAtOnceAlthoughTheNodeOfItsCallersIsPaused() {
        SimulatedNetwork network =
                new SimulatedNetwork(SimulatedOptions.seeded(1).withQueueDepth(8));
        int count = 24; // more than the connection takes while the other node does not run
        try (TestCluster cluster = new TestCluster(root, network.provider()).start(2)) {
            Lite caller = cluster.attach(0);
            RpcServer server = cluster.attach(1).rpc().serve("f");
            List<CompletableFuture<byte[]>> calls = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                calls.add(caller.rpc().callAsync("n1", "f", new byte[8], LONG));
            }
            Waits.until("all calls are queued", () -> engine(cluster, 1).queuedCalls() == count);
            network.pause("n0");
            try {
                Thread closing = Thread.ofPlatform().daemon().start(server::close);

                Waits.until("the server is closed", Waits.seconds(4), () -> !closing.isAlive());
            } finally {
                network.resume("n0");
            }
            for (CompletableFuture<byte[]> call : calls) {
                assertThatThrownBy(call::join)
                        .cause()
                        .isInstanceOfSatisfying(
                                RpcFailedException.class,
                                refused -> assertThat(refused.status()).isEqualTo(RpcStatus.NOT_SERVED));
            }
        }
    }

    /** Its executor takes no tasks any more. */
    @Test
    void aNodeThatStopsRefusesACallOfAFunctionThatNobodyServesAnyMoreAtOnce() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2)) {
            Lite app = cluster.attach(0);
            RpcServer server = app.rpc().serve("f");
            CompletableFuture<byte[]> remote = cluster.attach(1).rpc().callAsync("n0", "f", new byte[8], LONG);
            server.receive(LONG).reply(new byte[1]);
            assertThat(remote.join()).hasSize(1); // the node keeps the function for this caller
            server.close();

            Inside.field(cluster.node(0), "executor", ExecutorService.class).shutdown();
            assertThatThrownBy(() -> app.rpc().call("n0", "f", new byte[8], LONG))
                    .isInstanceOfSatisfying(
                            RpcFailedException.class,
                            refused -> assertThat(refused.status()).isEqualTo(RpcStatus.NOT_SERVED));
        }
    }
}
