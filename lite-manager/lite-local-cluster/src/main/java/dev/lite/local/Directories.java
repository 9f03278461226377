package dev.lite.local;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Creates and removes the directories of a cluster. */
final class Directories {
    private static final FileAttribute<Set<PosixFilePermission>> FOR_USER =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private Directories() {}

    /** Creates a directory and its parents for this user only. One that exists stays as it is. */
    static Path create(Path directory) {
        try {
            return Files.createDirectories(directory, FOR_USER);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create the directory " + directory, e);
        }
    }

    /** Creates a directory, only for this user, and its parents. One that exists stays as it is. */
    static void createForUser(Path directory) {
        if (!Files.isDirectory(directory)) {
            Path parent = directory.getParent();
            if (parent != null) {
                create(parent);
            }
            createNew(directory);
        }
    }

    /** Creates a directory for this user only. Fails when it exists, because the cluster later removes only what it created. */
    static void createNew(Path directory) {
        try {
            Files.createDirectory(directory, FOR_USER);
        } catch (FileAlreadyExistsException e) {
            throw new IllegalArgumentException(
                    "%s exists: another cluster with this name is running or was left behind; choose another name or remove it"
                            .formatted(directory),
                    e);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create the directory " + directory, e);
        }
    }

    /** Creates a directory that only this user may enter. Its path is short, because a socket's path has at most 106 bytes. */
    static Path createTemporary() {
        try {
            return Files.createTempDirectory(Path.of("/tmp"), "lite-");
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create a directory in /tmp", e);
        }
    }

    /** Removes the directory recursively. Does not follow links, and ignores missing files. */
    static void delete(Path directory) {
        try {
            Files.walkFileTree(directory, new Deleting());
        } catch (NoSuchFileException e) {
            // Does not exist.
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove " + directory, e);
        }
    }

    static void deleteIfEmpty(Path directory) {
        try {
            Files.deleteIfExists(directory);
        } catch (DirectoryNotEmptyException e) {
            // Another cluster uses it.
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove " + directory, e);
        }
    }

    private static final class Deleting extends SimpleFileVisitor<Path> {
        @Override
        public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
            Files.deleteIfExists(file);
            return FileVisitResult.CONTINUE;
        }

        @Override
        public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
            if (failure instanceof NoSuchFileException) {
                return FileVisitResult.CONTINUE;
            }
            throw failure;
        }

        @Override
        public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException failure) throws IOException {
            if (failure != null) {
                throw failure;
            }
            Files.deleteIfExists(directory);
            return FileVisitResult.CONTINUE;
        }
    }
}
