package dev.lite.tier.qos;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.Test;

/** No test waits: the time is a number. */
class BytesLimitTest {
    private static final long MOST = 1 << 20;
    private static final long TRANSFER_BYTES = 4 << 10;
    private static final long LINK_BYTES_PER_MS = 5_000;
    private static final int STEPS = 100;

    private final BytesLimit limit = new BytesLimit(MOST);
    private long nowNs;

    /** Runs some steps over a link whose throughput depends on the limit; the bytes transferred. */
    private long run(int applications, LongUnaryOperator bytesPerMs) {
        long transferred = 0;
        for (int step = 0; step < STEPS; ) {
            transferred += TRANSFER_BYTES;
            nowNs += TRANSFER_BYTES * 1_000_000 / bytesPerMs.applyAsLong(limit.bytes());
            if (limit.ended(nowNs, TRANSFER_BYTES)) {
                limit.adapt(applications);
                step++;
            }
        }
        return transferred;
    }

    @Test
    void oneApplicationMayUseAll() {
        long unused = run(1, bytes -> LINK_BYTES_PER_MS);
        assertThat(limit.bytes()).isEqualTo(MOST);
    }

    @Test
    void severalApplicationsHaveLittleInALinkThatIsBusyAnyway() {
        long unused = run(2, bytes -> LINK_BYTES_PER_MS);
        assertThat(limit.bytes()).isEqualTo(BytesLimit.LEAST);
        assertThat(limit.pieceBytes()).as("others go between the pieces").isLessThan(BytesLimit.LEAST);
    }

    @Test
    void aLinkThatNeedsMoreBytesUnderWayGetsThem() {
        long needed = 128 << 10;
        long unused = run(2, bytes -> Math.min(bytes, needed) / 10);
        assertThat(limit.bytes()).isBetween(needed / 2, 2 * needed);
        long beganNs = nowNs;
        long transferred = run(2, bytes -> Math.min(bytes, needed) / 10);
        assertThat(transferred * 1e6 / (nowNs - beganNs))
                .as("the search costs little throughput")
                .isGreaterThan(0.9 * needed / 10);
    }

    @Test
    void theLastOfSeveralApplicationsMayUseAllAgain() {
        assertThat(run(2, bytes -> LINK_BYTES_PER_MS)).isPositive();
        assertThat(run(1, bytes -> LINK_BYTES_PER_MS)).isPositive();
        assertThat(limit.bytes()).isEqualTo(MOST);
    }
}
