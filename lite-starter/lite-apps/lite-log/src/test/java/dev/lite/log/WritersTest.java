package dev.lite.log;

import static dev.lite.log.LogFixture.bytes;
import static dev.lite.log.LogFixture.read;
import static dev.lite.log.LogFixture.small;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.ForwardingLmrHandle;
import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The proof that a writer has ended. No timeout of a hole passes here. */
class WritersTest {
    private static final LogSpec SPEC = small().withHoleTimeout(Duration.ofHours(1));
    private static final Duration PROOFS = Duration.ofMillis(300);

    private static LogFixture fixture;

    @BeforeAll
    static void start() {
        fixture = new LogFixture(2);
    }

    @AfterAll
    static void stop() throws IOException {
        fixture.close();
    }

    private static Segment segment(LiteLog log) {
        return segment(fixture, log);
    }

    private static Segment segment(LogFixture nodes, LiteLog log) {
        LmrHandle handle =
                nodes.session(0).memory().map(log.segmentName(0), Permission.READ, Permission.WRITE, Permission.ATOMIC);
        return new Segment(0, handle, Segment.Geometry.of(SPEC.segmentBytes(), SPEC.transactionBytesTypical()));
    }

    private static LmrHandle metadata(String log) {
        return fixture.session(0)
                .memory()
                .map(Metadata.name(log), Permission.READ, Permission.WRITE, Permission.ATOMIC);
    }

    private static LongStream rows(LmrHandle metadata) {
        return IntStream.range(0, Writers.COUNT_MAX).mapToLong(row -> mark(metadata, row));
    }

    private static long mark(LmrHandle metadata, int row) {
        return metadata.getLong(Metadata.WRITERS_AT + 16L * row);
    }

    @Test
    void aHoleIsPassedWhenTheSessionOfItsWriterHasEnded() {
        LiteLog log = fixture.create("ended", SPEC);
        Lite session = fixture.session(1);
        LiteLog writer = new LiteLogs(session).open("ended");
        writer.append(bytes("before"));
        Segment segment = segment(log);
        segment.reserve(4); // the writer's next step is never made
        log.append(bytes("behind"));
        LogReader reader = log.reader(log.firstPosition());
        assertThat(read(reader)).containsExactly("before");

        Waits.pass(PROOFS);
        assertThat(read(reader)).as("all writers live").isEmpty();
        assertThat(segment.word(1)).isZero();

        session.close(); // without closing the log, like the end of a process
        LogTransaction behind = reader.next(Waits.seconds(20));
        assertThat(behind).isNotNull();
        assertThat(behind.bytes(0)).isEqualTo(bytes("behind"));
        assertThat(segment.word(1)).isEqualTo(Segment.SEALED);
        Waits.until("its row is free", () -> mark(metadata("ended"), 0) != 0 ^ mark(metadata("ended"), 1) != 0);
    }

    @Test
    void aHoleIsPassedWhenTheNodeOfItsWriterHasLeft() throws IOException {
        try (LogFixture nodes = new LogFixture(2)) {
            LiteLog log = nodes.create("left", SPEC.withPlacement(Placement.on("node-1")));
            nodes.logs(1).open("left").append(bytes("before"));
            segment(nodes, log).reserve(4);
            log.append(bytes("behind"));
            LogReader reader = log.reader(log.firstPosition());
            assertThat(read(reader)).containsExactly("before");

            nodes.cluster.nodes().get(1).close();
            LogTransaction behind = reader.next(Waits.seconds(60));
            assertThat(behind).isNotNull();
            assertThat(behind.bytes(0)).isEqualTo(bytes("behind"));
        }
    }

    @Test
    void aReservationAfterTheProofWaitsForItsOwn() {
        LiteLog log = fixture.create("later", SPEC);
        Lite session = fixture.session(1);
        new LiteLogs(session).open("later").append(bytes("first"));
        Segment segment = segment(log);
        segment.reserve(4);
        session.close();
        LogReader reader = log.reader(log.firstPosition());
        assertThat(reader.next(Duration.ZERO)).isNotNull();
        Waits.until("the hole is passed", () -> {
            assertThat(read(reader)).isEmpty();
            return LogPosition.slot(reader.position()) == 2;
        });

        segment.reserve(4); // of another writer, whose end nobody has proven
        log.append(bytes("behind"));
        assertThat(reader.next(PROOFS)).isNull();
        assertThat(segment.word(2)).isZero();
    }

    @Test
    void aClosedLogLeavesNoRow() {
        LiteLogs logs = fixture.logs(1);
        LiteLog log = logs.create("closed", SPEC);
        LmrHandle metadata = metadata("closed");
        assertThat(mark(metadata, 0)).as("no append, no row").isZero();
        log.append(bytes("x"));
        assertThat(mark(metadata, 0)).isNotZero();
        log.close();
        assertThat(mark(metadata, 0)).isZero();
        LiteLog again = logs.open("closed");
        assertThat(read(again.reader(0))).containsExactly("x");
    }

