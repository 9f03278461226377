package dev.lite.mr;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.mr.data.KeptRun;
import dev.lite.mr.data.Run;
import dev.lite.mr.data.RunReader;
import dev.lite.mr.job.Job;
import java.io.BufferedWriter;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * Copies the result of a job to its output. One thread.
 *
 * <p><b>Paused masters.</b> A master that was paused may have lost its group to another one, which writes the
 * same file. It must not replace that one's output when it continues. A file system has no condition for a
 * move. So each part of a file has the fencing token of its master in its name, and is created while the
 * master holds the lock of its group. A later master deletes the parts with smaller tokens before it writes
 * its own; then they cannot be moved.
 */
final class ResultWriter {
    private static final long MEMORY_BYTES_MAX = 256L << 20;
    private static final String PART = ".part";
    /** Before the token, and with the lock's name, since tokens of different locks cannot be compared. */
    private static final String PART_OF_LOCK = ".%08x-";
    /** Of a token in the name of a part. */
    private static final int TOKEN_DIGITS = 16;

    private static final String LOST =
            "the master has lost its group, for example because it was paused, and another one may write the file";
    /** Of a file, without its directory: the limit of Linux' file systems. */
    private static final int NAME_BYTES_MAX = 255;

    private final Lite lite;
    private final JobSpec spec;
    private final Job job;
    private final HeldLock lock;
    private List<JobResult.Pair> pairs = List.of();
    private long pairCount;

    /** @param lock of the master's group */
    ResultWriter(Lite lite, JobSpec spec, Job job, HeldLock lock) {
        this.lite = lite;
        this.spec = spec;
        this.job = job;
        this.lock = lock;
    }

    List<JobResult.Pair> pairs() {
        return pairs;
    }

    long pairCount() {
        return pairCount;
    }

    /**
     * Writes the output as a whole or not at all; a larger LMR than fits into memory has its name while it is written.
     *
     * @throws LiteException if the result was lost; the writer can be used again
     */
    void write(Run run) {
        pairs = List.of();
        pairCount = 0;
        switch (spec.output()) {
            case Output.Memory memory -> toMemory(run);
            case Output.File file -> toFile(run, file.path());
            case Output.Lmr lmr -> toLmr(run, lmr.name());
        }
    }

    private void toMemory(Run run) {
        if (run.bytes() > MEMORY_BYTES_MAX) {
            throw new MrException("the result has %d bytes; memory takes at most %d. Use a file or an LMR"
                    .formatted(run.bytes(), MEMORY_BYTES_MAX));
        }
        pairs = JobResult.pairs(KeptRun.read(lite.memory(), run));
        pairCount = pairs.size();
    }

    private void toFile(Run run, Path path) {
        try {
            deleteFormerParts(path);
            writeFile(run, path);
        } catch (IOException e) {
            throw new MrException("cannot write file %s: %s".formatted(path, lock.isHeld() ? e : LOST), e);
        }
    }

    private void requireGroup(Path path) {
        if (!lock.isHeld()) {
            throw new MrException("cannot write file %s: %s".formatted(path, LOST));
        }
    }

