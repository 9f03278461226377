package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSlice;
import dev.lite.api.LmrSpec;
import dev.lite.testing.Undescribed;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads and writes of an attached application that wait for a fabric. */
class PostedTransfersTest {
    @TempDir
    Path directory;

    private final FakeBackend backend = new FakeBackend();
    private SessionServer server;
    private Lite lite;
    private LmrHandle lmr;

    @BeforeEach
    void attach() {
        server = new SessionServer(SessionServerConfig.of(directory.resolve("s")), backend);
        server.start();
        lite = Lite.attach(AttachOptions.to(directory.resolve("s"), "test").withDeadline(Waits.seconds(20)));
        lmr = lite.memory().malloc(LmrSpec.of(4096).withName(FakeBackend.POSTED));
    }

    @AfterEach
    void close() {
        endPosted();
        lite.close();
        server.close();
        backend.close();
    }

    private void endPosted() {
        for (Runnable next = backend.posted.poll(); next != null; next = backend.posted.poll()) {
            next.run();
        }
    }

    private CompletableFuture<@Nullable Void> write(int at) {
        MemorySegment data = MemorySegment.ofArray(new byte[] {(byte) (at + 1)});
        return lmr.writeAsync(List.of(new LmrSlice(at, data)));
    }

    @Test
    void oneThatWaitsForPermitsAndMeetsAnErrorFails() {
        backend.resume();
        LmrHandle limited = lite.memory().malloc(LmrSpec.of(64).withName(FakeBackend.LIMITED));
        backend.limitedFails = true;
        assertThat(limited.writeAsync(0, MemorySegment.ofArray(new byte[8])))
                .failsWithin(Waits.seconds(10))
                .withThrowableThat()
                .withMessageContaining("on purpose");
        backend.limitedFails = false;
        assertThat(limited.writeAsync(0, MemorySegment.ofArray(new byte[8]))).succeedsWithin(Waits.seconds(10));
    }

    /** There is no memory to describe it. */
    @SuppressWarnings("serial")
    private static final class UndescribedException extends RuntimeException {
        @Override
        public String getMessage() {
            throw new OutOfMemoryError("no memory for a message, on purpose");
        }
    }

    /** Else it would never end, and neither would its session. */
    @Test
    void oneThatHasAThreadOfItsOwnFailsAlsoIfThereIsNoMemoryToSayWhy() {
        backend.resume();
        LmrHandle limited = lite.memory().malloc(LmrSpec.of(64).withName(FakeBackend.LIMITED));
        backend.limitedFailure = new Undescribed();
        backend.limitedFails = true;
        assertThat(limited.writeAsync(0, MemorySegment.ofArray(new byte[8]))).failsWithin(Waits.seconds(10));
    }

    /** Likewise. */
    @Test
    void oneThatIsPostedFailsAlsoIfThereIsNoMemoryToSayWhy() {
        backend.postedFailure = new UndescribedException();
        CompletableFuture<?> write = write(0);
        Waits.until("it is posted", () -> backend.posted.size() == 1);
        endPosted();
        assertThat(write).failsWithin(Waits.seconds(10));
    }

    @Test
    void manyAreUnderWayAtATimeAndEndInAnyOrder() {
        List<CompletableFuture<@Nullable Void>> writes = new ArrayList<>();
        for (int at = 0; at < 8; at++) {
            writes.add(write(at));
        }
        Waits.until("all are posted", () -> backend.posted.size() == 8);
        List<Runnable> posted = new ArrayList<>(backend.posted);
        backend.posted.clear();
        assertThat(writes).noneMatch(CompletableFuture::isDone);
        posted.reversed().forEach(Runnable::run);
        assertThat(writes).allSatisfy(one -> assertThat(one).succeedsWithin(Waits.seconds(10)));

        byte[] bytes = new byte[8];
        CompletableFuture<?> read = CompletableFuture.runAsync(() -> lmr.read(0, bytes));
        Waits.until("the read is posted", () -> !backend.posted.isEmpty());
        endPosted();
        assertThat(read).succeedsWithin(Waits.seconds(10));
        assertThat(bytes).containsExactly(1, 2, 3, 4, 5, 6, 7, 8);
    }

    @Test
    void theSessionsThreadExecutesThoseAboveTheLimit() {
        List<CompletableFuture<@Nullable Void>> writes = new ArrayList<>();
        for (int at = 0; at < FakeBackend.TRANSFERS_MAX + 4; at++) {
            writes.add(write(at));
        }
        Waits.until(
                "four are done",
                () -> writes.stream().filter(CompletableFuture::isDone).count() == 4);
        assertThat(backend.posted).hasSize(FakeBackend.TRANSFERS_MAX);
        endPosted();
        assertThat(writes).allSatisfy(one -> assertThat(one).succeedsWithin(Waits.seconds(10)));
    }

    @Test
    void thoseAboveTheLimitArePostedWhenOthersEndWhileTheSessionsThreadIsAwake() {
        List<CompletableFuture<@Nullable Void>> writes = new ArrayList<>();
        int count = 3 * FakeBackend.TRANSFERS_MAX;
        for (int at = 0; at < count; at++) {
            writes.add(write(at));
        }
        Waits.until("all have ended", () -> {
            assertThat(backend.posted).hasSizeLessThanOrEqualTo(FakeBackend.TRANSFERS_MAX);
            endPosted();
            return writes.stream().allMatch(CompletableFuture::isDone);
        });
        byte[] bytes = new byte[count];
        CompletableFuture<?> read = CompletableFuture.runAsync(() -> lmr.read(0, bytes));
        Waits.until("the read has ended", () -> {
            endPosted();
            return read.isDone();
        });
        for (int at = 0; at < count; at++) {
            assertThat(bytes[at]).isEqualTo((byte) (at + 1));
        }
        Map<Kind, Count> asked = server.operations();
        assertThat(asked.get(Kind.WRITE)).as("each is counted once").isEqualTo(new Count(count, count));
    }

    @Test
    void theEndOfTheSessionLeavesItsMemoryMappedUntilTheLastOneHasEnded() {
        assertThat(write(0)).isNotDone();
        Waits.until("it is posted", () -> backend.posted.size() == 1);
        lite.close();
        Waits.until("the node has closed the session", () -> backend.sessionsClosed.get() == 1);
        endPosted(); // reads the window: without the mapping, this process would end here
        try (Lite next = Lite.attach(AttachOptions.to(directory.resolve("s"), "test"))) {
            assertThat(next.isOpen()).isTrue();
        }
    }
}
