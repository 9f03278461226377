package dev.lite.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ForwardingLmrHandle;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.SessionLostException;
import dev.lite.testing.CommitChecker;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** A session in which operations fail before they are executed, or after, as when a node or a connection is lost. */
class LostAnswersTest {
    private static final long SEED = Long.getLong("lite.test.seed", System.nanoTime());

    @Test
    void everyTransactionIsInTheLogOnceAlthoughAnswersAreLost() throws IOException {
        System.out.println("seed " + SEED);
        try (LogFixture fixture = new LogFixture(1)) {
            CommitChecker checker = new CommitChecker();
            LogSpec spec = LogFixture.small().withHoleTimeout(Duration.ofMillis(5));
            LiteLog plain = fixture.create("answers", spec);
            List<Thread> writers = new ArrayList<>();
            for (int writer = 0; writer < 2; writer++) {
                int number = writer;
                Random random = new Random(SEED + writer);
                LiteLog log = new LiteLogs(
                                FaultySession.of(fixture.session(0), (executed, operation) -> {
                                    synchronized (random) {
                                        if (!operation.equals("getLong") && random.nextInt(100) < 2) {
                                            throw new LiteTimeoutException("no answer to " + operation);
                                        }
                                    }
                                }),
                                Waits.seconds(60))
                        .open("answers");
                writers.add(Thread.ofPlatform().start(() -> append(log, number, checker)));
            }
            CommitChecker.Copy copy = checker.copy();
            LogReader reader = plain.reader(0);
            Waits.until("all writers have ended", Waits.seconds(60), () -> {
                reader.await(copy::add, 1000, Duration.ofMillis(20));
                return writers.stream().noneMatch(Thread::isAlive);
            });
            Waits.until("the end", () -> reader.await(copy::add, 1000, Duration.ofMillis(100)) == 0);
            checker.check();
            assertThat(checker.acknowledgedCount()).isEqualTo(4000);
            assertThat(copy.count()).isEqualTo(4000);
        }
    }

    private static void append(LiteLog log, int writer, CommitChecker checker) {
        for (int sequence = 0; sequence < 2000; ) {
            if (sequence % 100 == 0) {
                List<CompletableFuture<Long>> futures = new ArrayList<>();
                for (int count = 0; count < 50; count++) {
                    futures.add(log.appendAsync(CommitChecker.transaction(writer, sequence + count)));
                }
                for (CompletableFuture<Long> future : futures) {
                    checker.acknowledge(writer, sequence++, future.join());
                }
            } else {
                checker.acknowledge(writer, sequence, log.append(CommitChecker.transaction(writer, sequence)));
                sequence++;
            }
        }
    }

