package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls whose answer could not be sent. */
class UnsentRepliesTest {
    private static final Duration LONG = Waits.seconds(120);

    @TempDir(factory = InDevShm.class)
    Path root;

    @Test
    void theCallOfAHandlerWhoseAnswerIsNotSentFailsAndTheNextOneIsServed() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(2)) {
            RpcEngine engine = Inside.field(cluster.node(1), "rpc", RpcEngine.class);
            FunctionServer server = engine.serve("f", "app", true, closed -> {});
            AtomicInteger calls = new AtomicInteger();
            Thread serving = Thread.ofPlatform()
                    .daemon()
                    .start(() -> server.forEachCall(call -> {
                        if (calls.incrementAndGet() == 1) {
                            throw new LiteTimeoutException("no slot came free");
                        }
                        call.reply(new byte[1]);
                    }));
            CompletableFuture<byte[]> first = cluster.attach(0).rpc().callAsync("n1", "f", new byte[8], LONG);

            assertThat(first)
                    .failsWithin(Waits.seconds(30))
                    .withThrowableThat()
                    .havingCause()
                    .isInstanceOfSatisfying(
                            RpcFailedException.class,
                            e -> assertThat(e.status()).isEqualTo(RpcStatus.UNKNOWN))
                    .withMessageContaining("its reply could not be sent: no slot came free");
            assertThat(cluster.attach(0).rpc().call("n1", "f", new byte[8], LONG))
                    .hasSize(1);
            server.close();
            Waits.until("the server's thread has ended", LONG, () -> !serving.isAlive());
        }
    }

    @Test
    void aCallFailsAsSoonAsItsNodeCanSendThat() {
        AtomicInteger attempts = new AtomicInteger();

        UnsentReplies.fail(
                () -> {
                    if (attempts.incrementAndGet() < 3) {
                        throw new LimitExceededException("no memory");
                    }
                },
                () -> false);

        assertThat(attempts).hasValue(3);
    }

    @Test
    void aCallThatWasAnsweredOrThatSomebodyElseFailsIsLeftAlone() {
        AtomicInteger attempts = new AtomicInteger();

        UnsentReplies.fail(
                () -> {
                    attempts.incrementAndGet();
                    throw new IllegalStateException("the call was already answered");
                },
                () -> false);
        UnsentReplies.fail(attempts::incrementAndGet, () -> true);

        assertThat(attempts).hasValue(1);
    }
}
