package dev.lite.log;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * A transaction that was read. Owns its entries. Immutable, unless the application changes the bytes.
 *
 * @param position its position
 * @param nextPosition the position behind it
 * @param entries its entries, in the order in which they were appended
 */
public record LogTransaction(long position, long nextPosition, List<MemorySegment> entries) {
    /** Copies the list. */
    public LogTransaction {
        entries = List.copyOf(entries);
    }

    /** A copy of an entry's bytes. */
    public byte[] bytes(int index) {
        return entries.get(index).toArray(ValueLayout.JAVA_BYTE);
    }
}
