package dev.lite.cli;

import java.io.EOFException;
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

    /**
     * @param lines how many of the last lines are printed at first
     * @param follow whether to continue with new lines until the thread is interrupted
     * @param notes gets a line if earlier lines are in another file
     */
    LogTail(Path log, int lines, boolean follow, PrintWriter out, Consumer<String> notes) {
        this.log = log;
        this.lines = lines;
        this.follow = follow;
        this.out = out;
        this.notes = notes;
    }

    /** Prints. */
    void print() throws IOException {
        if (!Files.exists(log) && !follow) {
            throw new CommandFailedException(ExitStatus.FAILED, "%s does not exist".formatted(log));
        }
        Object key = key();
        RandomAccessFile file = key == null ? null : new RandomAccessFile(log.toFile(), "r");
        try {
            long at = file == null ? 0 : printEnd(file);
            while (follow && !Thread.currentThread().isInterrupted() && !out.checkError()) {
                LockSupport.parkNanos(this, POLL_NS);
                Object newKey = key(); // first: then the rest of a file that was replaced is complete
                if (file != null) {
                    long bytes = file.length();
                    at = print(file, bytes < at ? 0 : at, bytes); // a shorter file was begun anew
                }
                if (newKey != null && !newKey.equals(key)) {
                    if (file != null) {
                        file.close();
                    }
                    file = new RandomAccessFile(log.toFile(), "r");
                    key = newKey;
                    at = print(file, 0, file.length());
                }
            }
        } finally {
            if (file != null) {
                file.close();
            }
        }
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
