package dev.lite.session.channel;

import dev.lite.os.RawMemory;
import dev.lite.os.wire.Wire;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Receives the frames of a link, and writes their bytes into the windows. One thread at a time, in the memory. */
final class LinkInput {
    private static final String ENDED = "the other end has closed the channel's connection";
    private static final int BUFFER_BYTES = 32 << 10;
    /** Receives at most so many frames at once, so that nobody can keep a thread here. */
    private static final int FRAMES_MAX = 256;

    /** Likewise the records: small ones take time, too. The last receive may decrypt a few more. */
    static final long RECORDS_MAX = 256;

    /** What the frames are for. */
    interface Frames {
        /** Checks a header. Returns how many bytes follow, at most a window, or {@link ChannelLink#NOTHING} if the channel has ended for it. */
        int check(int kind, int slot, int generation, int first, int second);

        /** A whole frame is there, with the bytes in its window. */
        void arrived(int kind, int slot, int generation, int first, int second);
    }

    private final ChannelMemory memory;
    private final Wire wire;
    private final Frames frames;

    /** Freed by the garbage collector, when nobody uses this object. */
    @SuppressWarnings("unused")
    private final MemorySegment buffer;

    private final long base;
    private int from;
    private int to;

    // The frame whose header was taken.
    private int kind;
    private int slot;
    private int generation;
    private int first;
    private int second;
    /** Where the rest of it goes, and how much that is. */
    private long restAt;

    private int restBytes;

    private volatile boolean more;

    LinkInput(ChannelMemory memory, Wire wire, Frames frames) {
        this.memory = memory;
        this.wire = wire;
        this.frames = frames;
        buffer = Arena.ofAuto().allocate(BUFFER_BYTES, Long.BYTES);
        base = buffer.address();
    }

    /** Whether the last {@link #receive} left frames, which the socket may not show. Any thread. */
    boolean hasMore() {
        return more;
    }

    /** Receives what is there; returns whether that was any whole frame. Never blocks. */
    boolean receive() {
        int count = 0;
        boolean filled = false;
        more = false;
        long recordsMax = wire.records() + RECORDS_MAX;
        while (!memory.isEnded()) {
            if (wire.records() >= recordsMax) {
                more = true;
                break;
            }
            if (restBytes > 0 ? receiveRest() : takeHeader()) {
                if (restBytes == 0) {
                    frames.arrived(kind, slot, generation, first, second);
                    count++;
                    if (count == FRAMES_MAX) {
                        more = true;
                        return true;
                    }
                }
                continue;
            }
            if (restBytes > 0 || (filled && wire.isDrained()) || !fill()) { // nothing more is there
                break;
            }
            filled = true;
        }
        return count > 0;
    }

    /** Takes the next header, if it is there whole. */
    private boolean takeHeader() {
        if (to - from < LinkFrame.HEADER_BYTES) {
            return false;
        }
        long header = base + from;
        kind = LinkFrame.kind(header);
        slot = LinkFrame.slot(header);
        generation = LinkFrame.generation(header);
        first = LinkFrame.first(header);
        second = LinkFrame.second(header);
        if (slot >= memory.area.slots()) {
            memory.endFor("the slot of a frame", slot, "less than " + memory.area.slots());
            return false;
        }
        int bytes = frames.check(kind, slot, generation, first, second);
        if (bytes == ChannelLink.NOTHING) {
            return false;
        }
        from += LinkFrame.HEADER_BYTES;
        restAt = memory.window(slot);
        restBytes = bytes;
        return true;
    }

    /** Moves bytes of a frame to its window; returns whether any were there. */
    private boolean receiveRest() {
        int there = Math.min(restBytes, to - from);
        if (there > 0) {
            RawMemory.copy(base + from, restAt, there);
            from += there;
        } else {
            there = receive(restAt, restBytes);
        }
        restAt += there;
        restBytes -= there;
        return there > 0;
    }

    /** Receives more into the buffer; returns whether there was any. */
    private boolean fill() {
        if (from > 0) {
            RawMemory.copy(base + from, base, to - from);
            to -= from;
            from = 0;
        }
        int got = receive(base + to, BUFFER_BYTES - to);
        to += got;
        return got > 0;
    }

    /** Receives bytes; returns how many. */
    private int receive(long address, int bytes) {
        long got = wire.receive(address, bytes);
        if (got == Wire.END) {
            memory.end(ENDED);
            return 0;
        }
        return (int) got;
    }
}
