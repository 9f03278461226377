package dev.lite.fabric.tcp;

import dev.lite.os.RawMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Keeps what is sent, counts the writes, and returns its input once. */
class CountingWire extends QuietWire {
    private static final int SENT_MAX = 1 << 20;
    private static final int NUMBER = 12;

    private final long sent;
    long sentBytes;

    /** Whether the input was returned. */
    boolean read;

    boolean reset;

    /** Thrown by each attempt to send. */
    @Nullable
    RuntimeException failure;

    MemorySegment input = MemorySegment.NULL;
    int writes;

    CountingWire(Arena arena) {
        this(arena, SENT_MAX);
    }

    /** @param sentMax maximum number of bytes that it keeps */
    CountingWire(Arena arena, long sentMax) {
        sent = arena.allocate(sentMax, 8).address();
    }

    /** What was sent. */
    MemorySegment sent() {
        return RawMemory.all().asSlice(sent, sentBytes);
    }

    /** The immediates, or the numbers of the answered operations, of the frames that were sent. */
    List<Integer> numbers() {
        List<Integer> numbers = new ArrayList<>();
        for (long at = sent; at < sent + sentBytes; ) {
            int payload = Frame.payload(Frame.kind(at), Frame.length(at));
            numbers.add(RawMemory.getInt(at + NUMBER));
            at += Frame.HEADER_BYTES + payload + Frame.padding(payload);
        }
        return numbers;
    }

    private void take(long address, long length) {
        if (failure != null) {
            throw failure;
        }
        RawMemory.copy(address, sent + sentBytes, length);
        sentBytes += length;
    }

    @Override
    public long send(long address, long length) {
        writes++;
        take(address, length);
        return length;
    }

    @Override
    public long sendVector(long iovec, int count) {
        writes++;
        long before = sentBytes;
        for (int i = 0; i < count; i++) {
            long range = iovec + 16L * i;
            take(RawMemory.getLong(range), RawMemory.getLong(range + 8));
        }
        return sentBytes - before;
    }

    @Override
    public long receive(long address, long length) {
        if (read) {
            return 0;
        }
        read = true;
        RawMemory.copyFrom(input, 0, address, input.byteSize());
        return input.byteSize();
    }

    @Override
    public boolean isReset() {
        return reset;
    }
}
