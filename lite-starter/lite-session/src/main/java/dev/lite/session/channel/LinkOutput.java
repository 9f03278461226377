package dev.lite.session.channel;

import dev.lite.os.RawMemory;
import dev.lite.os.wire.Wire;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The frames that a link is sending. The windows in them are not copied; they stay as they are until they were sent. One thread at a
 * time, in the memory.
 */
final class LinkOutput {
    private static final int RANGE_BYTES = 16;
    /** For each slot a header and a window, and a header to cancel. */
    private static final int RANGES_PER_SLOT = 3;

    private final ChannelMemory memory;
    private final int slots;
    private final Wire wire;

    /** Freed by the garbage collector, when nobody uses this object. */
    @SuppressWarnings("unused")
    private final MemorySegment buffer;

    private final long headers;
    private final long ranges;
    private int from;
    private int to;

    LinkOutput(ChannelMemory memory, Wire wire) {
        this.memory = memory;
        this.wire = wire;
        slots = memory.area.slots();
        long headersBytes = 2L * slots * LinkFrame.HEADER_BYTES;
        buffer = Arena.ofAuto().allocate(headersBytes + (long) RANGES_PER_SLOT * slots * RANGE_BYTES, Long.BYTES);
        headers = buffer.address();
        ranges = headers + headersBytes;
    }

    /** Everything was sent; begins anew. */
    void clear() {
        from = 0;
        to = 0;
    }

    /** Where the header of a slot's frame goes. */
    long header(int slot) {
        return headers + (long) slot * LinkFrame.HEADER_BYTES;
    }

    /** Adds the header of a slot and the first bytes of its window. */
    void add(int slot, int bytes) {
        addRange(header(slot), LinkFrame.HEADER_BYTES);
        if (bytes > 0) {
            addRange(memory.window(slot), bytes);
        }
    }

    /** Adds a frame that cancels a request. */
    void addCancel(int slot, int generation) {
        long header = header(slots + slot);
        LinkFrame.put(header, LinkFrame.CANCEL, slot, generation, 0, 0);
        addRange(header, LinkFrame.HEADER_BYTES);
    }

    private void addRange(long address, long bytes) {
        long range = range(to++);
        RawMemory.putLong(range, address);
        RawMemory.putLong(range + Long.BYTES, bytes);
    }

    private long range(int index) {
        return ranges + (long) index * RANGE_BYTES;
    }

    /** Sends; returns whether all was sent. */
    boolean flush() {
        while (from < to) {
            long taken = wire.sendVector(range(from), to - from);
            if (taken == 0) {
                return false;
            }
            skip(taken);
        }
        return true;
    }

    private void skip(long taken) {
        long left = taken;
        while (left > 0) {
            long range = range(from);
            long bytes = RawMemory.getLong(range + Long.BYTES);
            if (bytes > left) {
                RawMemory.putLong(range, RawMemory.getLong(range) + left);
                RawMemory.putLong(range + Long.BYTES, bytes - left);
                return;
            }
            left -= bytes;
            from++;
        }
    }
}
