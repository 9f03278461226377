package dev.lite.bench.log;

import dev.lite.log.LiteLog;
import dev.lite.log.LogPositionException;
import dev.lite.log.LogReader;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * What one thread of a process repeats.
 *
 * @param kind the operation
 * @param bytes the size of an entry
 * @param threads the number of threads in each process
 */
record LogLoad(Kind kind, int bytes, int threads) {
    private static final int BATCH = 1024;
    private static final int CHECK_EVERY = 64;
    private static final int READABLE = 300_000;

    /** The operations. */
    enum Kind {
        /** A transaction of one entry; the next one when it is committed. */
        APPEND,
        /** {@value #BATCH} transactions of one entry by appendAsync; the next ones when all are committed. */
        BATCH,
        /** A transaction of 64 entries. */
        APPEND_64,
        /** Entries that are read. */
        READ,
        /** One fetch-add and one copy of the entry in bare shared memory. */
        RAW
    }

    static LogLoad parse(String kind, String bytes, String threads) {
        return new LogLoad(Kind.valueOf(kind), Integer.parseInt(bytes), Integer.parseInt(threads));
    }

    String toLine() {
        return "%s %d %d".formatted(kind, bytes, threads);
    }

    /** Before the time is measured: so that there is something to read. */
    void prepare(LiteLog log) {
        if (kind == Kind.READ && log.endPosition() == log.firstPosition()) {
            List<MemorySegment> transaction = List.of(Arena.ofAuto().allocate(bytes, Long.BYTES));
            CompletableFuture<Long> last = log.appendAsync(transaction);
            for (int i = 1; i < READABLE; i++) {
                last = log.appendAsync(transaction);
            }
            last.join();
        }
    }

    /** How many transactions were committed, or entries read, until then. */
    long run(LiteLog log, SharedMemory raw, long endNs) {
        MemorySegment entry = Arena.ofAuto().allocate(bytes, Long.BYTES);
        return switch (kind) {
            case APPEND -> append(log, entry, endNs);
            case BATCH -> batch(log, entry, endNs);
            case APPEND_64 -> append64(log, entry, endNs);
            case READ -> read(log, endNs);
            case RAW -> raw(raw, entry, endNs);
        };
    }

    private static long append(LiteLog log, MemorySegment entry, long endNs) {
        long count = 0;
        while (System.nanoTime() < endNs) {
            for (int i = 0; i < CHECK_EVERY; i++) {
                log.append(entry);
            }
            count += CHECK_EVERY;
        }
        return count;
    }

    private static long append64(LiteLog log, MemorySegment entry, long endNs) {
        List<MemorySegment> entries = Collections.nCopies(64, entry);
        long count = 0;
        while (System.nanoTime() < endNs) {
            log.append(entries);
            count++;
        }
        return count;
    }

    private static long batch(LiteLog log, MemorySegment entry, long endNs) {
        List<MemorySegment> transaction = List.of(entry);
        long count = 0;
        while (System.nanoTime() < endNs) {
            CompletableFuture<Long> last = log.appendAsync(transaction);
            for (int i = 1; i < BATCH; i++) {
                last = log.appendAsync(transaction);
            }
            last.join(); // batches are committed in order
            count += BATCH;
        }
        return count;
    }

    /** Begins again at the oldest entry when it has reached the end. */
    private static long read(LiteLog log, long endNs) {
        long[] entries = {0};
        try (LogReader reader = log.reader(log.firstPosition())) {
            while (System.nanoTime() < endNs) {
                try {
                    if (reader.poll((position, memory, offset, length, last) -> entries[0]++, 4096) == 0) {
                        reader.seek(log.firstPosition());
                    }
                } catch (LogPositionException e) { // the cleaner was faster
                    reader.seek(log.firstPosition());
                }
            }
        }
        return entries[0];
    }

    private long raw(SharedMemory memory, MemorySegment entry, long endNs) {
        long word = memory.address();
        long mask = memory.size() / 2 - 1;
        long data = word + memory.size() / 2 - bytes;
        long step = (bytes + 7L) & -8;
        long count = 0;
        while (System.nanoTime() < endNs) {
            for (int i = 0; i < CHECK_EVERY; i++) {
                long at = RawMemory.getAndAddLong(word, step) & mask;
                RawMemory.copyFrom(entry, 0, data + at, bytes);
            }
            count += CHECK_EVERY;
        }
        return count;
    }
}
