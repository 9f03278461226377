package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Calls of a node to itself that its servers answer after the node has stopped. A write to the unmapped arena would end the process, so
 * some of these tests cannot fail in another way.
 */
class StoppedNodeCallsTest {
    private static final Duration LONG = Waits.seconds(60);
    /** Shorter than the node waits for calls under way. */
    private static final Duration SHORT = Duration.ofSeconds(1);

    @TempDir(factory = InDevShm.class)
    Path root;

    private TestCluster cluster;
    private LiteNode node;
    private Lite lite;
    private RpcServer server;

    @BeforeEach
    void start() {
        cluster = new TestCluster(root, new ShmFabricProvider()).start(1);
        node = cluster.node(0);
        lite = cluster.attach(0);
        server = lite.rpc().serve("f");
    }

    private CompletableFuture<byte[]> call(Duration deadline) {
        CompletableFuture<byte[]> calling = new CompletableFuture<>();
        Thread.ofPlatform().daemon().start(() -> {
            try {
                calling.complete(lite.rpc().call("n0", "f", new byte[] {1}, deadline));
            } catch (RuntimeException failed) {
                calling.completeExceptionally(failed);
            }
        });
        return calling;
    }

    @Test
    void aCallThatIsAnsweredWhileItsNodeStopsEndsWithItsReply() {
        CompletableFuture<byte[]> calling = call(LONG);
        ReceivedCall call = (ReceivedCall) server.receive(LONG);
        Thread stopping = Thread.ofPlatform().daemon().start(cluster::close);
        Waits.until("the node stops", () -> Inside.field(node, "closed", Boolean.class));

        call.reply(new byte[] {2});

        assertThat(calling.join()).containsExactly(2);
        Waits.join(stopping);
        assertThat(isArenaUnmapped()).isTrue();
    }

    @Test
    void aCallThatNobodyAnswersEndsWhenItsNodeStopsAndItsLateReplyIsDropped() {
        CompletableFuture<byte[]> calling = call(LONG);
        CompletableFuture<byte[]> async = lite.rpc().callAsync("n0", "f", new byte[] {1}, LONG);
        ReceivedCall call = (ReceivedCall) server.receive(LONG);
        ReceivedCall other = (ReceivedCall) server.receive(LONG);

        cluster.close();

        assertThat(isArenaUnmapped()).isTrue();
        for (CompletableFuture<byte[]> each : List.of(calling, async)) {
            assertThatThrownBy(each::join)
                    .isInstanceOf(CompletionException.class)
                    .cause()
                    .isInstanceOf(SessionLostException.class)
                    .hasMessageContaining("function \"f\" at node n0: the node stops, and the call has no reply");
        }
        call.reply(new byte[] {2});
        boolean unused = other.tryReply(MemorySegment.ofArray(new byte[2]), false);
    }

    /** While the node stops, nobody cancels the calls whose callers have stopped waiting. */
    @Test
    void theLateReplyOfACallWhoseCallerStopsWaitingWhileItsNodeStopsIsDropped() {
        CompletableFuture<byte[]> calling = call(SHORT);
        ReceivedCall call = (ReceivedCall) server.receive(LONG);

        cluster.close();

        assertThatThrownBy(calling::join).cause().isInstanceOf(LiteTimeoutException.class);
        assertThat(isArenaUnmapped()).isTrue();
        call.reply(new byte[] {2});
        assertThat(call.isAnswered()).isTrue();
    }

    private boolean isArenaUnmapped() {
        return Inside.field(Inside.field(node, "arena", Object.class), "closed", Boolean.class);
    }
}
