package dev.lite.log;

import static dev.lite.log.LogFixture.bytes;
import static dev.lite.log.LogFixture.read;
import static dev.lite.log.LogFixture.small;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.Permission;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Segments that a master has freed, as an operator does when their node is lost. */
class LostSegmentsTest {
    private static LogFixture fixture;

    @BeforeAll
    static void start() {
        fixture = new LogFixture(2);
    }

    @AfterAll
    static void stop() throws IOException {
        fixture.close();
    }

    /** Then this process makes the second segment in advance. */
    private static void fillMoreThanHalf(LiteLog log) {
        for (int i = 0; i < 50; i++) {
            assertThat(LogPosition.segment(log.append(new byte[100]))).isZero();
        }
    }

    private static void free(LiteLog log, long segment) {
        try (LmrHandle master = fixture.session(0).memory().map(log.segmentName(segment), Permission.MASTER)) {
            master.free();
        }
    }

    /** Its positions are used: a consumer that has read ten of them would never see what is appended there again. */
    @Test
    void aProcessThatOpensALogWhoseLastSegmentIsLostContinuesInTheNextOne() {
        LiteLog log = fixture.create("last", small());
        LogReader consumer = log.consumer("billing", log.firstPosition());
        for (int i = 0; i < 10; i++) {
            log.append(bytes("lost"));
        }
        assertThat(read(consumer)).hasSize(10);
        consumer.commit();
        consumer.close();
        free(log, 0);

        LiteLog other = fixture.logs(1).open("last");
        assertThat(LogPosition.segment(other.append(bytes("of a new process")))).isEqualTo(1);
        assertThat(LogPosition.segment(log.append(bytes("of the old one")))).isEqualTo(1);
        try (LogReader again = other.consumer("billing", 0)) {
            assertThatThrownBy(() -> again.next(Duration.ZERO))
                    .isInstanceOfSatisfying(LogPositionException.class, e -> again.seek(e.firstPosition()));
            assertThat(read(again)).containsExactly("of a new process", "of the old one");
        }
    }

    @Test
    void aReaderAtALostSegmentIsToldWhereTheLogContinues() {
        LiteLog log = fixture.create("reader", small());
        log.append(bytes("lost"));
        LogReader mapped = log.reader(0);
        assertThat(read(mapped)).containsExactly("lost");
        free(log, 0);
        log.append(bytes("later"));
        for (LogReader reader :
                new LogReader[] {mapped, fixture.logs(1).open("reader").reader(0)}) {
            assertThatThrownBy(() -> reader.next(Duration.ZERO))
                    .isInstanceOfSatisfying(LogPositionException.class, e -> {
                        assertThat(e).hasMessageContaining("segment 0 of log \"reader\" is lost");
                        reader.seek(e.firstPosition());
                    });
            assertThat(read(reader)).containsExactly("later");
        }
    }

    @Test
    void theEndOfALogWhoseLastSegmentIsLostIsTheNextSegment() {
        LiteLog log = fixture.create("end", small());
        log.append(bytes("lost"));
        free(log, 0);
        assertThat(log.endPosition()).isEqualTo(LogPosition.of(1, 0, 0));
        LiteLog other = fixture.logs(1).open("end");
        assertThat(other.endPosition()).isEqualTo(LogPosition.of(1, 0, 0));
        LogReader reader = other.reader(other.endPosition());
        log.append(bytes("later"));
        assertThat(read(reader)).containsExactly("later");
    }

    /** Nobody has used it, so it is made again; the process that made it in advance must not pass it by. */
    @Test
    void writersMeetInASegmentThatWasMadeInAdvanceAndLost() {
        LiteLog log = fixture.create("advance", small());
        LiteLog other = fixture.logs(1).open("advance");
        other.append(bytes("first"));
        fillMoreThanHalf(log);
        Waits.until("the second segment is made in advance", () -> exists(log, 1));
        Waits.pass(Duration.ofMillis(50)); // so that it is kept
        free(log, 1);
        while (LogPosition.segment(other.append(bytes("something to fill segments"))) == 0) {}
        assertThat(LogPosition.segment(log.append(bytes("of its maker")))).isEqualTo(1);
        other.append(bytes("last"));
        assertThat(read(log.reader(0))).endsWith("of its maker", "last");
    }

    /** What it made again is empty, and its positions are used. */
    @Test
    void aSegmentThatIsMadeAgainByAProcessThatWasPausedIsNotUsed() {
        CountDownLatch paused = new CountDownLatch(1);
        CountDownLatch lost = new CountDownLatch(1);
        AtomicBoolean made = new AtomicBoolean();
        LiteLog log = fixture.create("again", small());
        Lite slow = FaultySession.creating(fixture.session(0), "/1", executed -> {
            paused.countDown();
            Waits.until("the segment is lost", () -> lost.getCount() == 0);
            made.set(executed);
        });
        LiteLog maker = new LiteLogs(slow, Waits.seconds(20)).open("again");
        fillMoreThanHalf(maker);
        Waits.until("the second segment is about to be made", () -> paused.getCount() == 0);
        while (LogPosition.segment(log.append(bytes("something to fill segments"))) == 0) {}
        log.append(bytes("lost"));
        LogReader reader = log.reader(log.endPosition());
        assertThat(read(reader)).isEmpty();
        free(log, 1);
        lost.countDown();
        Waits.until("the segment is made again", made::get);

        assertThat(LogPosition.segment(maker.append(bytes("of its maker")))).isEqualTo(2);
        assertThat(LogPosition.segment(log.append(bytes("of another one")))).isEqualTo(2);
        Waits.until("the segment is free again", () -> !exists(log, 1));
        assertThatThrownBy(() -> reader.next(Duration.ZERO))
                .isInstanceOfSatisfying(LogPositionException.class, e -> reader.seek(e.firstPosition()));
        assertThat(read(reader)).containsExactly("of its maker", "of another one");
    }

    @Test
    void aHandlerThatMeetsFreedMemoryOfItsOwnLeavesTheSegmentToTheWriters() {
        LiteLog log = fixture.create("handler", small());
        log.append(bytes("first"));
        LogReader reader = log.reader(0);
        LmrFreedException mine = new LmrFreedException("of this test");
        assertThatThrownBy(() -> reader.poll(
                        (position, memory, offset, length, last) -> {
                            throw mine;
                        },
                        1))
                .isSameAs(mine);
        assertThat(LogPosition.segment(log.append(bytes("second")))).isZero();
        assertThat(read(reader)).containsExactly("first", "second");
    }

    private static boolean exists(LiteLog log, long segment) {
        try {
            fixture.session(0)
                    .memory()
                    .map(log.segmentName(segment), Permission.READ)
                    .unmap();
            return true;
        } catch (LmrNotFoundException e) {
            return false;
        }
    }
}
