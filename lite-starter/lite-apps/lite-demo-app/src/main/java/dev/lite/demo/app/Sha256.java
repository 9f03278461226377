package dev.lite.demo.app;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** An incremental SHA-256 checksum. */
final class Sha256 {

    private final MessageDigest digest;

    Sha256() {
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    void add(byte[] bytes, int length) {
        digest.update(bytes, 0, length);
    }

    /** The checksum in hexadecimal digits. */
    String hex() {
        return HexFormat.of().formatHex(digest.digest());
    }

    /** The checksum of a file on disk. */
    static String of(Path file, Progress progress) throws IOException {
        Sha256 sha = new Sha256();
        byte[] piece = new byte[Pieces.PIECE_BYTES];
        long done = 0;
        try (InputStream in = Files.newInputStream(file)) {
            for (int length = in.read(piece); length >= 0; length = in.read(piece)) {
                sha.add(piece, length);
                done += length;
                progress.at(done);
            }
        }
        progress.done();
        return sha.hex();
    }
}
