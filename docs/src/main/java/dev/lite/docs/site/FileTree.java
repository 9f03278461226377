package dev.lite.docs.site;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** Finds files while other processes and threads make and delete some. */
public final class FileTree {
    private FileTree() {}

    /**
     * The files below a directory, sorted.
     *
     * @param directories whether to look into a directory
     * @param files whether a file is one of them
     * @throws UncheckedIOException if the directory cannot be read
     */
    public static List<Path> files(Path root, Predicate<Path> directories, Predicate<Path> files) {
        List<Path> found = new ArrayList<>();
        try {
            Files.walkFileTree(root, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                    return directories.test(directory) ? FileVisitResult.CONTINUE : FileVisitResult.SKIP_SUBTREE;
                }

                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                    if (files.test(file)) {
                        found.add(file);
                    }
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
                    if (failure instanceof NoSuchFileException && !file.equals(root)) {
                        return FileVisitResult.CONTINUE; // such as the file of an agent that attaches to a JVM
                    }
                    throw failure;
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException("cannot list " + root, e);
        }
        found.sort(null);
        return found;
    }
}
