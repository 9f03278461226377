package dev.lite.log;

import static dev.lite.log.LogFixture.bytes;
import static dev.lite.log.LogFixture.read;
import static dev.lite.log.LogFixture.small;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class CleanerTest {
    private static final long SEGMENT = 8 << 10;
    private static final long FIRST_AT = 2048;

    private static LogFixture fixture;

    @BeforeAll
    static void start() {
        fixture = new LogFixture(2);
    }

    @AfterAll
    static void stop() throws IOException {
        fixture.close();
    }

    /** Appends until the log has so many segments. */
    private static void fill(LiteLog log, long segments) {
        while (LogPosition.segment(log.append(bytes("something to fill segments"))) < segments - 1) {}
    }

    private static long first(LiteLog log) {
        return LogPosition.segment(log.firstPosition());
    }

    @Test
    void theCleanerKeepsWhatIsToBeRetainedAndFreesTheRest() {
        LiteLog log = fixture.create("retained", small().withRetentionBytes(3 * SEGMENT));
        LogReader slow = log.reader(log.firstPosition());
        fill(log, 10);
        LogCleaner cleaner = log.startCleaner();
        Waits.until("segments 0 to 6 are removed", () -> first(log) == 7 && cleaner.segmentsRemoved() == 7);

        Lite lite = fixture.session(1);
        assertThatThrownBy(() -> lite.memory().map(log.segmentName(6), Permission.READ))
                .isInstanceOf(LmrNotFoundException.class);
        lite.memory().map(log.segmentName(7), Permission.READ).unmap();
        assertThatThrownBy(() -> slow.next(Duration.ZERO))
                .isInstanceOfSatisfying(
                        LogPositionException.class,
                        e -> assertThat(e.firstPosition()).isEqualTo(log.firstPosition()));
        slow.seek(log.firstPosition());
        assertThat(read(slow)).isNotEmpty();
        assertThatThrownBy(() -> log.reader(0)).isInstanceOf(LogPositionException.class);
    }

    @Test
    void aProcessThatOnlyReadsKeepsNoSegmentMappedThatWasCleaned() {
        LiteLog log = fixture.create("only read", small().withRetentionBytes(2 * SEGMENT));
        AtomicInteger unmapped = new AtomicInteger();
        Lite reading = FaultySession.of(fixture.session(1), (executed, operation) -> {
            if (operation.equals("unmap")) {
                unmapped.incrementAndGet();
            }
        });
        LogReader reader = new LiteLogs(reading).open("only read").reader(log.firstPosition());
        log.startCleaner();
        int segments = 10;
        for (int made = 1; made <= segments; made++) {
            fill(log, made);
            assertThat(read(reader)).isNotEmpty();
            long first = Math.max(0, made - 2);
            Waits.until("the oldest segments are removed", () -> first(log) == first);
        }
        assertThat(unmapped).hasValueGreaterThan(segments - 5);
    }

    @Test
    void aCleanerMayBeStartedAgainAfterItWasClosed() {
        LiteLog log = fixture.create("started again", small().withRetentionBytes(0));
        LogCleaner closed = log.startCleaner();
        closed.close();
        fill(log, 4);
        LogCleaner cleaner = log.startCleaner();
        Waits.until("segments 0 to 2 are removed", () -> first(log) == 3);
        assertThat(cleaner.segmentsRemoved()).isEqualTo(3);
        assertThat(closed.segmentsRemoved()).isZero();
    }

    /** For example because the heap is full for a moment. */
    @Test
    void anErrorDoesNotEndTheCleaner() {
        fixture.create("error", small().withRetentionBytes(0));
        LiteLog log = new LiteLogs(failingOnce(fixture.session(0))).open("error");
        fill(log, 4);
        LogCleaner cleaner = log.startCleaner();
        Waits.until("segments 0 to 2 are removed", () -> first(log) == 3);
        assertThat(cleaner.segmentsRemoved()).isEqualTo(3);
    }

    /** Each stage that a session gives stays in its memory until it ends. */
    @Test
    void anErrorDoesNotLetTheCleanerAskItsSessionAgainForItsEnd() {
        fixture.create("asked", small().withRetentionBytes(0));
        AtomicInteger asked = new AtomicInteger();
        LiteLog log = new LiteLogs(FaultySession.countingEnds(failingOnce(fixture.session(0)), asked)).open("asked");
        LogCleaner cleaner = log.startCleaner();
        Waits.until("it is elected", cleaner::isElected);
        int before = asked.get();
        fill(log, 4);
        Waits.until("segments 0 to 2 are removed", () -> first(log) == 3);
        assertThat(asked).hasValue(before);
    }

    /** The first mapping of a segment by a cleaner fails. */
    private static Lite failingOnce(Lite lite) {
        AtomicBoolean once = new AtomicBoolean();
        LtMemory memory = (LtMemory) Proxy.newProxyInstance(
                LtMemory.class.getClassLoader(), new Class<?>[] {LtMemory.class}, (self, method, arguments) -> {
                    if (method.getName().equals("map") && arguments[1] == Permission.MASTER && !once.getAndSet(true)) {
                        throw new OutOfMemoryError("of this test");
                    }
                    return method.invoke(lite.memory(), arguments);
                });
        return (Lite) Proxy.newProxyInstance(
                Lite.class.getClassLoader(),
                new Class<?>[] {Lite.class},
                (self, method, arguments) ->
                        method.getName().equals("memory") ? memory : method.invoke(lite, arguments));
    }

    @Test
    void aConsumerHoldsTheCleanerUntilItHasReadOrIsRemoved() {
        LiteLog log = fixture.create("held", small().withRetentionBytes(0));
        try (LogReader consumer = log.consumer("audit", log.firstPosition())) {
            fill(log, 5);
            LogCleaner cleaner = log.startCleaner();
            Waits.until("it is elected", cleaner::isElected);
            Waits.pass(Duration.ofMillis(400)); // some rounds
            assertThat(first(log)).isZero();

            while (LogPosition.segment(consumer.position()) < 2) {
                assertThat(consumer.next(Duration.ZERO)).isNotNull();
            }
            Waits.pass(Duration.ofMillis(400));
            assertThat(first(log)).as("without a commit").isZero();
            consumer.commit();
            Waits.until("segments 0 and 1 are removed", () -> first(log) == 2);
        }
        assertThat(log.removeConsumer("audit")).isTrue();
        assertThat(log.removeConsumer("audit")).isFalse();
        Waits.until("only the newest is left", () -> first(log) == 4);
    }

    @Test
    void theBoundIsStrongerThanAConsumer() {
        LiteLog log = fixture.create("bound", small().withRetentionBytes(0).withBoundBytes(3 * SEGMENT));
        try (LogReader consumer = log.consumer("slow", log.firstPosition())) {
            fill(log, 8);
            log.startCleaner();
            Waits.until("three segments are left", () -> first(log) == 5);
            Waits.pass(Duration.ofMillis(400));
            assertThat(first(log)).isEqualTo(5);
            assertThatThrownBy(() -> consumer.next(Duration.ZERO)).isInstanceOf(LogPositionException.class);
        }
    }

    @Test
    void aConsumerContinuesWhereItCommitted() {
        LiteLog log = fixture.create("continues", small());
        log.append(bytes("1"));
        log.append(bytes("2"));
        log.append(bytes("3"));
        try (LogReader consumer = log.consumer("billing", log.firstPosition())) {
            consumer.next(Duration.ZERO);
            consumer.commit();
            consumer.next(Duration.ZERO); // not committed
        }
        LiteLog elsewhere = fixture.logs(1).open("continues");
        try (LogReader consumer = elsewhere.consumer("billing", elsewhere.endPosition());
                LogReader other = elsewhere.consumer("other", elsewhere.endPosition())) {
            assertThat(read(consumer)).containsExactly("2", "3");
            assertThat(read(other)).isEmpty();
        }
    }

    @Test
    void aKnownConsumerContinuesAlthoughItsStartWasCleaned() {
        LiteLog log = fixture.create("known", small().withRetentionBytes(0));
        LogReader consumer = log.consumer("billing", 0);
        fill(log, 3);
        assertThat(read(consumer)).isNotEmpty();
        consumer.commit();
        consumer.close();
        log.startCleaner();
        Waits.until("the start is removed", () -> first(log) > 0);
        log.append(bytes("more"));
        try (LogReader again = log.consumer("billing", 0)) {
            assertThat(read(again)).containsExactly("more");
        }
        assertThatThrownBy(() -> log.consumer("unknown", 0)).isInstanceOf(LogPositionException.class);
        assertThatThrownBy(() -> log.consumer("unknown", LogPosition.of(99, 0, 0)))
                .isInstanceOf(LogPositionException.class);
    }

    @Test
    void twoReadersCannotUseOneNameAtATime() {
        LiteLog log = fixture.create("exclusive", small());
        LiteLog impatient = new LiteLogs(fixture.session(1), Duration.ofMillis(100)).open("exclusive");
        LogReader holder = log.consumer("one", log.firstPosition());
        assertThatThrownBy(() -> impatient.consumer("one", 0)).isInstanceOf(LiteTimeoutException.class);
        holder.close();
        LogReader next = fixture.logs(1).open("exclusive").consumer("one", 0);
        assertThatThrownBy(holder::commit).isInstanceOf(LogStateException.class);
        next.commit();
    }

    @Test
    void anotherCleanerTakesOver() {
        LiteLog first = fixture.create("takeover", small().withRetentionBytes(0));
        LiteLog second = fixture.logs(1).open("takeover");
        LogCleaner old = first.startCleaner();
        Waits.until("the first is elected", old::isElected);
        LogCleaner successor = second.startCleaner();
        assertThat(successor.isElected()).isFalse();
        old.close();
        Waits.until("the second is elected", Waits.seconds(30), successor::isElected);
        fill(first, 4);
        Waits.until("it cleans", () -> first(first) == 3);
        assertThat(successor.segmentsRemoved()).isEqualTo(3);
    }

    @Test
    void aCleanerFreesWhatItsPredecessorLeft() {
        LiteLog log = fixture.create("left", small().withRetentionBytes(0));
        fill(log, 3);
        // A cleaner that dies after it moved the first segment, and before it freed the old one.
        fixture.session(0)
                .memory()
                .map("left.log", Permission.READ, Permission.ATOMIC)
                .fetchAdd(FIRST_AT, 1);
        log.startCleaner();
        Lite lite = fixture.session(1);
        Waits.until("segment 0 is free", () -> {
            try {
                lite.memory().map(log.segmentName(0), Permission.READ).unmap();
                return false;
            } catch (LmrNotFoundException e) {
                return true;
            }
        });
    }

    /** A cleaner has died, and the node of what it left does not answer. */
    @Test
    void aSegmentThatCannotBeFreedKeepsNoLaterOneFromBeingFreed() {
        fixture.create("stays", small().withRetentionBytes(0));
        Lite lite = fixture.session(0);
        LiteLog log = new LiteLogs(FaultySession.unavailable(lite, "/0", () -> true)).open("stays");
        fill(log, 5);
        LmrHandle metadata = lite.memory().map("stays.log", Permission.READ, Permission.ATOMIC);
        metadata.fetchAdd(FIRST_AT, 1);
        metadata.fetchAdd(FIRST_AT, 1);
        log.startCleaner();
        Waits.until("segments 2 and 3 are removed", () -> first(log) == 4);
        Waits.until("segments 1 to 3 are free", () -> isGone(log, 1) && isGone(log, 2) && isGone(log, 3));
        assertThat(isGone(log, 0)).isFalse();
    }

    /** The node of what a cleaner left came back late. */
    @Test
    void aSegmentThatStayedIsFreedByALaterCleanerHoweverLongTheLogHasBecome() {
        LiteLog log = cleanedExceptForSegment0("late");
        log.startCleaner();
        Waits.until("segment 0 is free", () -> isGone(log, 0));
    }

    @Test
    void aSegmentThatStayedIsFreedWithTheLogHoweverLongItHasBecome() {
        LiteLog log = cleanedExceptForSegment0("deleted late");
        fixture.logs(0).delete("deleted late");
        assertThat(isGone(log, 0)).isTrue();
    }

    private static LiteLog cleanedExceptForSegment0(String name) {
        LiteLog log = fixture.create(name, small().withRetentionBytes(0));
        Lite lite = fixture.session(0);
        lite.memory().map(name + ".log", Permission.READ, Permission.ATOMIC).fetchAdd(FIRST_AT, 1);
        fill(log, 9);
        LogCleaner early = new LiteLogs(FaultySession.unavailable(lite, "/0", () -> true))
                .open(name)
                .startCleaner();
        Waits.until("segments 1 to 7 are removed", () -> first(log) == 8);
        early.close();
        Waits.until("its lock is free", () -> !early.isElected());
        assertThat(isGone(log, 0)).isFalse();
        assertThat(isGone(log, 6)).isTrue();
        return log;
    }

    /** It was lost with its node, and somebody has freed it. */
    @Test
    void aSegmentThatAMasterHasFreedIsPassedByTheCleaner() {
        LiteLog log = fixture.create("freed", small().withRetentionBytes(0));
        fill(log, 4);
        fixture.session(0).memory().map(log.segmentName(0), Permission.MASTER).free();
        LogCleaner cleaner = log.startCleaner();
        Waits.until("segments 0 to 2 are removed", () -> first(log) == 3);
        assertThat(cleaner.segmentsRemoved()).isEqualTo(2);
    }

    private static boolean isGone(LiteLog log, long segment) {
        try (LmrHandle handle = fixture.session(1).memory().map(log.segmentName(segment), Permission.READ)) {
            return handle.size() < 0;
        } catch (LmrNotFoundException e) {
            return true;
        }
    }

    @Test
    void aCleanerOfAnotherPrincipalRemovesNothing() {
        LiteLog log = fixture.create(
                "foreign",
                small().withRetentionBytes(0)
                        .withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC));
        fill(log, 4);
        try (Lite other = fixture.cluster.nodes().get(1).attach("stranger");
                LiteLog theirs = new LiteLogs(other).open("foreign")) {
            LogCleaner cleaner = theirs.startCleaner();
            Waits.until("it is elected", cleaner::isElected);
            Waits.until("it pauses", () -> !cleaner.isElected());
            assertThat(first(log)).isZero();
            assertThat(cleaner.segmentsRemoved()).isZero();
        }
    }

    @Test
    void aLogThatFindsNoMemoryLeavesNothing() {
        LiteLogs logs = fixture.logs(0);
        assertThatThrownBy(() -> logs.create("huge", small().withSegmentBytes(LogSpec.SEGMENT_BYTES_MAX)))
                .isInstanceOf(dev.lite.api.LimitExceededException.class);
        logs.create("huge", small()).append(bytes("works"));
    }

    @Test
    void aFullArenaRefusesAppendsUntilACleanerFreesMemory() throws IOException {
        try (LogFixture tiny = new LogFixture(1)) {
            LogSpec spec = LogSpec.defaults().withSegmentBytes(8 << 20).withRetentionBytes(0);
            tiny.create("full", spec);
            LiteLog log = new LiteLogs(tiny.session(0), Duration.ofMillis(300)).open("full");
            byte[] entry = new byte[(int) log.transactionBytesMax() - 8];
            assertThatThrownBy(() -> {
                        for (int number = 0; number < 100; number++) {
                            log.append(entry);
                        }
                    })
                    .isInstanceOf(dev.lite.api.LimitExceededException.class);
            log.startCleaner();
            LiteLog patient = tiny.logs(0).open("full");
            for (int number = 0; number < 100; number++) {
                patient.append(entry);
            }
        }
    }
}
