package dev.lite.cli;

import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Comparator;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Prints the end of a log, and what is added to it, also in the next file. Used by one thread. */
final class LogTail {
    private static final int BLOCK_BYTES = 64 << 10;
    private static final long POLL_NS = TimeUnit.MILLISECONDS.toNanos(200);

    private final Path log;
    private final int lines;
    private final boolean follow;
    private final PrintWriter out;
    private final Consumer<String> notes;
    private final Opener opener;

    /** Opens a log for reading. */
    interface Opener {
        RandomAccessFile open(Path log) throws IOException;
    }

    /**
     * @param lines how many of the last lines are printed at first
     * @param follow whether to continue with new lines until the thread is interrupted
     * @param notes gets a line if earlier lines are in another file
     */
    LogTail(Path log, int lines, boolean follow, PrintWriter out, Consumer<String> notes) {
        this(log, lines, follow, out, notes, file -> new RandomAccessFile(file.toFile(), "r"));
    }

    /** For tests: the log may be replaced just before it is opened. */
    LogTail(Path log, int lines, boolean follow, PrintWriter out, Consumer<String> notes, Opener opener) {
        this.log = log;
        this.lines = lines;
        this.follow = follow;
        this.out = out;
        this.notes = notes;
        this.opener = opener;
    }

    /** Prints. */
    void print() throws IOException {
        if (!Files.exists(log) && !follow) {
            throw new CommandFailedException(ExitStatus.FAILED, "%s does not exist".formatted(log));
        }
        Opened opened = open();
        try {
            long at = opened == null ? 0 : printEnd(opened.file);
            while (follow && !Thread.currentThread().isInterrupted() && !out.checkError()) {
                LockSupport.parkNanos(this, POLL_NS);
                Object key = key(); // first: then the rest of a file that was replaced is complete
                if (opened != null) {
                    long bytes = opened.file.length();
                    at = print(opened.file, bytes < at ? 0 : at, bytes); // a shorter file was begun anew
                }
                if (key != null && (opened == null || !key.equals(opened.key))) {
                    if (opened != null) {
                        opened.file.close();
                    }
                    opened = open();
                    at = opened == null ? 0 : print(opened.file, 0, opened.file.length());
                }
            }
        } finally {
            if (opened != null) {
                opened.file.close();
            }
        }
    }

    /** @param key of this file: the log may already be another one */
    private record Opened(RandomAccessFile file, Object key) {}

    /** Opens the log, also while the process begins its next file; null if there is none. */
    private @Nullable Opened open() throws IOException {
        for (Object key = key(); key != null; ) {
            RandomAccessFile file = null;
            FileNotFoundException failure = null;
            try {
                file = opener.open(log);
            } catch (FileNotFoundException e) {
                failure = e;
            }
            Object keyAfter = key();
            if (key.equals(keyAfter)) {
                if (file == null) {
                    throw Objects.requireNonNull(failure);
                }
                return new Opened(file, key);
            }
            if (file != null) {
                file.close();
            }
            key = keyAfter;
        }
        return null;
    }

    /** What tells this file from another one that gets its name; null if there is none. */
    private @Nullable Object key() throws IOException {
        try {
            return Objects.requireNonNull(
                    Files.readAttributes(log, BasicFileAttributes.class).fileKey());
        } catch (NoSuchFileException e) {
            return null;
        }
    }

    private long printEnd(RandomAccessFile file) throws IOException {
        long end = file.length();
        long start = startOfLastLines(file, end);
        if (start == 0 && lines > 0) {
            previous().ifPresent(earlier -> notes.accept("Earlier lines are in " + earlier));
        }
        return print(file, start, end);
    }

    /** The compressed file that the process wrote before this one. */
    private Optional<Path> previous() throws IOException {
        try (Stream<Path> files = Files.list(log.toAbsolutePath().getParent())) {
            return files.filter(file -> {
                        String name = file.getFileName().toString();
                        return name.startsWith(log.getFileName() + ".") && name.endsWith(".gz");
                    })
                    .max(Comparator.comparingLong(file -> file.toFile().lastModified()));
        }
    }

    /** The position of the first of the last lines, searched from the end block by block. */
    private long startOfLastLines(RandomAccessFile file, long end) throws IOException {
        if (lines == 0) {
            return end;
        }
        byte[] block = new byte[BLOCK_BYTES];
        int left = lines;
        try {
            for (long blockEnd = end; blockEnd > 0; ) {
                int length = (int) Math.min(block.length, blockEnd);
                file.seek(blockEnd - length);
                file.readFully(block, 0, length);
                for (int index = length - 1; index >= 0; index--) {
                    long position = blockEnd - length + index;
                    if (block[index] == '\n' && position != end - 1 && --left == 0) {
                        return position + 1;
                    }
                }
                blockEnd -= length;
            }
            return 0;
        } catch (EOFException e) {
            return 0; // begun anew meanwhile
        }
    }

    /** Prints whole lines between two positions; returns the position after the last one printed. */
    private long print(RandomAccessFile file, long from, long to) throws IOException {
        long at = from;
        try {
            while (at < to) {
                byte[] block = new byte[(int) Math.min(BLOCK_BYTES, to - at)];
                file.seek(at);
                file.readFully(block);
                // The rest of a line is printed when it is complete, unless it is longer than a block or nothing will
                // follow.
                int length = block.length;
                if (at + length < to || follow) {
                    int lineEnd = lastLineEnd(block);
                    if (lineEnd == 0 && length < BLOCK_BYTES) {
                        break;
                    }
                    length = lineEnd == 0 ? length : lineEnd;
                }
                out.print(new String(block, 0, length, StandardCharsets.UTF_8));
                at += length;
            }
        } catch (EOFException e) {
            at = 0;
        }
        out.flush();
        return at;
    }

    private static int lastLineEnd(byte[] block) {
        for (int index = block.length - 1; index >= 0; index--) {
            if (block[index] == '\n') {
                return index + 1;
            }
        }
        return 0;
    }
}
