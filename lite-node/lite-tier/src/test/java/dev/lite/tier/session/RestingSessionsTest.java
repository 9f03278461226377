package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Sessions without a thread of their own, since their applications have had no command for a while. */
@Isolated("it counts the threads and the memory of its process")
class RestingSessionsTest {
    private static final Duration REST_AFTER = Duration.ofMillis(1);

    @TempDir
    Path directory;

    private final FakeBackend backend = new FakeBackend();
    private final List<Lite> applications = new ArrayList<>();
    private SessionServer server;

    @BeforeEach
    void start() {
        server = new SessionServer(
                SessionServerConfig.of(directory.resolve("s"))
                        .withLimits(1024, 64, 16)
                        .withRestAfter(REST_AFTER),
                backend);
        server.start();
    }

    @AfterEach
    void stop() {
        applications.forEach(Lite::close);
        server.close();
        Waits.until("no thread of a session is left", () -> threads("lite-session-") == 0);
        assertThat(mappings()).as("mapped memory of sessions").isZero();
        backend.close();
    }

    private LmrHandle attach(String name) {
        Lite lite = Lite.attach(AttachOptions.to(directory.resolve("s"), name));
        applications.add(lite);
        return lite.memory().malloc(LmrSpec.of(64));
    }

    private static long threads(String name) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith(name))
                .count();
    }

    private static long dataThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().matches("lite-session-\\d+-data"))
                .count();
    }

    private static long mappings() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains("memfd:lite-session-")).count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void awaitRest() {
        Waits.until("no session has a thread of its own", () -> dataThreads() == 0);
    }

    @Test
    void aSessionWithoutCommandsHasNoThreadAndServesTheNextCommand() {
        LmrHandle handle = attach("one");
        for (int i = 0; i < 20; i++) {
            awaitRest();
            assertThat(handle.fetchAdd(0, 1)).isEqualTo(i);
        }
        awaitRest();
        assertThat(threads("lite-session-rest")).isEqualTo(1);
    }

    @Test
    void moreSessionsThanOneThreadCanWatchRestAndAreServed() {
        int sessions = RestingSessions.SESSIONS_OF_THREAD + 3;
        List<LmrHandle> handles = new ArrayList<>();
        for (int i = 0; i < sessions; i++) {
            handles.add(attach("application-" + i));
        }
        for (int round = 0; round < 3; round++) {
            awaitRest();
            assertThat(threads("lite-session-rest")).isLessThanOrEqualTo(2);
            for (LmrHandle handle : handles) {
                assertThat(handle.fetchAdd(0, 1)).isEqualTo(round);
            }
        }
    }

    @Test
    void aSessionThatEndsWhileItRestsReleasesItsMemoryAndTheOthersStay() {
        LmrHandle stays = attach("stays");
        LmrHandle unused = attach("ends");
        awaitRest();
        applications.removeLast().close();
        Waits.until("the session has ended", () -> server.sessions().size() == 1);
        Waits.until("both sides have unmapped it", () -> mappings() == 2);
        assertThat(stays.fetchAdd(0, 1)).isZero();
    }

    @Test
    void noCommandIsLostWhenItComesAsTheSessionBeginsToRest() throws Exception {
        long seed = System.nanoTime();
        System.out.println("RestingSessionsTest: seed " + seed);
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            LmrHandle handle = attach("application-" + i);
            Random random = new Random(seed + i);
            threads.add(CompletableFuture.runAsync(
                    () -> {
                        for (int command = 0; command < 300; command++) {
                            Waits.pass(Duration.ofNanos(random.nextLong(2 * REST_AFTER.toNanos())));
                            assertThat(handle.fetchAdd(0, 1)).isEqualTo(command);
                        }
                    },
                    task -> Thread.ofPlatform().start(task)));
        }
        for (CompletableFuture<Void> thread : threads) {
            thread.get(Waits.seconds(60).toNanos(), TimeUnit.NANOSECONDS);
        }
    }

    @Test
    void aSessionKeepsItsThreadWhileNoThreadCanWatchIt() {
        RestingSessions resting = server.watch().resting();
        AtomicInteger attempts = new AtomicInteger();
        resting.starter = thread -> {
            attempts.incrementAndGet();
            throw new OutOfMemoryError("unable to create native thread");
        };
        LmrHandle handle = attach("one");
        Waits.until("the session has tried to rest", () -> attempts.get() >= 2);
        assertThat(handle.fetchAdd(0, 1)).isZero();

        resting.starter = Thread::start;
        awaitRest();
        assertThat(handle.fetchAdd(0, 1)).isEqualTo(1);
    }

    @Test
    void theNodeEndsWhileSessionsRest() {
        LmrHandle unused = attach("one");
        awaitRest();
        server.close();
        Waits.until("no thread of a session is left", () -> threads("lite-session-") == 0);
    }
}
