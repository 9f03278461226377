package dev.lite.tier.control;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.lite.api.RpcFailedException;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.RemoteWork.Part;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** The encoding of requests between nodes. */
class ControlMessageTest {

    @Test
    void everyFieldIsDecodedAsItWasEncoded() {
        List<Run> runs = LongStream.range(0, ControlMessage.RUNS_MAX)
                .mapToObj(index -> new Run(index << 40, index, (int) index))
                .toList();
        Part part = new Part(3, new UUID(1, -2), Long.MIN_VALUE, 1L << 50, 7);
        ControlMessage message = new ControlMessage()
                .putByte(-5)
                .putInt(Integer.MIN_VALUE)
                .putLong(Long.MAX_VALUE)
                .putName("the name", "Grüße")
                .putShortened("because")
                .putPart(part)
                .putRuns(runs)
                .putDeadline(Deadline.in(Duration.ofHours(1)))
                .written();
        assertThat(message.getByte()).isEqualTo((byte) -5);
        assertThat(message.getInt()).isEqualTo(Integer.MIN_VALUE);
        assertThat(message.getLong()).isEqualTo(Long.MAX_VALUE);
        assertThat(message.getName("the name")).isEqualTo("Grüße");
        assertThat(message.getReason()).isEqualTo("because");
        assertThat(message.getPart()).isEqualTo(part);
        assertThat(message.getRuns()).isEqualTo(runs);
        assertThat(message.getDeadline().remaining()).isBetween(Duration.ofMinutes(50), Duration.ofHours(1));
        assertThat(message.remaining()).isZero();
    }

    @Test
    void aLengthOutOfRangeIsRefusedWithTheValueAndTheLimit() {
        for (int length : new int[] {-1, ControlMessage.NAME_BYTES_MAX + 1, Integer.MAX_VALUE}) {
            ControlMessage message = new ControlMessage().putInt(length).putLong(0);
            assertThatExceptionOfType(RpcFailedException.class)
                    .isThrownBy(() -> message.written().getName("the principal"))
                    .withMessageContaining("the principal")
                    .withMessageContaining("%d bytes", length)
                    .withMessageContaining("512");
            assertThatExceptionOfType(RpcFailedException.class)
                    .isThrownBy(() -> message.written().getRuns())
                    .withMessageContaining("%d runs", length)
                    .withMessageContaining("80");
        }
        ControlMessage noTime = new ControlMessage().putLong(-1).written();
        assertThatExceptionOfType(RpcFailedException.class)
                .isThrownBy(noTime::getDeadline)
                .withMessageContaining("-1 ns");
    }

    @Test
    void aMessageThatEndsEarlyIsRefused() {
        assertThatExceptionOfType(RpcFailedException.class)
                .isThrownBy(
                        () -> new ControlMessage().putInt(8).putInt(0).written().getName("the principal"))
                .withMessageContaining("it has 8 bytes; the reader needs 8 more at byte 4");
        assertThatExceptionOfType(RpcFailedException.class)
                .isThrownBy(() -> new ControlMessage().putInt(1).written().getLong());
    }

    @Test
    void aRequestThatIsTooLongIsNotSent() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new ControlMessage().putName("the principal", "x".repeat(513)))
                .withMessageContaining("513 bytes");
        ControlMessage full = new ControlMessage().putBytes(new byte[ControlMessage.BYTES_MAX], 0, 2031);
        assertThatIllegalArgumentException().isThrownBy(() -> full.putByte(0)).withMessageContaining("2031");
    }

    @Test
    void aLongReasonIsTruncated() {
        ControlMessage message =
                new ControlMessage().putShortened("x".repeat(5000)).written();
        assertThat(message.getReason()).isEqualTo("x".repeat(ControlMessage.REASON_BYTES_MAX));
    }
}
