package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.os.UnixServerSocket;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Operations that wait for longer than the end of their session does. */
class WaitsEndWithTheirSessionTest {
    @TempDir
    Path directory;

    private final FakeBackend backend = new FakeBackend();
    private SessionServer server;

    @BeforeEach
    void start() {
        server = new SessionServer(
                SessionServerConfig.of(directory.resolve("node.sock")),
                backend,
                UnixServerSocket::bindForStrangers,
                Waits.seconds(1));
        server.start();
    }

    @AfterEach
    void stop() {
        backend.resume();
        server.close();
        assertThat(backend.sessionsClosed).hasValue(backend.sessionsOpened.get());
        backend.close();
    }

    private Lite attach() {
        return Lite.attach(
                AttachOptions.to(directory.resolve("node.sock"), "test").withDeadline(Duration.ofSeconds(10)));
    }

    @Test
    void operationsThatStillWaitEndWithTheirSession() {
        Lite lite = attach();
        backend.resume();
        LmrHandle limited = lite.memory().malloc(LmrSpec.of(64).withName(FakeBackend.LIMITED));
        LmrHandle slow = lite.memory().malloc(LmrSpec.of(64).withName(FakeBackend.SLOW));
        backend.slowAgain();
        CompletableFuture<?> write = limited.writeAsync(0, MemorySegment.ofArray(new byte[8]));
        CompletableFuture<?> add = CompletableFuture.runAsync(() -> slow.fetchAdd(0, 1));
        Waits.until("both wait", () -> backend.waiting.get() == 2);
        lite.close();
        assertThat(write).failsWithin(Duration.ofSeconds(10)).withThrowableOfType(ExecutionException.class);
        assertThat(add).failsWithin(Duration.ofSeconds(10)).withThrowableOfType(ExecutionException.class);
        Waits.until("both have ended", () -> backend.waiting.get() == 0);
    }

    /** Its own deadline may be an hour away. An application that comes and goes would leave more and more of them. */
    @Test
    void aRequestThatStillWaitsWhenTheEndOfItsSessionStopsWaitingForItIsInterrupted() {
        Lite lite = attach();
        CompletableFuture<?> malloc = CompletableFuture.runAsync(
                () -> lite.memory().malloc(LmrSpec.of(64).withName(FakeBackend.SLOW), Duration.ofHours(1)));
        Waits.until("it waits", () -> backend.waiting.get() == 1);
        lite.close();
        assertThat(malloc).failsWithin(Duration.ofSeconds(10)).withThrowableOfType(ExecutionException.class);
        Waits.until("its thread has ended", Waits.seconds(20), () -> backend.waiting.get() == 0);
    }
}
