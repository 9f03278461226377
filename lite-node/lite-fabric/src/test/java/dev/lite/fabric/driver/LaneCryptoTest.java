package dev.lite.fabric.driver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.FabricIdentity;
import org.junit.jupiter.api.Test;

class LaneCryptoTest {
    @Test
    void aNodeThatShowsNoKeyHasSignedNothing() {
        byte[] noKey = new byte[FabricIdentity.KEY_BYTES];
        byte[] noSignature = new byte[FabricIdentity.SIGNATURE_BYTES];
        for (byte message = 0; message < 100; message++) {
            assertThat(LaneCrypto.isSigned(noKey, new byte[] {message}, noSignature))
                    .isFalse();
        }
    }
}
