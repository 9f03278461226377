package dev.lite.tier.peer;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The key pair of a node (Ed25519), by which its peers recognize it. It is made at the first start and kept in a file of mode 0600
 * beside the arena: two lines, the private and the public key in base 64. The public key is in the node's registration, so a node whose
 * file was lost just makes another pair. Any thread.
 */
public final class NodeKey {
    private static final Logger log = LoggerFactory.getLogger(NodeKey.class);
    private static final String ALGORITHM = "Ed25519";
    private static final int RAW_BYTES = 32;
    private static final String MODE = "rw-------";
    private static final byte[] PROBE = {1};

    private final KeyPair pair;

    private NodeKey(KeyPair pair) {
        this.pair = pair;
    }

    /** A new pair that is not kept. */
    public static NodeKey generate() {
        try {
            return new NodeKey(KeyPairGenerator.getInstance(ALGORITHM).generateKeyPair());
        } catch (GeneralSecurityException e) {
            throw missing(e);
        }
    }

    /**
     * Reads the pair, or makes a new one if there is none, or it cannot be used.
     *
     * @param file in a directory that only this user may write to
     * @throws UncheckedIOException if the file can be neither read nor written
     */
    public static NodeKey open(Path file) {
        try {
            if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                String trouble;
                try {
                    return read(file);
                } catch (GeneralSecurityException | IllegalArgumentException e) {
                    trouble = String.valueOf(e.getMessage());
                }
                log.warn("made a new key of this node, because {} cannot be used: {}", file, trouble);
            }
            NodeKey made = generate();
            made.write(file);
            return made;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read or write the key of this node, " + file, e);
        }
    }

    private static NodeKey read(Path file) throws IOException, GeneralSecurityException {
        Set<PosixFilePermission> mode = Files.getPosixFilePermissions(file, LinkOption.NOFOLLOW_LINKS);
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                || !PosixFilePermissions.fromString(MODE).containsAll(mode)) {
            throw new IllegalArgumentException(
                    "it is no file of mode 0600, but of mode " + PosixFilePermissions.toString(mode));
        }
        List<String> lines = Files.readAllLines(file, StandardCharsets.US_ASCII);
        if (lines.size() != 2) {
            throw new IllegalArgumentException("it has %d lines instead of 2".formatted(lines.size()));
        }
        KeyFactory factory = KeyFactory.getInstance(ALGORITHM);
        PrivateKey own = factory.generatePrivate(
                new PKCS8EncodedKeySpec(Base64.getDecoder().decode(lines.get(0))));
        PublicKey shown = factory.generatePublic(
                new X509EncodedKeySpec(Base64.getDecoder().decode(lines.get(1))));
        NodeKey key = new NodeKey(new KeyPair(shown, own));
        Signature verifier = Signature.getInstance(ALGORITHM);
        verifier.initVerify(shown);
        verifier.update(PROBE);
        if (!verifier.verify(key.sign(PROBE))) {
            throw new IllegalArgumentException("its two keys do not belong together");
        }
        return key;
    }

    private void write(Path file) throws IOException {
        String text = "%s\n%s\n"
                .formatted(
                        Base64.getEncoder().encodeToString(pair.getPrivate().getEncoded()),
                        Base64.getEncoder().encodeToString(pair.getPublic().getEncoded()));
        Path unfinished = file.resolveSibling(file.getFileName() + ".new");
        Files.deleteIfExists(unfinished);
        try (FileChannel channel = FileChannel.open(
                unfinished,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(MODE)))) {
            ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII));
            while (bytes.hasRemaining()) {
                int unused = channel.write(bytes);
            }
        }
        Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
    }

    /** The public key: 32 bytes. */
    public byte[] publicKey() {
        byte[] encoded = pair.getPublic().getEncoded();
        return Arrays.copyOfRange(encoded, encoded.length - RAW_BYTES, encoded.length);
    }

    /** The public key in base 64, as in a registration. */
    public String text() {
        return Base64.getEncoder().encodeToString(publicKey());
    }

    byte[] sign(byte[] message) {
        try {
            Signature signer = Signature.getInstance(ALGORITHM);
            signer.initSign(pair.getPrivate());
            signer.update(message);
            return signer.sign();
        } catch (GeneralSecurityException e) {
            throw missing(e);
        }
    }

    private static IllegalStateException missing(GeneralSecurityException e) {
        return new IllegalStateException("this Java has no " + ALGORITHM, e);
    }

    /** Without the keys. */
    @Override
    public String toString() {
        return "NodeKey";
    }
}
