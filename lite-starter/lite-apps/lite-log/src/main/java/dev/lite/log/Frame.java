package dev.lite.log;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * The entries that share a slot, as they are stored: for each entry a word, its bytes, and padding to 8 bytes. The word has the length in
 * bits 0 to 29, bit 31 for the last entry of a transaction, and the checksum in the upper half. The memory grows up to the largest
 * transaction and is reused. One thread at a time.
 */
final class Frame {
    /** The bytes that precede each entry. */
    static final int ENTRY_HEAD_BYTES = 8;

    static final int LENGTH_MASK = (1 << 30) - 1;
    private static final int LAST_OF_TRANSACTION = 1 << 31;
    private static final int BYTES_INITIAL = 4096;
    private static final int CHECK_MASK = 63;

    private final CRC32C crc = new CRC32C();
    private ByteBuffer buffer = ByteBuffer.allocateDirect(BYTES_INITIAL);
    private MemorySegment memory = segmentOf(buffer);
    private MemorySegment used = memory;
    private int length;
    private int transactions;
    private int lastEntry = -1;
    private int commits;
    private boolean delayed;
    private long delayedSinceNs;

    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.nativeOrder());

    private static MemorySegment segmentOf(ByteBuffer buffer) {
        return MemorySegment.ofBuffer(buffer);
    }

    void clear() {
        length = 0;
        transactions = 0;
        lastEntry = -1;
    }

    /** The bytes that an entry takes. */
    static long entryBytes(long bytes) {
        return ENTRY_HEAD_BYTES + Segment.units(bytes) * Segment.UNIT_BYTES;
    }

    int length() {
        return length;
    }

    /** The number of complete transactions. */
    int transactions() {
        return transactions;
    }

    int capacity() {
        return buffer.capacity();
    }

    /** What was added. The same object while the length stays, so that small appends allocate nothing. */
    MemorySegment memory() {
        if (used.byteSize() != length) {
            used = memory.asSlice(0, length);
        }
        return used;
    }

    /** Removes what was added after the frame had this length. */
    void truncate(int newLength) {
        length = newLength;
    }

    /** Adds an entry. The caller has checked the limit of a transaction. */
    void add(MemorySegment entry) {
        long bytes = entry.byteSize();
        begin(bytes);
        MemorySegment.copy(entry, 0, memory, length + ENTRY_HEAD_BYTES, bytes);
        end((int) bytes);
    }

    /** {@link #add(MemorySegment)}. */
    void add(byte[] entry) {
        begin(entry.length);
        MemorySegment.copy(entry, 0, memory, ValueLayout.JAVA_BYTE, length + ENTRY_HEAD_BYTES, entry.length);
        end(entry.length);
    }

    private void begin(long bytes) {
        long needed = length + entryBytes(bytes);
        if (needed > buffer.capacity()) {
            ByteBuffer larger = ByteBuffer.allocateDirect(Math.toIntExact(Math.max(needed, 2L * buffer.capacity())));
            MemorySegment copy = segmentOf(larger);
            MemorySegment.copy(memory, 0, copy, 0, length);
            buffer = larger;
            memory = copy;
            used = memory;
        }
    }

    private void end(int bytes) {
        int start = length + ENTRY_HEAD_BYTES;
        int end = length + (int) entryBytes(bytes);
        if (end > start + bytes) {
            long padding = memory.get(WORD, end - Long.BYTES) & ~(-1L << (8 * (bytes & 7)));
            memory.set(WORD, end - Long.BYTES, padding);
        }
        memory.set(WORD, length, (long) checksum(crc, buffer, start, bytes) << 32 | bytes);
        lastEntry = length;
        length = end;
    }

    /** True at first, and then for every 64th commit: without a counter that threads share. */
    boolean isCheckDue() {
        return (commits++ & CHECK_MASK) == 0;
    }

    /** A commit begins, which nothing has delayed yet. */
    void beginCommit() {
        delayed = false;
    }

    /** Since when something delays the commit: the time of the first call. Others need no time. */
    long delayedSinceNs() {
        return delayedSinceNs(0);
    }

    /** {@link #delayedSinceNs()} if a first step has waited so long already. */
    long delayedSinceNs(long waitedNs) {
        if (!delayed) {
            delayed = true;
            delayedSinceNs = System.nanoTime() - waitedNs;
        }
        return delayedSinceNs;
    }

    /** Marks the last entry as the end of a transaction. */
    void endTransaction() {
        memory.set(WORD, lastEntry, memory.get(WORD, lastEntry) | Integer.toUnsignedLong(LAST_OF_TRANSACTION));
        transactions++;
    }

    /** Mixes the place into the checksums. A second call for the same place undoes the first one. */
    void place(long segment, long at) {
        long mix = (long) mixOf(segment, at) << 32;
        for (int entry = 0; entry < length; ) {
            long word = memory.get(WORD, entry);
            int flags = (int) word;
            memory.set(WORD, entry, word ^ mix ^ ((long) mixOf(flags) << 32));
            entry += (int) entryBytes(flags & LENGTH_MASK);
        }
    }

    static int entryLength(long word) {
        return (int) word & LENGTH_MASK;
    }

    static boolean isLastOfTransaction(long word) {
        return (int) word < 0;
    }

    /** The checksum that the word of an entry must have. */
    static int expected(int checksum, long word, long segment, long at) {
        return checksum ^ mixOf(segment, at) ^ mixOf((int) word);
    }

    static int checksum(CRC32C crc, ByteBuffer buffer, int start, int bytes) {
        crc.reset();
        buffer.limit(start + bytes).position(start);
        crc.update(buffer);
        buffer.clear();
        return (int) crc.getValue();
    }

    private static int mixOf(long segment, long at) {
        long mixed = (segment * 0x9E3779B97F4A7C15L + at) * 0xD1B54A32D192ED03L;
        return (int) (mixed >>> 32);
    }

    private static int mixOf(int flags) {
        return flags * 0x85EBCA6B ^ 0x5BD1E995;
    }
}
