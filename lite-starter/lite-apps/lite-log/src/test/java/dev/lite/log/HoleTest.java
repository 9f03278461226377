package dev.lite.log;

import static dev.lite.log.LogFixture.bytes;
import static dev.lite.log.LogFixture.read;
import static dev.lite.log.LogFixture.small;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What writers leave that end between two steps, and damage. */
class HoleTest {
    private static final Duration NEVER = Duration.ofHours(1);

    private static LogFixture fixture;

    @BeforeAll
    static void start() {
        fixture = new LogFixture(2);
    }

    @AfterAll
    static void stop() throws IOException {
        fixture.close();
    }

    private static Segment segment(LiteLog log, LogSpec spec) {
        LmrHandle handle = fixture.session(1)
                .memory()
                .map(log.segmentName(0), Permission.READ, Permission.WRITE, Permission.ATOMIC);
        return new Segment(0, handle, Segment.Geometry.of(spec.segmentBytes(), spec.transactionBytesTypical()));
    }

    @Test
    void aReaderWaitsBeforeAHoleAndPassesItAfterTheTimeout() {
        LogSpec spec = small().withHoleTimeout(Duration.ofMillis(50));
        LiteLog log = fixture.create("passed", spec);
        log.append(bytes("before"));
        long hole = segment(log, spec).reserve(4); // a writer that dies now
        log.append(bytes("behind"));

        LogReader reader = log.reader(log.firstPosition());
        assertThat(reader.next(Duration.ZERO)).isNotNull();
        assertThat(reader.poll((position, memory, offset, length, last) -> {}, 10))
                .isZero();
        LogTransaction behind = reader.next(Waits.seconds(20));
        assertThat(behind).isNotNull();
        assertThat(behind.bytes(0)).isEqualTo(bytes("behind"));
        assertThat(segment(log, spec).word(1)).isEqualTo(Segment.SEALED);
        assertThat(hole).isNotNegative();
        // Every other reader passes it at once.
        assertThat(read(log.reader(log.firstPosition()))).containsExactly("before", "behind");
    }

    @Test
    void aCommitThatComesBeforeTheSealIsRead() {
        LogSpec spec = small().withHoleTimeout(NEVER);
        LiteLog log = fixture.create("late", spec);
        Segment segment = segment(log, spec);
        Frame frame = frame("late");
        long at = Segment.tailUnits(segment.reserve(Segment.units(frame.length())));
        log.append(bytes("behind"));
        LogReader reader = log.reader(log.firstPosition());
        assertThat(read(reader)).isEmpty();

        frame.place(0, at);
        segment.write(at, frame.memory());
        assertThat(read(reader)).isEmpty();
        assertThat(segment.decide(0, Segment.committed(at, Segment.units(frame.length()))))
                .isZero();

        assertThat(read(reader)).containsExactly("late", "behind");
    }

    @Test
    void aWriterWhoseSlotWasSealedAppendsAgainExactlyOnce() {
        LogSpec spec = small().withHoleTimeout(NEVER);
        LiteLog log = fixture.create("sealed", spec);
        log.append(bytes("first"));
        Segment segment = segment(log, spec);
        // As a reader with an expired timeout would: seals the slot that the next append will get.
        assertThat(segment.decide(1, Segment.SEALED)).isZero();

        long position = log.append(bytes("second"));

        assertThat(LogPosition.slot(position)).isEqualTo(2);
        assertThat(read(log.reader(log.firstPosition()))).containsExactly("first", "second");
    }

    @Test
    void aHoleAtTheEndOfASegmentDoesNotEndTheLog() {
        LogSpec spec = small().withHoleTimeout(Duration.ofMillis(20));
        LiteLog log = fixture.create("end", spec);
        log.append(bytes("first"));
        Segment segment = segment(log, spec);
        segment.reserve(segment.geometry.units()); // does not fit; its writer dies before it marks the end
        log.append(bytes("second"));

        LogReader reader = log.reader(log.firstPosition());
        assertThat(reader.next(Duration.ZERO)).isNotNull();
        LogTransaction second = reader.next(Waits.seconds(20));
        assertThat(second).isNotNull();
        assertThat(LogPosition.segment(second.position())).isEqualTo(1);
    }

    @Test
    void aWriterThatDiedAfterItMarkedTheEndDoesNotStopTheOthers() {
        LogSpec spec = small().withHoleTimeout(NEVER);
        LiteLog log = fixture.create("marked", spec);
        log.append(bytes("first"));
        Segment segment = segment(log, spec);
        segment.reserve(segment.geometry.units());
        segment.decide(1, Segment.END);

        LogReader reader = log.reader(log.firstPosition());
        assertThat(read(reader)).containsExactly("first");
        fixture.logs(1).open("marked").append(bytes("second")); // a new writer begins at the full segment
        assertThat(read(reader)).containsExactly("second");
    }

