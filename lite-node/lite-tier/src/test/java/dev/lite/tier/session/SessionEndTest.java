package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import dev.lite.os.UnixServerSocket;
import dev.lite.os.waiting.Durations;
import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionMessage;
import dev.lite.testing.Waits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Limits, deadlines, and all ways in which a session fails to start or ends. */
@Isolated("it counts the threads or the memory of its process")
class SessionEndTest {
    private static final Duration SHORT = Waits.scaled(Duration.ofMillis(300));

    @TempDir
    Path directory;

    private final FakeBackend backend = new FakeBackend();
    private final List<SessionServer> servers = new ArrayList<>();

    private SessionServerConfig config() {
        return SessionServerConfig.of(directory.resolve("node.sock"));
    }

    private SessionServer start(SessionServerConfig config) {
        SessionServer server = new SessionServer(config, backend);
        server.start();
        servers.add(server);
        return server;
    }

    private AttachOptions options(Duration deadline) {
        return AttachOptions.to(directory.resolve("node.sock"), "test").withDeadline(deadline);
    }

    private Lite attach() {
        return Lite.attach(options(Duration.ofSeconds(10)));
    }

    @AfterEach
    void stop() {
        backend.resume();
        servers.forEach(SessionServer::close);
        assertThat(backend.sessionsClosed).hasValue(backend.sessionsOpened.get());
        // The thread that ends a session is itself about to end.
        Waits.until(
                "no thread of a session is left",
                () -> Thread.getAllStackTraces().keySet().stream()
                        .noneMatch(thread -> thread.getName().startsWith("lite-session-")));
        backend.close();
    }

    @Test
    void withoutANodeTheMessageNamesTheSocketAndAdvises() {
        assertThatExceptionOfType(NodeUnreachableException.class)
                .isThrownBy(this::attach)
                .withMessageContaining("node.sock")
                .withMessageContaining("check that lite-node runs");
    }

    @Test
    void aListenerThatIsNoNodeIsReported() {
        try (UnixServerSocket mute = UnixServerSocket.bind(directory.resolve("node.sock"), 0600, 8)) {
            assertThatExceptionOfType(LiteTimeoutException.class)
                    .isThrownBy(() -> Lite.attach(options(SHORT)))
                    .withMessageContaining("node.sock")
                    .withMessageContaining(Durations.text(SHORT));
            Thread.ofPlatform().daemon().start(() -> {
                mute.accept().close();
                mute.accept().close();
            });
            assertThatExceptionOfType(SessionLostException.class).isThrownBy(this::attach);
        }
    }

    @Test
    void twoServersOnOneSocketAreRefused() {
        start(config());
        assertThat(catchThrowable(() -> new SessionServer(config(), backend).start()))
                .hasMessageContaining("node.sock")
                .hasMessageContaining("EADDRINUSE");
        attach().close();
    }

    @Test
    void anUnknownPrincipalIsRefusedWithTheReason() {
        start(config().withPolicy(PrincipalPolicy.of(
                List.of(new PrincipalPolicy.Rule("orders", OptionalInt.empty(), "secret")))));
        assertThatExceptionOfType(SessionLostException.class)
                .isThrownBy(this::attach)
                .withMessageContaining("node.sock")
                .withMessageContaining("no principal is configured for user id");
        try (Lite lite = Lite.attach(
                AttachOptions.to(directory.resolve("node.sock"), "orders").withToken("secret"))) {
            assertThat(lite.isOpen()).isTrue();
            assertThat(backend.principals).containsExactly("orders");
        }
    }

    @Test
    void theNumberOfSessionsIsLimited() {
        SessionServer server = start(config().withLimits(2, 10, 10));
        try (Lite first = attach()) {
            Lite second = attach();
            assertThatExceptionOfType(LimitExceededException.class)
                    .isThrownBy(this::attach)
                    .withMessageContaining("2 sessions")
                    .withMessageContaining("limit is 2");
            second.close();
            Waits.until("room", () -> server.sessions().size() == 1);
            attach().close();
            assertThat(first.isOpen()).isTrue();
        }
    }

    @Test
    void theNumberOfHandlesIsLimitedAndARefusedMallocCreatesNothing() {
        start(config().withLimits(2, 3, 10));
        try (Lite lite = attach()) {
            LmrHandle first = lite.memory().malloc(LmrSpec.of(8));
            lite.memory().malloc(LmrSpec.of(8));
            lite.memory().malloc(LmrSpec.of(8));
            assertThatExceptionOfType(LimitExceededException.class)
                    .isThrownBy(() -> lite.memory().malloc(LmrSpec.of(8).withName("fourth")))
                    .withMessageContaining("3 handles")
                    .withMessageContaining("limit is 3");
            assertThat(backend.has("fourth")).isFalse();
            first.unmap();
            lite.memory().malloc(LmrSpec.of(8).withName("fourth"));
            assertThatExceptionOfType(LimitExceededException.class)
                    .isThrownBy(() -> lite.memory().map("fourth", Permission.READ));
        }
    }