    @Test
    void aRowThatANewWriterHasTakenBeforeItIsReleasedAgainKeepsItsNode() {
        LiteLog log = fixture.create("taken", SPEC);
        LmrHandle metadata = metadata("taken");
        AtomicInteger releases = new AtomicInteger();
        Lite lite = FaultySession.of(
                fixture.session(1),
                ".log",
                handle -> beforeItFreesARow(handle, () -> {
                    if (releases.getAndIncrement() == 0) {
                        metadata.testSet(Metadata.WRITERS_AT, mark(metadata, 0), 0); // like a proof
                        log.append(bytes("of the new writer"));
                    }
                }));
        LiteLog closing = new LiteLogs(lite).open("taken");
        closing.append(bytes("x"));
        assertThat(mark(metadata, 0)).isNotZero();
        closing.close();
        assertThat(releases).hasPositiveValue();
        assertThat(mark(metadata, 0)).isNotZero();
        assertThat(metadata.getLong(Metadata.WRITERS_AT + Long.BYTES)).isNotZero();
    }

    private static LmrHandle beforeItFreesARow(LmrHandle handle, Runnable before) {
        return new ForwardingLmrHandle() {
            @Override
            public LmrHandle unwrap() {
                return handle;
            }

            @Override
            public void putLong(long offset, long value) {
                if (offset >= Metadata.WRITERS_AT && value == 0) {
                    before.run();
                }
                super.putLong(offset, value);
            }

            @Override
            public long testSet(long offset, long expected, long value) {
                if (offset >= Metadata.WRITERS_AT && value == 0) {
                    before.run();
                }
                return super.testSet(offset, expected, value);
            }
        };
    }

    /** Else every attempt would take a row that no proof frees while the session lives. */
    @Test
    void aWriterThatCouldNotFillItsRowLeavesNoRowOfALivingWriter() {
        LiteLog log = fixture.create("unfilled", SPEC);
        AtomicInteger failures = new AtomicInteger(3);
        LiteLog writer = new LiteLogs(failingToFillRows(fixture.session(1), failures)).open("unfilled");
        for (int i = 0; i < 1000 && failures.get() > 0; i++) { // a writer looks for a row in one append of 64
            writer.append(bytes("x"));
        }
        assertThat(failures).hasValue(0);
        assertThat(rows(metadata("unfilled")).filter(WritersTest::isOfLivingWriter))
                .isEmpty();
        for (int i = 0; i < 64; i++) {
            writer.append(bytes("x"));
        }
        assertThat(rows(metadata("unfilled")).filter(WritersTest::isOfLivingWriter))
                .hasSize(1);
        log.close();
    }

    private static boolean isOfLivingWriter(long mark) {
        if (mark == 0) {
            return false;
        }
        try {
            fixture.session(0).memory().map(mark, Permission.READ).unmap();
            return true;
        } catch (LmrNotFoundException e) {
            return false;
        }
    }

    /** A session that gets no answer to so many changes of the nodes in the rows. */
    private static Lite failingToFillRows(Lite lite, AtomicInteger failures) {
        LtMemory memory = (LtMemory) Proxy.newProxyInstance(
                LtMemory.class.getClassLoader(), new Class<?>[] {LtMemory.class}, (self, method, arguments) -> {
                    Object made = method.invoke(lite.memory(), arguments);
                    return made instanceof LmrHandle handle
                                    && handle.name().orElse("").endsWith(".log")
                            ? failingToFillRows(handle, failures)
                            : made;
                });
        return (Lite) Proxy.newProxyInstance(
                Lite.class.getClassLoader(),
                new Class<?>[] {Lite.class},
                (self, method, arguments) ->
                        method.getName().equals("memory") ? memory : method.invoke(lite, arguments));
    }

    private static LmrHandle failingToFillRows(LmrHandle handle, AtomicInteger failures) {
        return new ForwardingLmrHandle() {
            @Override
            public LmrHandle unwrap() {
                return handle;
            }

            @Override
            public void putLong(long offset, long value) {
                if (offset >= Metadata.WRITERS_AT
                        && value != 0
                        && failures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                    throw new LiteTimeoutException("no answer");
                }
                super.putLong(offset, value);
            }
        };
    }

    @Test
    void rowsOfEndedWritersAreUsedAgain() {
        LiteLog log = fixture.create("full", SPEC);
        LmrHandle metadata = metadata("full");
        LmrHandle mark = fixture.session(1).memory().malloc(LmrSpec.of(8));
        for (int row = 0; row < Writers.COUNT_MAX; row++) {
            metadata.putLong(Metadata.WRITERS_AT + 16L * row, mark.id());
        }
        log.append(bytes("without a row"));
        assertThat(mark(metadata, 0)).as("its writer lives").isEqualTo(mark.id());
        segment(log).reserve(4); // a hole, for which a reader asks for a proof
        long ended = mark.id();
        mark.free(); // perhaps while a proof looks at the rows: then it finds the later ones only
        Waits.until("there is a row for the new writer", () -> {
            for (int i = 0; i < 8; i++) { // a writer looks for a row in one append of 64
                log.append(bytes("more"));
            }
            return rows(metadata).anyMatch(id -> id != 0 && id != ended);
        });
        LogReader reader = fixture.logs(1).open("full").reader(log.firstPosition()); // waits for no other proof
        Waits.until("all others are free", () -> {
            List<String> unused = read(reader);
            return rows(metadata).noneMatch(id -> id == ended);
        });
        assertThat(rows(metadata).filter(id -> id != 0)).hasSize(1);
    }
}