    @Test
    void aLogThatIsClosedWhileItMakesASegmentFreesNothing() {
        LiteLog log = fixture.create("closing", small());
        Segments late = new Segments(
                fixture.session(1).memory(),
                unmappedMetadata("closing"),
                small(),
                true,
                Waits.seconds(20)); // as after close
        log.append(bytes("kept"));
        assertThatThrownBy(() -> late.created(0))
                .isInstanceOf(LogStateException.class)
                .hasMessageContaining("closed");
        assertThat(read(log.reader(log.firstPosition()))).containsExactly("kept");
    }

    private static Metadata unmappedMetadata(String name) {
        LmrHandle handle = fixture.session(1)
                .memory()
                .map(Metadata.name(name), Permission.READ, Permission.WRITE, Permission.ATOMIC);
        handle.unmap();
        return new Metadata(name, handle);
    }

    @Test
    void aTornEntryIsFoundAndCanBeSkipped() {
        LogSpec spec = small();
        LiteLog log = fixture.create("torn", spec);
        log.append(bytes("good"));
        long bad = log.append(bytes("a longer entry with many bytes"), bytes("and another"));
        log.append(bytes("fine"));
        Segment segment = segment(log, spec);
        long at = Segment.at(segment.word(1));
        segment.handle.write(segment.geometry.dataStart() + at * 8 + 20, new byte[] {0});

        LogReader reader = log.reader(log.firstPosition());
        assertThat(reader.next(Duration.ZERO)).isNotNull();
        assertThatThrownBy(() -> reader.next(Duration.ZERO))
                .isInstanceOfSatisfying(
                        LogCorruptedException.class,
                        e -> assertThat(e.position()).isEqualTo(bad))
                .hasMessageContaining("0/1.0");
        assertThat(reader.position()).isEqualTo(bad);
        reader.skip();
        assertThat(read(reader)).containsExactly("fine");
    }

    @Test
    void anEntryFromAnotherPlaceIsFound() {
        LogSpec spec = small();
        LiteLog log = fixture.create("misplaced", spec);
        log.append(bytes("one"));
        log.append(bytes("two"));
        Segment segment = segment(log, spec);
        byte[] first = new byte[16];
        long start = segment.geometry.dataStart();
        segment.handle.read(start, first);
        segment.handle.write(start + 16, first); // valid at its own place only

        LogReader reader = log.reader(log.firstPosition());
        assertThat(reader.next(Duration.ZERO)).isNotNull();
        assertThatThrownBy(() -> reader.next(Duration.ZERO)).isInstanceOf(LogCorruptedException.class);
    }

    @Test
    void aWordThatIsNoCommitIsReported() {
        LogSpec spec = small();
        LiteLog log = fixture.create("word", spec);
        Segment segment = segment(log, spec);
        segment.decide(0, 77);
        assertThatThrownBy(() -> log.reader(0).next(Duration.ZERO))
                .isInstanceOf(LogCorruptedException.class)
                .hasMessageContaining("0x4d");
        segment.handle.putLong(128, Segment.committed(1 << 30, 4));
        assertThatThrownBy(() -> log.reader(0).next(Duration.ZERO))
                .isInstanceOf(LogCorruptedException.class)
                .hasMessageContaining("outside");
    }

    @Test
    void aLogWhoseCreatorDiedHalfwayIsCompleted() {
        LiteLogs logs = fixture.logs(0);
        fixture.session(1)
                .memory()
                .malloc(LmrSpec.of(Metadata.BYTES).withName("half.log"))
                .unmap();
        assertThatThrownBy(() -> logs.open("half"))
                .isInstanceOf(LogStateException.class)
                .hasMessageContaining("not complete");
        LiteLog log = logs.createOrOpen("half", small());
        log.append(bytes("works"));
        assertThat(read(log.reader(log.firstPosition()))).containsExactly("works");
        assertThat(logs.open("half").spec()).isEqualTo(small());
    }

    @Test
    void aLogWhoseCreatorDiedHalfwayIsCompletedWithOtherSettings() {
        LtMemory memory = fixture.session(1).memory();
        LmrHandle handle = memory.malloc(LmrSpec.of(Metadata.BYTES).withName("resized.log"));
        Metadata half = new Metadata("resized", handle);
        half.store(small());
        memory.malloc(LmrSpec.of(small().segmentBytes()).withName(half.segmentName(0)))
                .unmap();
        LogSpec larger = small().withSegmentBytes(16 << 10);
        LiteLog log = fixture.logs(0).createOrOpen("resized", larger);
        log.append(bytes("works"));
        assertThat(read(log.reader(log.firstPosition()))).containsExactly("works");
        assertThat(log.spec()).isEqualTo(larger);
    }

    private static Frame frame(String text) {
        Frame frame = new Frame();
        frame.add(bytes(text));
        frame.endTransaction();
        return frame;
    }
}
