package dev.lite.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A log for whose next segment there is no memory. */
class FullMemoryTest {
    private static final int TAIL_UNIT_BITS = 36;

    /** Their units share a word with the number of slots, and must not overflow into it however long the memory is full. */
    @Test
    void appendsThatFailReserveNothingMoreInTheFullSegment() throws IOException {
        try (LogFixture fixture = new LogFixture(1)) {
            Lite lite = fixture.session(0);
            fixture.create("full", LogSpec.defaults().withSegmentBytes(256 << 10));
            LiteLog log = new LiteLogs(lite, Duration.ofMillis(300)).open("full");
            List<LmrHandle> rest = takeAll(lite);
            byte[] entry = new byte[32 << 10];
            assertThat(appendsUntilFull(log, entry)).isPositive();
            LmrHandle segment = lite.memory().map(log.segmentName(0), Permission.READ);
            long before = segment.getLong(0) >>> TAIL_UNIT_BITS;
            assertThat(before).isPositive();
            for (int count = 0; count < 3; count++) {
                assertThatThrownBy(() -> log.append(entry)).isInstanceOf(LimitExceededException.class);
            }
            assertThat((segment.getLong(0) >>> TAIL_UNIT_BITS) - before).isLessThanOrEqualTo(1);

            rest.forEach(LmrHandle::free);
            assertThat(LogPosition.segment(log.append(entry))).isEqualTo(1);
        }
    }

    private static List<LmrHandle> takeAll(Lite lite) {
        List<LmrHandle> taken = new ArrayList<>();
        for (long bytes = 8 << 20; bytes >= 4 << 10; ) {
            try {
                taken.add(lite.memory().malloc(LmrSpec.of(bytes)));
            } catch (LimitExceededException e) {
                bytes /= 2;
            }
        }
        return taken;
    }

    private static int appendsUntilFull(LiteLog log, byte[] entry) {
        int appended = 0;
        try {
            while (appended < 1000) {
                assertThat(log.append(entry)).isNotNegative();
                appended++;
            }
        } catch (LimitExceededException e) {
            return appended;
        }
        throw new AssertionError("the log is never full");
    }
}
