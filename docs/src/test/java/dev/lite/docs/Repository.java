package dev.lite.docs;

import dev.lite.docs.site.FileTree;
import dev.lite.docs.site.Page;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
        return FileTree.files(
                ROOT,
                directory -> !SKIPPED.contains(String.valueOf(directory.getFileName())),
                file -> name.test(String.valueOf(file.getFileName())));
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
