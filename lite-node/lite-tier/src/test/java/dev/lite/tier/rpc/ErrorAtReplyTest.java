package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.TierSession;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A call that no thread waits for, and whose reply meets an error: for example, there is no memory for it. */
class ErrorAtReplyTest {
    private static final Duration LONG = Waits.seconds(20);
    private static final long LONG_NS = LONG.toNanos();

    @TempDir(factory = InDevShm.class)
    Path root;

    private static final class Failing extends PostedCall {
        final CompletableFuture<RuntimeException> failed = new CompletableFuture<>();

        @Override
        protected MemorySegment destination(int length) {
            throw new StackOverflowError("on purpose");
        }

        @Override
        protected void replied(int length) {
            failed.completeExceptionally(new AssertionError("there is a reply"));
        }

        @Override
        protected void failed(RuntimeException why) {
            failed.complete(why);
        }

        @Override
        protected void later(Runnable task) {
            Thread unused = Thread.ofVirtual().start(task);
        }
    }

    @Test
    void itFailsAndKeepsNoSlot() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2);
                Lite remote = cluster.attach(1);
                RpcServer server = remote.rpc().serve("f")) {
            TierSession session = cluster.node(0).open("app", "test");
            PostedCall.Client client = (PostedCall.Client) session.rpc().bind("n1", "f");
            CompletableFuture<byte[]> first = client.callAsync(new byte[8], LONG); // makes the ring
            server.receive(LONG).reply(new byte[1]);
            assertThat(first).succeedsWithin(LONG);
            MemorySegment request = MemorySegment.ofArray(new byte[8]);
            for (int i = 0; i < 2 * RpcSlots.SMALL_MAX; i++) {
                Failing call = new Failing();
                assertThat(client.tryCall(request, 8, LONG_NS, call)).isTrue();
                server.receive(LONG).reply(new byte[1]);
                assertThat(call.failed).succeedsWithin(LONG).isInstanceOf(RpcFailedException.class);
            }
            session.close();
        }
    }
}
