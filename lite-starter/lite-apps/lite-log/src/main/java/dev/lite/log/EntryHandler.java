package dev.lite.log;

import java.lang.foreign.MemorySegment;

/** Receives entries from {@link LogReader#poll}, without a copy. */
@FunctionalInterface
public interface EntryHandler {
    /**
     * Called for each entry, in order, on the thread that polls. If it throws, the reader stays before this entry's transaction.
     *
     * @param position the position of the transaction
     * @param memory contains the entry; LITE-Log's, and valid only during the call
     * @param offset where the entry begins in {@code memory}, in bytes
     * @param length the length of the entry, in bytes
     * @param last whether this is the transaction's last entry
     */
    void onEntry(long position, MemorySegment memory, int offset, int length, boolean last);
}
