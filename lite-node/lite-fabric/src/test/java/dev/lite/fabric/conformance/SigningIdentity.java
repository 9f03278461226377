package dev.lite.fabric.conformance;

import dev.lite.fabric.FabricIdentity;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.util.Arrays;

/** An identity with a key pair of its own. */
public abstract class SigningIdentity implements FabricIdentity {
    private static final String ALGORITHM = "Ed25519";

    private final KeyPair pair;

    protected SigningIdentity() {
        try {
            pair = KeyPairGenerator.getInstance(ALGORITHM).generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public byte[] publicKey() {
        byte[] encoded = pair.getPublic().getEncoded();
        return Arrays.copyOfRange(encoded, encoded.length - KEY_BYTES, encoded.length);
    }

    @Override
    public byte[] sign(byte[] message) {
        try {
            Signature signer = Signature.getInstance(ALGORITHM);
            signer.initSign(pair.getPrivate());
            signer.update(message);
            return signer.sign();
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }
}
