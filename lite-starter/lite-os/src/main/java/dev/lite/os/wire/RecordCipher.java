package dev.lite.os.wire;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.KDF;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.HKDFParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Seals or opens the records of one direction of a connection with AES-128-GCM. The number of a record is its nonce, so no nonce is used
 * twice with a key, and a record is authentic only in its place. After {@value #RECORDS_PER_KEY} records both sides replace the key by
 * one derived from it, far before the limit of GCM. The length in front of a record is authenticated, too. One thread at a time.
 */
final class RecordCipher {
    static final int TAG_BYTES = 16;
    private static final int TAG_BITS = 8 * TAG_BYTES;
    private static final int KEY_BYTES = 16;
    private static final int NONCE_BYTES = 12;
    static final long RECORDS_PER_KEY = 1 << 20;
    private static final byte[] NEXT = "lite lane next".getBytes(StandardCharsets.US_ASCII);
    private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final int mode;
    private final Cipher cipher;
    private final byte[] nonce = new byte[NONCE_BYTES];
    private byte[] keyMaterial;
    private SecretKey key;
    private long records;

    private RecordCipher(int mode, byte[] keyMaterial) {
        this.mode = mode;
        this.keyMaterial = keyMaterial;
        key = key(keyMaterial);
        try {
            cipher = Cipher.getInstance("AES/GCM/NoPadding");
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no AES-GCM", e);
        }
    }

    /** @param keyMaterial {@link SealedWire#KEY_BYTES} bytes: the key, and the material of the next one */
    static RecordCipher sealing(byte[] keyMaterial) {
        return new RecordCipher(Cipher.ENCRYPT_MODE, keyMaterial);
    }

    /** @param keyMaterial that of the other side's {@link #sealing} */
    static RecordCipher opening(byte[] keyMaterial) {
        return new RecordCipher(Cipher.DECRYPT_MODE, keyMaterial);
    }

    private static SecretKey key(byte[] keyMaterial) {
        return new SecretKeySpec(Arrays.copyOf(keyMaterial, KEY_BYTES), "AES");
    }

    /**
     * Makes a record, which begins at {@code at}, of its content, which is in its place: writes the length, encrypts the content, adds
     * the tag.
     */
    void seal(byte[] records, int at, int length) throws GeneralSecurityException {
        INT.set(records, at, length);
        begin(records, at);
        int content = at + SealedWire.LENGTH_BYTES;
        int unused = cipher.doFinal(records, content, length, records, content);
    }

    /** Checks and decrypts the record that begins at {@code at} and whose content has this length. */
    void open(byte[] records, int at, int length, byte[] content) throws GeneralSecurityException {
        begin(records, at);
        int unused = cipher.doFinal(records, at + SealedWire.LENGTH_BYTES, length + TAG_BYTES, content, 0);
    }

    private void begin(byte[] record, int at) throws GeneralSecurityException {
        if (records == RECORDS_PER_KEY) {
            keyMaterial = KDF.getInstance("HKDF-SHA256")
                    .deriveData(
                            HKDFParameterSpec.ofExtract().addIKM(keyMaterial).thenExpand(NEXT, SealedWire.KEY_BYTES));
            key = key(keyMaterial);
            records = 0;
        }
        LONG.set(nonce, 0, records);
        records++;
        cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, nonce));
        cipher.updateAAD(record, at, SealedWire.LENGTH_BYTES);
    }
}
