package dev.lite.log;

import static dev.lite.log.LogFixture.bytes;
import static dev.lite.log.LogFixture.read;
import static dev.lite.log.LogFixture.small;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.ForwardingLmrHandle;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A read of several words may find one that a writer is just setting. */
class TornWordsTest {
    private static final long WORDS_AT = 128;

    /** Without the upper byte, without the length, and with neither the length nor the position. */
    @ParameterizedTest
    @ValueSource(longs = {0x00FFFFFFFFFFFFFFL, 0xC0000000FFFFFFFFL, 0xC000000000000000L})
    void aWordThatWasTornIsReadAgain(long mask) throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLog log = fixture.create("torn", small());
            log.append(bytes("first"));
            log.append(bytes("second"));
            AtomicInteger torn = new AtomicInteger();
            Lite reading = FaultySession.of(
                    fixture.session(0),
                    ".log/",
                    handle -> tearing(handle, WORDS_AT, word -> torn.getAndSet(1) == 0 ? word & mask : word));
            LogReader reader = new LiteLogs(reading).open("torn").reader(0);
            assertThat(read(reader)).containsExactly("first", "second");
            assertThat(torn).hasValue(1);
        }
    }

    /** A handle whose reads of several words at an offset change the second one. */
    private static LmrHandle tearing(LmrHandle handle, long at, LongUnaryOperator change) {
        return new ForwardingLmrHandle() {
            @Override
            public LmrHandle unwrap() {
                return handle;
            }

            @Override
            public void read(long offset, MemorySegment destination) {
                super.read(offset, destination);
                if (offset == at) {
                    long word = destination.getAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, 1);
                    destination.setAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, 1, change.applyAsLong(word));
                }
            }
        };
    }

    /** Else a segment is removed that the consumer has not read. */
    @Test
    void aPositionThatWasTornDoesNotLetTheCleanerPassAConsumer() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            LiteLog log = fixture.create("passed", small().withRetentionBytes(0));
            LogReader consumer = log.consumer("billing", 0);
            while (LogPosition.segment(log.append(bytes("something to fill segments"))) < 3) {}
            Lite reading = FaultySession.of(
                    fixture.session(0),
                    "passed.log",
                    handle -> tearing(handle, Metadata.CONSUMERS_AT, position -> position | 0xFF00000000L));
            LogCleaner cleaner = new LiteLogs(reading).open("passed").startCleaner();
            Waits.until("it is elected", cleaner::isElected);
            Waits.pass(Duration.ofMillis(400)); // some rounds
            assertThat(log.firstPosition()).isZero();

            consumer.seek(log.endPosition());
            consumer.commit();
            Waits.until("segments 0 to 2 are removed", () -> LogPosition.segment(log.firstPosition()) == 3);
        }
    }
}
