package dev.lite.local;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Set;

/** The file with the secret by which the nodes of a cluster know each other. */
final class SecretFile {
    private static final int BYTES = 32;

    private SecretFile() {}

    /**
     * Writes a new secret into a new file, which only this user may read.
     *
     * @throws FileAlreadyExistsException when the file exists; after any other failure it does not
     */
    static void create(Path file) throws IOException {
        byte[] random = new byte[BYTES];
        new SecureRandom().nextBytes(random);
        String text = HexFormat.of().formatHex(random) + "\n";
        try (FileChannel channel = FileChannel.open(
                file,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
            ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII));
            while (bytes.hasRemaining()) {
                int unused = channel.write(bytes);
            }
        } catch (FileAlreadyExistsException e) {
            throw e;
        } catch (IOException e) {
            Files.deleteIfExists(file);
            throw e;
        }
    }
}
