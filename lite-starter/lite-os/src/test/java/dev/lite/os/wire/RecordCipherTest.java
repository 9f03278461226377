package dev.lite.os.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.security.GeneralSecurityException;
import javax.crypto.AEADBadTagException;
import org.junit.jupiter.api.Test;

/** The records of one direction of a lane. */
class RecordCipherTest {
    private static final int OVERHEAD = SealedWire.OVERHEAD_BYTES;

    private final byte[] keyMaterial = new byte[SealedWire.KEY_BYTES];
    private final byte[] record = new byte[1 + OVERHEAD];
    private final byte[] content = new byte[1];

    @Test
    void bothSidesReplaceTheKeyAtTheSameRecord() throws GeneralSecurityException {
        RecordCipher sealing = RecordCipher.sealing(keyMaterial);
        RecordCipher opening = RecordCipher.opening(keyMaterial);
        byte[] first = new byte[1 + OVERHEAD];
        seal(sealing, 7, first);
        opening.open(first, 0, 1, content);
        for (long i = 1; i < RecordCipher.RECORDS_PER_KEY + 2; i++) {
            content[0] = 0;
            seal(sealing, 7, record);
            opening.open(record, 0, 1, content);
            if (content[0] != 7) {
                throw new AssertionError("record %d became %d".formatted(i, content[0]));
            }
            if (i == RecordCipher.RECORDS_PER_KEY) {
                assertThat(record)
                        .as("the number is that of the first record, the key is not")
                        .isNotEqualTo(first);
            }
        }
    }

    @Test
    void aRecordIsAuthenticOnlyInItsPlaceAndWithItsLength() throws GeneralSecurityException {
        RecordCipher sealing = RecordCipher.sealing(keyMaterial);
        seal(sealing, 1, record);
        byte[] second = new byte[1 + OVERHEAD];
        seal(sealing, 2, second);

        assertThatThrownBy(() -> RecordCipher.opening(keyMaterial).open(second, 0, 1, content))
                .as("the second one first")
                .isInstanceOf(AEADBadTagException.class);
        RecordCipher opening = RecordCipher.opening(keyMaterial);
        opening.open(record, 0, 1, content);
        assertThatThrownBy(() -> opening.open(record, 0, 1, content))
                .as("the first one again")
                .isInstanceOf(AEADBadTagException.class);
        byte[] longer = record.clone();
        longer[0] = 0;
        assertThatThrownBy(() -> RecordCipher.opening(keyMaterial).open(longer, 0, 1, content))
                .as("another length in front of it")
                .isInstanceOf(AEADBadTagException.class);
    }

    @Test
    void nothingOfARecordCanBeReadWithoutTheKey() throws GeneralSecurityException {
        byte[] other = keyMaterial.clone();
        other[0] = 1;
        seal(RecordCipher.sealing(keyMaterial), 1, record);

        assertThatThrownBy(() -> RecordCipher.opening(other).open(record, 0, 1, content))
                .isInstanceOf(AEADBadTagException.class);
    }

    private static void seal(RecordCipher cipher, int content, byte[] record) throws GeneralSecurityException {
        record[SealedWire.LENGTH_BYTES] = (byte) content;
        cipher.seal(record, 0, 1);
    }
}