    /** For example because the heap is full for a moment. */
    @Test
    void aBatchThatMeetsAnErrorFailsAndTheNextOneIsWritten() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLog plain = fixture.create("error", LogFixture.small());
            AtomicBoolean once = new AtomicBoolean();
            LiteLog log = new LiteLogs(
                            FaultySession.of(fixture.session(0), (executed, operation) -> {
                                if (operation.equals("fetchAdd") && !once.getAndSet(true)) {
                                    throw new OutOfMemoryError("of this test");
                                }
                            }),
                            Waits.seconds(20))
                    .open("error");
            CompletableFuture<Long> failed = log.appendAsync(LogFixture.bytes("failed"));
            Waits.until("the batch ends", failed::isDone);
            assertThatThrownBy(failed::join).hasCauseInstanceOf(OutOfMemoryError.class);
            CompletableFuture<Long> next = log.appendAsync(LogFixture.bytes("next"));
            Waits.until("the next batch ends", next::isDone);
            assertThat(next.join()).isNotNegative();
            log.close();
            assertThat(LogFixture.read(plain.reader(0))).containsExactly("next");
        }
    }

    /** Each stage that a session gives stays in its memory until it ends. */
    @Test
    void aSessionThatIsLostForAMomentIsAskedOnceForItsEnd() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            fixture.create("lost", LogFixture.small());
            AtomicInteger losses = new AtomicInteger(3);
            AtomicInteger asked = new AtomicInteger();
            Lite faulty = FaultySession.of(fixture.session(0), (executed, operation) -> {
                if (!executed && operation.equals("fetchAdd") && losses.getAndDecrement() > 0) {
                    throw new SessionLostException("the node restarts");
                }
            });
            LiteLog log = new LiteLogs(FaultySession.countingEnds(faulty, asked), Waits.seconds(20)).open("lost");
            assertThat(log.append(LogFixture.bytes("an entry"))).isNotNegative();
            assertThat(losses).hasNonPositiveValue();
            assertThat(asked).hasValue(1);
        }
    }

    @Test
    void aLogWhoseSegmentCannotBeUnmappedIsClosedAllTheSame() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLog plain = fixture.create("unmapped", LogFixture.small());
            Lite session = fixture.session(0);
            LiteLogs logs = new LiteLogs(
                    FaultySession.of(session, (executed, operation) -> {
                        if (operation.equals("unmap")) {
                            throw new LiteTimeoutException("no answer to " + operation);
                        }
                    }),
                    Waits.seconds(20));
            for (int count = 0; count < 2; count++) {
                assertThat(logs.open("unmapped").append(LogFixture.bytes("an entry")))
                        .isNotNegative();
            }
            logs.close();
            assertThat(session.statistics().handles())
                    .as("the segments, without metadata and marks")
                    .isEqualTo(2);
            assertThat(LogFixture.read(plain.reader(0))).hasSize(2);
        }
    }

    @Test
    void aReservationWithoutAnAnswerIsPassedAtOnce() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLog plain = fixture.create("reserved", LogFixture.small().withHoleTimeout(Duration.ofHours(1)));
            AtomicBoolean once = new AtomicBoolean();
            LiteLog log = new LiteLogs(
                            FaultySession.of(fixture.session(0), (executed, operation) -> {
                                if (executed && operation.equals("fetchAdd") && !once.getAndSet(true)) {
                                    throw new LiteTimeoutException("no answer");
                                }
                            }),
                            Waits.seconds(20))
                    .open("reserved");
            assertThat(LogPosition.slot(log.append(LogFixture.bytes("found")))).isEqualTo(1);
            LogTransaction found = plain.reader(0).next(Waits.seconds(20));
            assertThat(found).isNotNull();
            assertThat(found.bytes(0)).isEqualTo(LogFixture.bytes("found"));
        }
    }

    /** The metadata may be on a node that went away meanwhile. */
    @Test
    void anAppendThatIsInTheLogDoesNotWaitUntilItsHoleIsOpen() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLog plain = fixture.create("away", LogFixture.small().withHoleTimeout(Duration.ofHours(1)));
            CountDownLatch returned = new CountDownLatch(1);
            AtomicBoolean committed = new AtomicBoolean();
            Lite lite = losingAReservation(fixture.session(0), "away", committed, () -> {
                if (committed.get()) {
                    Waits.await(returned);
                }
            });
            LiteLog log = new LiteLogs(lite, Waits.seconds(20)).open("away");
            assertThat(LogPosition.slot(log.append(LogFixture.bytes("found")))).isEqualTo(1);
            returned.countDown();
            LogTransaction found = plain.reader(0).next(Waits.seconds(20));
            assertThat(found).isNotNull();
            assertThat(found.bytes(0)).isEqualTo(LogFixture.bytes("found"));
        }
    }

    @Test
    void aLogThatIsClosedLeavesNoHoleOfItsAppends() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLog plain = fixture.create("closed", LogFixture.small().withHoleTimeout(Duration.ofHours(1)));
            CountDownLatch closed = new CountDownLatch(1);
            AtomicBoolean committed = new AtomicBoolean();
            Lite lite = losingAReservation(fixture.session(0), "closed", committed, () -> {
                if (committed.get() && Thread.currentThread().isVirtual()) {
                    Waits.await(closed);
                }
            });
            LiteLog log = new LiteLogs(lite, Waits.seconds(20)).open("closed");
            assertThat(LogPosition.slot(log.append(LogFixture.bytes("found")))).isEqualTo(1);
            log.close();
            closed.countDown();
            LogTransaction found = plain.reader(0).next(Waits.seconds(20));
            assertThat(found).isNotNull();
            assertThat(found.bytes(0)).isEqualTo(LogFixture.bytes("found"));
        }
    }

    /**
     * A session that gets no answer to its first reservation.
     *
     * @param committed gets true when a transaction is in the log
     * @param before runs before each read of a word of the log's metadata
     */
    private static Lite losingAReservation(Lite session, String log, AtomicBoolean committed, Runnable before) {
        AtomicBoolean lost = new AtomicBoolean();
        Lite losing = FaultySession.of(session, (executed, operation) -> {
            if (executed && operation.equals("fetchAdd") && !lost.getAndSet(true)) {
                throw new LiteTimeoutException("no answer");
            }
            if (executed && operation.equals("testSet")) {
                committed.set(true);
            }
        });
        Optional<String> metadata = Optional.of(Metadata.name(log));
        return FaultySession.of(losing, Metadata.name(log), handle -> new ForwardingLmrHandle() {
            @Override
            public LmrHandle unwrap() {
                return handle;
            }

            @Override
            public long getLong(long offset) {
                if (handle.name().equals(metadata)) {
                    before.run();
                }
                return super.getLong(offset);
            }
        });
    }

    /** Its slot is sealed, because another writer has ended meanwhile; its commit comes later. */
    @Test
    void aPausedWriterThatIsTakenForAnEndedOneAppendsAgainExactlyOnce() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLog plain = fixture.create("paused", LogFixture.small().withHoleTimeout(Duration.ofHours(1)));
            Lite ending = fixture.session(0);
            new LiteLogs(ending).open("paused").append(LogFixture.bytes("ended"));
            LogReader reader = plain.reader(0);
            assertThat(reader.next(Duration.ZERO)).isNotNull();
            AtomicBoolean once = new AtomicBoolean();
            LiteLog log = new LiteLogs(
                            FaultySession.of(fixture.session(0), (executed, operation) -> {
                                if (operation.equals("testSet") && !executed && !once.getAndSet(true)) {
                                    ending.close();
                                    Waits.until("the slot is passed", () -> {
                                        assertThat(LogFixture.read(reader)).isEmpty();
                                        return LogPosition.slot(reader.position()) == 2;
                                    });
                                }
                            }),
                            Waits.seconds(20))
                    .open("paused");
            assertThat(LogPosition.slot(log.append(LogFixture.bytes("late")))).isEqualTo(2);
            assertThat(LogFixture.read(reader)).containsExactly("late");
            assertThat(LogFixture.read(plain.reader(0))).containsExactly("ended", "late");
        }
    }

    @Test
    void anOutcomeThatStaysUnknownIsReportedAsSuch() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLog plain = fixture.create("unknown", LogFixture.small());
            LiteLog log = new LiteLogs(
                            FaultySession.of(fixture.session(0), (executed, operation) -> {
                                if (executed && operation.equals("testSet")) {
                                    throw new LmrUnavailableException("the node is gone");
                                }
                            }),
                            Duration.ofMillis(50))
                    .open("unknown");
            assertThatThrownBy(() -> log.append(LogFixture.bytes("perhaps")))
                    .isInstanceOf(AppendUncertainException.class)
                    .hasMessageContaining("the node is gone");
            assertThat(LogFixture.read(plain.reader(0))).containsExactly("perhaps");
        }
    }

    /** It would wait for twice its deadline. The error comes at the session's deadline. */
    @Test
    void anAppendWhoseFirstStepHasWaitedForTheNodeUntilTheDeadlineDoesNotTryAgain() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            fixture.create("away", LogFixture.small());
            Duration deadline = Duration.ofSeconds(1);
            LiteException error = new LiteTimeoutException("no answer");
            AtomicBoolean away = new AtomicBoolean();
            AtomicInteger attempts = new AtomicInteger();
            Lite session = fixture.session(0);
            LiteLog log = new LiteLogs(
                            FaultySession.of(session, (executed, operation) -> {
                                if (away.get() && operation.equals("write")) {
                                    attempts.incrementAndGet();
                                    Waits.pass(deadline);
                                    throw error;
                                }
                            }),
                            deadline)
                    .open("away");
            assertThat(log.append(LogFixture.bytes("there"))).isNotNegative();
            away.set(true);
            assertThatThrownBy(() -> log.append(LogFixture.bytes("lost"))).isSameAs(error);
            assertThat(attempts).hasValue(1);
        }
    }

    @Test
    void aCommitThatHasWaitedForItsAnswerUntilTheDeadlineIsUncertainAtOnce() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLog plain = fixture.create("hangs", LogFixture.small());
            AtomicBoolean hangs = new AtomicBoolean();
            AtomicInteger attempts = new AtomicInteger();
            Duration deadline = Duration.ofSeconds(1);
            LiteLog log = new LiteLogs(
                            FaultySession.of(fixture.session(0), (executed, operation) -> {
                                if (hangs.get() && executed && operation.equals("testSet")) {
                                    attempts.incrementAndGet();
                                    Waits.pass(deadline);
                                    throw new LiteTimeoutException("no answer");
                                }
                            }),
                            deadline)
                    .open("hangs");
            assertThat(log.append(LogFixture.bytes("there"))).isNotNegative();
            hangs.set(true);
            assertThatThrownBy(() -> log.append(LogFixture.bytes("perhaps")))
                    .isInstanceOf(AppendUncertainException.class)
                    .hasMessageContaining("no answer");
            assertThat(attempts).hasValue(1);
            assertThat(LogFixture.read(plain.reader(0))).containsExactly("there", "perhaps");
        }
    }

    /** The wait for the node is a part of the append's deadline. */
    @Test
    void anAppendThatHasLookedForItsNodeUntilTheDeadlineDoesNotTryAgain() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            fixture.create("looks", LogFixture.small());
            Duration deadline = Duration.ofMillis(200);
            AtomicInteger attempts = new AtomicInteger();
            Lite lost = FaultySession.of(fixture.session(0), (executed, operation) -> {
                if (operation.equals("fetchAdd")) {
                    attempts.incrementAndGet();
                    throw new SessionLostException("the node restarts");
                }
            });
            LiteLog log = new LiteLogs(
                            FaultySession.beforeNodeName(lost, () -> {
                                if (attempts.get() > 0) {
                                    Waits.pass(deadline);
                                }
                            }),
                            deadline)
                    .open("looks");
            assertThatThrownBy(() -> log.append(LogFixture.bytes("lost"))).isInstanceOf(SessionLostException.class);
            assertThat(attempts).hasValue(1);
        }
    }

    @Test
    void anAppendThatCannotBeginFailsAtTheDeadlineAndLeavesNothing() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLog plain = fixture.create("nothing", LogFixture.small().withHoleTimeout(Duration.ofMillis(5)));
            LiteLog log = new LiteLogs(
                            FaultySession.of(fixture.session(0), (executed, operation) -> {
                                if (operation.equals("write")) {
                                    throw new LmrUnavailableException("the node is gone");
                                }
                            }),
                            Duration.ofMillis(50))
                    .open("nothing");
            assertThatThrownBy(() -> log.append(LogFixture.bytes("lost"))).isInstanceOf(LmrUnavailableException.class);
            CompletableFuture<Long> future = log.appendAsync(LogFixture.bytes("lost, too"));
            assertThatThrownBy(future::join).hasCauseInstanceOf(LmrUnavailableException.class);
            plain.append(LogFixture.bytes("there"));
            LogReader reader = plain.reader(0);
            LogTransaction first = reader.next(Waits.seconds(20));
            assertThat(first).isNotNull();
            assertThat(first.bytes(0)).isEqualTo(LogFixture.bytes("there"));
            assertThat(LogFixture.read(reader)).isEmpty();
        }
    }

    @Test
    void aReaderOfAnIdleLogPollsRarely() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            fixture.create("idle", LogFixture.small());
            AtomicLong polls = new AtomicLong();
            LiteLog log = new LiteLogs(
                            FaultySession.of(fixture.session(0), (executed, operation) -> polls.incrementAndGet()),
                            Waits.seconds(20))
                    .open("idle");
            assertThat(log.reader(0).next(Duration.ofSeconds(1))).isNull();
            // At most some 2,000 in the first 50 µs, and then 100 in a second. Short sleeps would give 20,000, none
            // millions.
            assertThat(polls.get()).isPositive().isLessThan(3_000);
        }
    }

    @Test
    void aWriterThatIsSlowerThanTheCleanerAppendsAgain() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LogSpec spec = LogFixture.small().withRetentionBytes(0);
            LiteLog plain = fixture.create("slow", spec);
            plain.startCleaner();
            for (String slowStep : List.of("write", "testSet")) {
                long first = LogPosition.segment(plain.endPosition());
                AtomicBoolean once = new AtomicBoolean();
                LiteLog log = new LiteLogs(
                                FaultySession.of(fixture.session(0), (executed, operation) -> {
                                    if (operation.equals(slowStep) && !executed && !once.getAndSet(true)) {
                                        // Paused here, while others fill the segment and the cleaner frees it.
                                        while (LogPosition.segment(plain.append(LogFixture.bytes("filler")))
                                                < first + 3) {}
                                        Waits.until(
                                                "the segment is removed",
                                                () -> LogPosition.segment(plain.firstPosition()) > first + 1);
                                    }
                                }),
                                Waits.seconds(20))
                        .open("slow");
                long position = log.append(LogFixture.bytes("slow " + slowStep));
                assertThat(LogPosition.segment(position)).isGreaterThan(first + 1);
                LogReader reader = plain.reader(position);
                LogTransaction found = reader.next(Waits.seconds(20));
                assertThat(found).isNotNull();
                assertThat(found.bytes(0)).isEqualTo(LogFixture.bytes("slow " + slowStep));
                assertThat(once.get()).isTrue();
            }
        }
    }

    @Test
    void aWriterWithoutRoomInASegmentThatIsSlowerThanTheCleanerAppendsToALaterOne() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLog plain = fixture.create("slow", LogFixture.small().withRetentionBytes(0));
            plain.startCleaner();
            AtomicReference<String> before = new AtomicReference<>("");
            AtomicBoolean once = new AtomicBoolean();
            LiteLog log = new LiteLogs(
                            FaultySession.of(fixture.session(0), (executed, operation) -> {
                                boolean ends = operation.equals("testSet")
                                        && before.get().equals("fetchAdd");
                                if (ends && !executed && !once.getAndSet(true)) {
                                    // Paused before it marks the end of the full segment, which is freed meanwhile.
                                    long full = LogPosition.segment(plain.endPosition());
                                    while (LogPosition.segment(plain.append(LogFixture.bytes("filler"))) < full + 3) {}
                                    Waits.until(
                                            "the segment is removed",
                                            () -> LogPosition.segment(plain.firstPosition()) > full);
                                }
                                before.set(operation);
                            }),
                            Waits.seconds(20))
                    .open("slow");
            byte[] large = new byte[1000]; // fills a segment's data before its slots
            long position = 0;
            for (int append = 0; append < 100 && !once.get(); append++) {
                position = log.append(large);
            }
            assertThat(once).isTrue();
            LogTransaction found = plain.reader(position).next(Waits.seconds(20));
            assertThat(found).isNotNull();
            assertThat(found.bytes(0)).isEqualTo(large);
        }
    }
}
