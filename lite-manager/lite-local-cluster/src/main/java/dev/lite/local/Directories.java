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
import java.nio.file.attribute.PosixFilePermissions;
import org.jspecify.annotations.Nullable;

/** Making and removing the directories of a cluster. */
final class Directories {

    private Directories() {}

    static Path create(Path directory) {
        try {
            return Files.createDirectories(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot make the directory " + directory, e);
        }
    }

    /** For this user only. Fails when it is there already: what is removed at the end must be our own. */
    static void createNew(Path directory) {
        try {
            Files.createDirectory(
                    directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (FileAlreadyExistsException e) {
            throw new IllegalArgumentException(
                    "%s is there already: another cluster of this name runs, or one was left behind; choose another name or remove it"
                            .formatted(directory),
                    e);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot make the directory " + directory, e);
        }
    }

    /** A new directory that only this user may enter. Short, since a socket's path has at most 106 bytes. */
    static Path createTemporary() {
        try {
            return Files.createTempDirectory(Path.of("/tmp"), "lite-");
        } catch (IOException e) {
            throw new UncheckedIOException("cannot make a directory in /tmp", e);
        }
    }

    /** Removes everything below and the directory itself. Links are not followed; what is gone already is fine. */
    static void delete(Path directory) {
        try {
            Files.walkFileTree(directory, new Deleting());
        } catch (NoSuchFileException e) {
            // Gone already.
        } catch (IOException e) {
            throw new UncheckedIOException("cannot remove " + directory, e);
        }
    }

    static void deleteIfEmpty(Path directory) {
        try {
            Files.deleteIfExists(directory);
        } catch (DirectoryNotEmptyException e) {
            // Somebody else's cluster is in it.
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
