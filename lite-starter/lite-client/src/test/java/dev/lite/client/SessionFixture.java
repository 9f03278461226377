package dev.lite.client;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.client.fake.FakeNode;
import dev.lite.session.protocol.SessionProtocol.Op;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** A {@link FakeNode}, and a session with it. */
final class SessionFixture implements AutoCloseable {
    static final Duration SHORT = Waits.seconds(1); // an attach has no longer
    private static final double TIME_SCALE = Double.parseDouble(System.getProperty("lite.test.time-scale", "1"));
    static final Duration LONG = Duration.ofMillis((long) (20_000 * TIME_SCALE));

    final FakeNode node;
    final Lite lite;
    private final Path directory;

    /** @param deadline the deadline of the session */
    SessionFixture(Duration deadline) throws IOException {
        directory = Files.createTempDirectory("lite-client");
        node = new FakeNode(directory.resolve("node.sock"));
        lite = Lite.attach(AttachOptions.to(node.socket(), "test").withDeadline(deadline));
    }

    /** Runs it on another thread, so that the test continues. */
    static <T> CompletableFuture<T> start(Supplier<T> operation) {
        return CompletableFuture.supplyAsync(
                operation, work -> Thread.ofPlatform().daemon().start(work));
    }

    /** {@link #start} without a result. */
    static CompletableFuture<Boolean> run(Runnable operation) {
        return start(() -> {
            operation.run();
            return true;
        });
    }

    /** Its result, or what it threw. */
    static <T> T await(CompletableFuture<T> future) {
        try {
            return future.orTimeout(LONG.toMillis(), TimeUnit.MILLISECONDS).join();
        } catch (CompletionException failed) {
            throw failed.getCause() instanceof RuntimeException cause ? cause : failed;
        }
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(MemorySegment segment) {
        return new String(segment.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
    }

    /** Whether a command of this kind waits for a call. */
    static boolean receives(int op) {
        return op == Op.RECEIVE || op == Op.REPLY_AND_RECEIVE;
    }

    /** Lets the server receive a call with this number. */
    RpcCall receive(RpcServer server, long number, int replyBytesMax) {
        node.holdCommands(SessionFixture::receives);
        CompletableFuture<RpcCall> receiving = start(() -> server.receive(LONG));
        node.completeWithCall(node.awaitHeldCommand(), number, "request", replyBytesMax);
        return await(receiving);
    }

    @Override
    public void close() throws IOException {
        lite.close();
        node.close();
        Files.deleteIfExists(node.socket());
        Files.delete(directory);
    }
}