    @Test
    void aClientOverTheRequestLimitGetsAnErrorAndLitesClientWaits() throws Exception {
        start(config().withLimits(10, 100, 2));
        try (RawClient raw = new RawClient(directory.resolve("node.sock")).attach();
                Lite lite = attach()) {
            lite.memory().malloc(LmrSpec.of(8).withName("quick"));
            for (int i = 0; i < 3; i++) {
                raw.channel.send(
                        new SessionMessage.Map(i, Duration.ofSeconds(5).toNanos(), "slow", Set.of(Permission.READ)));
            }
            assertThat(raw.channel.receive())
                    .isInstanceOfSatisfying(
                            SessionMessage.Failed.class,
                            failed -> assertThat(failed.message()).contains("limit is 2"));
            List<CompletableFuture<LmrHandle>> waiting = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                String name = "slow-" + i;
                waiting.add(CompletableFuture.supplyAsync(
                        () -> lite.memory().malloc(LmrSpec.of(8).withName(name)), Thread::startVirtualThread));
            }
            Waits.until("two of each session are under way", () -> backend.waited.get() == 4);
            assertThatExceptionOfType(LiteTimeoutException.class)
                    .isThrownBy(() -> lite.memory().map("quick", Set.of(Permission.READ), SHORT))
                    .withMessageContaining("map of LMR \"quick\"");
            backend.resume();
            for (CompletableFuture<LmrHandle> one : waiting) {
                assertThat(one.get(10, TimeUnit.SECONDS).size()).isEqualTo(8);
            }
        }
    }

    @Test
    void aMallocThatTimedOutLeavesNothing() {
        start(config());
        try (Lite lite = attach()) {
            assertThatExceptionOfType(LiteTimeoutException.class)
                    .isThrownBy(() -> lite.memory().malloc(LmrSpec.of(8).withName("slow-one"), SHORT))
                    .withMessageContaining("malloc of LMR \"slow-one\"")
                    .withMessageContaining(Durations.text(SHORT));
            backend.resume();
            Waits.until("freed again", () -> backend.lmrsFreed.get() == 1);
            lite.memory().malloc(LmrSpec.of(8).withName("slow-one")).free();
        }
    }

    @Test
    void aTimeoutReportsTheOperationAndItsLateAnswerDisturbsNoOther() {
        start(config().withArea(new SessionArea(4, 4096)));
        try (Lite lite = Lite.attach(options(SHORT))) {
            backend.resume();
            LmrHandle slow = lite.memory().malloc(LmrSpec.of(100_000).withName("slow"));
            LmrHandle quick = lite.memory().malloc(LmrSpec.of(64).withName("quick"));
            byte[] old = new byte[100_000];
            Arrays.fill(old, (byte) 1);
            slow.write(0, old);
            quick.write(0, new byte[] {2});
            backend.slowAgain();
            byte[] late = new byte[8];
            assertThatExceptionOfType(LiteTimeoutException.class)
                    .isThrownBy(() -> slow.read(16, late))
                    .withMessageContaining("read of 8 bytes at offset 16")
                    .withMessageContaining("\"slow\"")
                    .withMessageContaining(Durations.text(SHORT));
            // An operation that needs several windows leaves the remaining slots in quarantine.
            assertThatExceptionOfType(LiteTimeoutException.class).isThrownBy(() -> slow.write(0, new byte[16_384]));
            assertThatExceptionOfType(LiteTimeoutException.class)
                    .isThrownBy(() -> quick.read(0, new byte[1]))
                    .withMessageContaining("all slots");
            assertThat(late).containsOnly(0);
            backend.resume();
            byte[] now = new byte[1];
            Waits.until("the slots are released", () -> {
                quick.read(0, now);
                return now[0] == 2;
            });
            for (int i = 0; i < 1000; i++) {
                quick.write(0, new byte[] {(byte) i});
                quick.read(0, now);
                assertThat(now[0]).isEqualTo((byte) i);
            }
            assertThat(late).containsOnly(0);
        }
    }

    @Test
    void theEndOfTheNodeEndsEveryWaiterAndEveryLaterCall() throws InterruptedException {
        SessionServer server = start(config());
        try (Lite lite = attach()) {
            backend.resume();
            LmrHandle lmr = lite.memory().malloc(LmrSpec.of(64).withName("slow"));
            backend.slowAgain();
            AtomicReference<Throwable> ofRead = new AtomicReference<>();
            AtomicReference<Throwable> ofMalloc = new AtomicReference<>();
            Thread reading =
                    Thread.ofPlatform().start(() -> ofRead.set(catchThrowable(() -> lmr.read(0, new byte[8]))));
            Thread mapping = Thread.ofPlatform()
                    .start(() -> ofMalloc.set(catchThrowable(
                            () -> lite.memory().malloc(LmrSpec.of(8).withName("slow-too")))));
            Waits.until("both are under way", () -> backend.waited.get() == 2);
            Thread closing = Thread.ofPlatform().start(server::close);
            reading.join(Waits.scaled(Duration.ofSeconds(5)));
            mapping.join(Waits.scaled(Duration.ofSeconds(5)));
            assertThat(ofRead.get())
                    .isInstanceOf(SessionLostException.class)
                    .hasMessageContaining("node fake")
                    .hasMessageContaining("node.sock")
                    .hasMessageContaining("is stopping");
            assertThat(ofMalloc.get()).isInstanceOf(SessionLostException.class);
            assertThat(lite.isOpen()).isFalse();
            assertThatExceptionOfType(SessionLostException.class).isThrownBy(() -> lmr.write(0, new byte[8]));
            assertThatExceptionOfType(SessionLostException.class).isThrownBy(() -> lmr.fetchAdd(0, 1));
            assertThatExceptionOfType(SessionLostException.class)
                    .isThrownBy(() -> lite.memory().malloc(LmrSpec.of(8)));
            assertThatExceptionOfType(SessionLostException.class).isThrownBy(lite::nodes);
            lmr.unmap();
            backend.resume();
            closing.join();
        }
    }

    @Test
    void aHandleWhoseUnmapTimedOutCanBeUnmappedLater() {
        start(config());
        try (Lite lite = attach()) {
            LmrHandle handle = lite.memory().malloc(LmrSpec.of(64));
            backend.operationsHang = true;
            assertThatExceptionOfType(LiteTimeoutException.class).isThrownBy(handle::unmap);
            backend.operationsHang = false;
            handle.unmap();
            assertThat(backend.handlesUnmapped).hasValue(1);
        }
    }

    @Test
    void closingWhileOtherThreadsUseTheSessionIsSafe() throws InterruptedException {
        start(config().withSpins(100));
        backend.resume();
        for (int round = 0; round < 20; round++) {
            Lite lite = attach();
            LmrHandle lmr = lite.memory().malloc(LmrSpec.of(1 << 20));
            List<Throwable> unexpected = Collections.synchronizedList(new ArrayList<>());
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                int bytes = i % 2 == 0 ? 8 : 500_000;
                threads.add(Thread.ofPlatform().start(() -> {
                    Throwable ended = catchThrowable(() -> {
                        byte[] data = new byte[bytes];
                        while (true) {
                            lmr.write(0, data);
                            lmr.read(0, data);
                        }
                    });
                    if (!(ended instanceof SessionLostException)) {
                        unexpected.add(ended);
                    }
                }));
            }
            Waits.until("work was done", () -> lmr.fetchAdd(1 << 19, 1) > 20);
            lite.close();
            for (Thread thread : threads) {
                assertThat(thread.join(Waits.scaled(Duration.ofSeconds(10)))).isTrue();
            }
            assertThat(unexpected).isEmpty();
        }
    }

    @Test
    void unmapWaitsForOperationsOfOtherThreads() throws InterruptedException {
        start(config());
        try (Lite lite = attach()) {
            backend.resume();
            LmrHandle lmr = lite.memory().malloc(LmrSpec.of(64).withName("slow"));
            backend.slowAgain();
            AtomicReference<Throwable> ofWrite = new AtomicReference<>();
            Thread writing =
                    Thread.ofPlatform().start(() -> ofWrite.set(catchThrowable(() -> lmr.write(0, new byte[8]))));
            Waits.until("the write is under way", () -> backend.waited.get() == 1);
            Thread unmapping = Thread.ofPlatform().start(lmr::unmap);
            assertThat(unmapping.join(SHORT)).isFalse();
            backend.resume();
            unmapping.join();
            writing.join();
            assertThat(ofWrite.get()).isNull();
        }
    }

    @Test
    void anInterruptEndsNoOperationAndIsPreserved() {
        start(config());
        backend.resume();
        try (Lite lite = attach()) {
            Thread.currentThread().interrupt();
            LmrHandle lmr = lite.memory().malloc(LmrSpec.of(64));
            lmr.write(0, new byte[8]);
            lmr.unmap();
            assertThat(Thread.interrupted()).isTrue();
        }
    }
}
