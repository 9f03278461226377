package dev.lite.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.cluster.LmrRecord.Move;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.cluster.LmrRecord.State;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

class LmrRecordTest {
    private static final String OWNER = "Ünï/corn";
    private static final List<Share> HERE =
            List.of(new Share(3, new UUID(1, 2), List.of(new Run(4096, 8192, 7), new Run(65536, 64, 8))));
    private static final LmrRecord RECORD =
            new LmrRecord(77, State.LIVE, 8200, 13, OWNER, 5, Map.of("a", 1, OWNER, 15), HERE, null);

    /** Bytes of format version, id, state, size and chunk shift. */
    private static final int BYTES_BEFORE_OWNER = 1 + 8 + 1 + 8 + 1;

    @Test
    void anEncodedRecordIsDecodedUnchanged() {
        assertThat(LmrRecord.decode(RECORD.encode())).isEqualTo(RECORD);
        LmrRecord moving = RECORD.withMove(new Move(2, 9, 14, List.of(new Share(4, new UUID(3, 4), List.of()))));
        assertThat(LmrRecord.decode(moving.encode())).isEqualTo(moving);
    }

    @Test
    void theOwnerStaysTheSameInEveryChangeOfTheRecord() {
        Move move = new Move(2, 9, 14, HERE);
        assertThat(List.of(
                        RECORD.withState(State.FREEING),
                        RECORD.withGrants(Map.of("b", 1)),
                        RECORD.withMove(move),
                        RECORD.withMove(move).moved()))
                .extracting(LmrRecord::owner)
                .containsOnly(OWNER);
    }

    @Test
    void aRecordOfTheFormatWithoutOwnersHasNoOwner() {
        byte[] now = RECORD.encode();
        int ownerBytes = Short.BYTES + ByteBuffer.wrap(now).getShort(BYTES_BEFORE_OWNER);
        ByteBuffer before = ByteBuffer.allocate(now.length - ownerBytes);
        before.put((byte) 1).put(now, 1, BYTES_BEFORE_OWNER - 1);
        int rest = BYTES_BEFORE_OWNER + ownerBytes;
        before.put(now, rest, now.length - Integer.BYTES - rest);
        CRC32C crc = new CRC32C();
        crc.update(before.array(), 0, before.position());
        before.putInt((int) crc.getValue());

        assertThat(LmrRecord.decode(before.array()))
                .isEqualTo(new LmrRecord(77, State.LIVE, 8200, 13, 5, RECORD.grants(), HERE));
    }

    @Test
    void damagedRecordsAndRecordsOfAnotherFormatAreRefused() {
        byte[] later = RECORD.encode();
        later[0] = 3;
        assertThatThrownBy(() -> LmrRecord.decode(later))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("format version 3, this program reads 1 and 2");
        byte[] damaged = RECORD.encode();
        damaged[10] ^= 1;
        assertThatThrownBy(() -> LmrRecord.decode(damaged))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("checksum");
    }
}
