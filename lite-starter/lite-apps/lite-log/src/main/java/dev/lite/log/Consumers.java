package dev.lite.log;

import dev.lite.api.HeldLock;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LmrHandle;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.LongConsumer;

/**
 * The table of consumers in the metadata: for each, whether the row is in use, the position, and the name. Rows change under the lock
 * {@code NAME.log/table}; the position changes under the consumer's own lock. Any thread.
 */
final class Consumers {
    /** The largest number of consumers. */
    static final int COUNT_MAX = 256;
    /** The longest name, in bytes of UTF-8. */
    static final int NAME_BYTES_MAX = 128;

    static final int BYTES = COUNT_MAX * Row.BYTES;

    private final Metadata metadata;
    private final LogLocks locks;

    /**
     * A consumer.
     *
     * @param offset of the row in the metadata
     */
    private record Row(long offset, boolean used, long position, byte[] name) {
        static final int BYTES = 256;
        static final int USED_AT = 0;
        static final int POSITION_AT = 8;
        static final int NAME_LENGTH_AT = 16;
        static final int NAME_AT = 24;
    }

    Consumers(Metadata metadata, LogLocks locks) {
        this.metadata = metadata;
        this.locks = locks;
    }

    static void checkName(String name) {
        Objects.requireNonNull(name, "name");
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        if (name.isBlank() || name.chars().anyMatch(Character::isISOControl) || bytes > NAME_BYTES_MAX) {
            throw new IllegalArgumentException(
                    "the name of the consumer is blank, has a control character, or has %d bytes of UTF-8; the limit is %d"
                            .formatted(bytes, NAME_BYTES_MAX));
        }
    }

    /**
     * Takes a name, and adds a row if there is none.
     *
     * @param check refuses a bad start
     */
    Consumer open(String name, long start, LongConsumer check) {
        HeldLock held = locks.consumer(name);
        boolean open = false;
        try {
            Row row = locks.underTable(() -> findOrAdd(name, start, check));
            open = true;
            return new Consumer(name, metadata, row.offset + Row.POSITION_AT, row.position, held);
        } finally {
            if (!open) {
                held.close();
            }
        }
    }

    private Row findOrAdd(String name, long start, LongConsumer check) {
        Row row = find(name);
        if (row.used) {
            return row;
        }
        check.accept(start);
        LmrHandle handle = metadata.handle;
        handle.putLong(row.offset + Row.POSITION_AT, start);
        handle.putLong(row.offset + Row.NAME_LENGTH_AT, row.name.length);
        handle.write(row.offset + Row.NAME_AT, row.name);
        handle.putLong(row.offset + Row.USED_AT, 1);
        return new Row(row.offset, true, start, row.name);
    }

    /** Removes a consumer that no process uses. Returns whether there was one. */
    boolean remove(String name) {
        return locks.underConsumer(name, () -> locks.underTable(() -> clear(name)));
    }

    private boolean clear(String name) {
        for (Row row : rows()) {
            if (row.used && Arrays.equals(row.name, name.getBytes(StandardCharsets.UTF_8))) {
                metadata.handle.putLong(row.offset + Row.USED_AT, 0);
                return true;
            }
        }
        return false;
    }

    /** The row of a name, or a free one with that name. */
    private Row find(String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        Row free = null;
        for (Row row : rows()) {
            if (row.used && Arrays.equals(row.name, bytes)) {
                return row;
            }
            if (!row.used && free == null) {
                free = new Row(row.offset, false, 0, bytes);
            }
        }
        if (free == null) {
            throw new LimitExceededException("log \"%s\" has %d consumers, the limit; \"%s\" is one too many"
                    .formatted(metadata.log, COUNT_MAX, name));
        }
        return free;
    }

    private Row[] rows() {
        byte[] table = new byte[BYTES];
        metadata.handle.read(Metadata.CONSUMERS_AT, table);
        MemorySegment memory = MemorySegment.ofArray(table);
        Row[] rows = new Row[COUNT_MAX];
        for (int index = 0; index < COUNT_MAX; index++) {
            int at = index * Row.BYTES;
            int length = Math.clamp(word(memory, at + Row.NAME_LENGTH_AT), 0, NAME_BYTES_MAX);
            rows[index] = new Row(
                    Metadata.CONSUMERS_AT + at,
                    word(memory, at + Row.USED_AT) != 0,
                    word(memory, at + Row.POSITION_AT),
                    Arrays.copyOfRange(table, at + Row.NAME_AT, at + Row.NAME_AT + length));
        }
        return rows;
    }

    private static long word(MemorySegment memory, int at) {
        return memory.get(ValueLayout.JAVA_LONG_UNALIGNED, at);
    }

    /**
     * The oldest position of a consumer; the largest number if there is none. Reads each word by itself: a consumer may commit at the
     * moment, and a read of several words may be torn.
     */
    long oldestPosition() {
        long oldest = Long.MAX_VALUE;
        for (Row row : rows()) {
            if (row.used) {
                oldest = Math.min(oldest, metadata.handle.getLong(row.offset + Row.POSITION_AT));
            }
        }
        return oldest;
    }
}