    private void writeFile(Run run, Path path) throws IOException {
        Path part = path.resolveSibling(partPrefix(path) + token(lock.fencingToken()) + PART);
        try (FileChannel channel = FileChannel.open(part, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
                BufferedWriter writer = new BufferedWriter(Channels.newWriter(channel, StandardCharsets.UTF_8))) {
            try {
                requireGroup(path); // else the next master may have deleted former parts already
                RunReader reader = new RunReader(lite.memory(), run);
                StringBuilder line = new StringBuilder();
                while (reader.next()) {
                    line.setLength(0);
                    format(reader, line);
                    writer.append(line.append('\n'));
                    pairCount++;
                }
                writer.flush();
                channel.force(true); // else the name could be on the disk before the content
                requireGroup(path);
                Files.move(part, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
                forceDirectory(path);
            } catch (Throwable e) {
                deletePart(part, e);
                throw e;
            }
        }
    }

    /**
     * Also those that killed masters left. This master writes one file at a time, so it has no other part of
     * this one.
     */
    private void deleteFormerParts(Path path) throws IOException {
        String prefix = partPrefix(path);
        String latest = token(lock.fencingToken());
        try (DirectoryStream<Path> parts = Files.newDirectoryStream(path.resolveSibling(""), each -> {
            String name = each.getFileName().toString();
            return name.length() == prefix.length() + TOKEN_DIGITS + PART.length()
                    && name.startsWith(prefix)
                    && name.endsWith(PART)
                    && name.substring(prefix.length()).compareTo(latest + PART) <= 0;
        })) {
            for (Path part : parts) {
                Files.deleteIfExists(part);
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        } catch (AccessDeniedException e) {
            // One may write to the directory, and not read it.
        }
    }

    /**
     * What the names of a file's parts begin with, for all masters of this group: the file's name, or as much
     * of it as there is room for, and the hash code of the lock's.
     */
    private String partPrefix(Path path) {
        String ending = PART_OF_LOCK.formatted(lock.name().hashCode());
        String name = path.getFileName().toString();
        while (bytes(name) + ending.length() + TOKEN_DIGITS + PART.length() > NAME_BYTES_MAX) {
            name = name.substring(0, name.offsetByCodePoints(name.length(), -1));
        }
        return name + ending;
    }

    /** As digits of which a larger token has larger ones. */
    private static String token(long token) {
        return "%016x".formatted(token);
    }

    private static int bytes(String name) {
        return name.getBytes(StandardCharsets.UTF_8).length;
    }

    /**
     * Checks that the name of a file is not too long, before a job runs.
     *
     * @throws MrException if it is
     */
    static void checkName(Path path) {
        int bytes = bytes(path.getFileName().toString());
        if (bytes > NAME_BYTES_MAX) {
            throw new MrException("cannot write file %s: its name has %d bytes; the limit is %d"
                    .formatted(path, bytes, NAME_BYTES_MAX));
        }
    }

    private static void deletePart(Path part, Throwable reason) {
        try {
            Files.deleteIfExists(part);
        } catch (IOException e) {
            reason.addSuppressed(e);
        }
    }

    /** So that the name is on the disk, too. */
    private static void forceDirectory(Path path) throws IOException {
        try (FileChannel directory = FileChannel.open(path.resolveSibling(""), StandardOpenOption.READ)) {
            directory.force(true);
        } catch (AccessDeniedException e) {
            // One may write to it, and not read it; then the system decides when the name is on the disk.
        }
    }

    private void format(RunReader reader, StringBuilder line) {
        try {
            job.format(reader.key(), reader.value(), line);
        } catch (RuntimeException e) {
            throw new MrException("format failed at the key \"%s\": %s".formatted(reader.key(), e), e);
        }
    }

    private void toLmr(Run run, String name) {
        if (run.pieces().isEmpty()) {
            return;
        }
        RunReader reader = new RunReader(lite.memory(), run);
        while (reader.next()) {
            pairCount++;
        }
        LmrSpec spec = LmrSpec.of(run.bytes()).withName(name);
        if (run.bytes() <= MEMORY_BYTES_MAX) {
            publish(run, spec);
        } else {
            copy(run, spec);
        }
    }

    /** The LMR gets its name when it is complete: nobody maps a part, also if this process is killed meanwhile. */
    private void publish(Run run, LmrSpec spec) {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment content = arena.allocate(run.bytes());
            long offset = 0;
            for (Run.Piece piece : run.pieces()) {
                try (LmrHandle source = lite.memory().map(piece.id(), Permission.READ)) {
                    source.read(0, content.asSlice(offset, piece.bytes()));
                }
                offset += piece.bytes();
            }
            unmap(lite.memory().register(spec, content));
        }
    }

    private void copy(Run run, LmrSpec spec) {
        LmrHandle output = lite.memory().malloc(spec);
        try {
            long offset = 0;
            for (Run.Piece piece : run.pieces()) {
                try (LmrHandle source = lite.memory().map(piece.id(), Permission.READ)) {
                    lite.memory().memcpy(source, 0, output, offset, piece.bytes());
                }
                offset += piece.bytes();
            }
        } catch (Throwable e) {
            try {
                output.free();
            } catch (LiteException second) {
                e.addSuppressed(second);
            }
            throw e;
        }
        unmap(output);
    }

    /** Of an output that is complete: the end of the session unmaps it, too. */
    private static void unmap(LmrHandle output) {
        try {
            output.unmap();
        } catch (LiteException e) {
            // The node does not answer, or the session has ended.
        }
    }
}
