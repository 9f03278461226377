package dev.lite.fabric.driver;

import dev.lite.fabric.FabricIdentity;
import dev.lite.fabric.FabricKeys;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.HexFormat;
import javax.crypto.KDF;
import javax.crypto.KeyAgreement;
import javax.crypto.Mac;
import javax.crypto.spec.HKDFParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/** The cryptography of a {@link LaneHandshake}, all of it the JDK's. Any thread. */
final class LaneCrypto {
    static final String MAC = "HmacSHA256";
    static final int MAC_BYTES = 32;
    static final int EXCHANGE_BYTES = 32;

    private static final String EXCHANGE = "X25519";
    private static final String SIGNATURE = "Ed25519";
    /** Before the 32 bytes of the key, in its X.509 encoding. */
    private static final byte[] EXCHANGE_PREFIX = HexFormat.of().parseHex("302a300506032b656e032100");

    private static final byte[] SIGNATURE_PREFIX = HexFormat.of().parseHex("302a300506032b6570032100");

    /** What a node without an identity shows. */
    private static final byte[] NO_KEY = new byte[FabricIdentity.KEY_BYTES];

    private LaneCrypto() {}

    private static IllegalStateException missing(GeneralSecurityException e) {
        return new IllegalStateException("this Java lacks an algorithm: " + e.getMessage(), e);
    }

    /** A key pair for one exchange. */
    static KeyPair newExchange() {
        try {
            return KeyPairGenerator.getInstance(EXCHANGE).generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw missing(e);
        }
    }

    static byte[] raw(PublicKey key) {
        byte[] encoded = key.getEncoded();
        return Arrays.copyOfRange(encoded, encoded.length - EXCHANGE_BYTES, encoded.length);
    }

    /**
     * What only the two sides of an exchange know.
     *
     * @throws HandshakeException if the peer's key is none
     */
    static byte[] shared(KeyPair own, byte[] peer) {
        try {
            KeyAgreement agreement = KeyAgreement.getInstance(EXCHANGE);
            agreement.init(own.getPrivate());
            Object unused = agreement.doPhase(key(EXCHANGE, EXCHANGE_PREFIX, peer), true);
            return agreement.generateSecret();
        } catch (GeneralSecurityException e) {
            throw new HandshakeException("its key for the exchange is invalid", e);
        }
    }

    private static PublicKey key(String algorithm, byte[] prefix, byte[] raw) throws GeneralSecurityException {
        return KeyFactory.getInstance(algorithm).generatePublic(new X509EncodedKeySpec(concat(prefix, raw)));
    }

    /** Whether the holder of a key has signed this. */
    static boolean isSigned(byte[] publicKey, byte[] message, byte[] signature) {
        if (Arrays.equals(publicKey, NO_KEY)) {
            return false; // as a point it has order 4, so a signature of zeros is valid for each fourth message
        }
        try {
            Signature verifier = Signature.getInstance(SIGNATURE);
            verifier.initVerify(key(SIGNATURE, SIGNATURE_PREFIX, publicKey));
            verifier.update(message);
            return verifier.verify(signature);
        } catch (GeneralSecurityException e) {
            return false; // not a key, or not a signature
        }
    }

    /** What a side signs: its role, and everything that was said so far. */
    static byte[] signed(String role, byte[]... messages) {
        byte[] label = "lite lane %s".formatted(role).getBytes(StandardCharsets.US_ASCII);
        return concat(label, digest(messages));
    }

    static byte[] digest(byte[]... messages) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            for (byte[] message : messages) {
                digest.update(message);
            }
            return digest.digest();
        } catch (GeneralSecurityException e) {
            throw missing(e);
        }
    }

    /** The HMAC of these messages with the secret; zeros without a secret. */
    static byte[] proof(@Nullable SecretKeySpec key, String direction, byte[]... messages) {
        if (key == null) {
            return new byte[MAC_BYTES];
        }
        try {
            var mac = Mac.getInstance(MAC);
            mac.init(key);
            mac.update(direction.getBytes(StandardCharsets.US_ASCII));
            for (byte[] message : messages) {
                mac.update(message);
            }
            return mac.doFinal();
        } catch (GeneralSecurityException e) {
            throw missing(e);
        }
    }

    /**
     * The keys of a lane.
     *
     * @param shared of the exchange
     * @param secret of the cluster; null for none
     * @param transcript everything that was said
     */
    static FabricKeys keys(byte[] shared, @Nullable SecretKeySpec secret, byte[] transcript, boolean connecting) {
        byte[] known = secret == null ? shared : concat(shared, secret.getEncoded());
        byte[] there = derive(known, transcript, "lite lane to accepting");
        byte[] back = derive(known, transcript, "lite lane to connecting");
        return connecting ? new FabricKeys(there, back) : new FabricKeys(back, there);
    }

    private static byte[] derive(byte[] known, byte[] salt, String label) {
        try {
            return KDF.getInstance("HKDF-SHA256")
                    .deriveData(HKDFParameterSpec.ofExtract()
                            .addIKM(known)
                            .addSalt(salt)
                            .thenExpand(label.getBytes(StandardCharsets.US_ASCII), FabricKeys.BYTES));
        } catch (GeneralSecurityException e) {
            throw missing(e);
        }
    }

    static byte[] concat(byte[] first, byte[] second) {
        byte[] joined = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, joined, first.length, second.length);
        return joined;
    }

    /** Of a signature; all zeros if this node has no identity. */
    static byte[] sign(@Nullable FabricIdentity identity, byte[] message) {
        return identity == null ? new byte[FabricIdentity.SIGNATURE_BYTES] : identity.sign(message);
    }
}
