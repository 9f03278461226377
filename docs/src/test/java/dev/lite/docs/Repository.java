package dev.lite.docs;

import dev.lite.docs.site.Page;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/** The files of this repository. */
final class Repository {
    /** Its root. */
    static final Path ROOT =
            Path.of(System.getProperty("lite.docs.root", "..")).toAbsolutePath().normalize();

    /** The version of the build. */
    static final String VERSION = System.getProperty("lite.docs.version", "");

    private static final Set<String> SKIPPED = Set.of("target", ".git", ".mvn", "node_modules");

    private Repository() {}

    /** All pages of the documentation. */
    static List<Page> pages() {
        return Page.of(ROOT);
    }

    /** All code blocks of the documentation. */
    static List<CodeBlock> blocks() {
        return pages().stream().flatMap(page -> CodeBlock.of(page).stream()).toList();
    }

    /** The code blocks of one kind; at least one. */
    static List<CodeBlock> blocks(String kind) {
        List<CodeBlock> blocks =
                blocks().stream().filter(block -> block.kind().equals(kind)).toList();
        if (blocks.isEmpty()) {
            throw new AssertionError("the documentation has no block of the kind " + kind);
        }
        return blocks;
    }

    /** The files, outside of build directories, whose names fulfill a condition. */
    static List<Path> files(Predicate<String> name) {
        List<Path> files = new ArrayList<>();
        try {
            Files.walkFileTree(ROOT, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
                    return SKIPPED.contains(String.valueOf(directory.getFileName()))
                            ? FileVisitResult.SKIP_SUBTREE
                            : FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                    if (name.test(String.valueOf(file.getFileName()))) {
                        files.add(file);
                    }
                    return FileVisitResult.CONTINUE;
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return files;
    }

    /** The content of a file. */
    static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
