package dev.lite.fabric.shm;

import dev.lite.os.RawMemory;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicInteger;

/** Both ends of an empty ring, and the data of the immediates 1 and 2: a word outside the ring and one in the entry. */
final class TestRing {
    /** Added to an immediate that arrived before its data. */
    static final int NO_DATA = 10;

    private static final int ENTRIES = 2;
    // jcstress makes many short-lived states: they share a fixed number of rings, far more than are used at the same
    // time.
    private static final int RINGS = 1 << 15;
    private static final int WORDS = 8;
    private static final int SOURCES = 3;
    private static final int TARGETS = 6;
    private static final long RING_BYTES = RingLayout.bytes(ENTRIES) + WORDS * Long.BYTES;
    private static final long ALL_RINGS =
            Arena.global().allocate(RINGS * RING_BYTES, 128).address();
    private static final AtomicInteger NEXT = new AtomicInteger();

    private final SendRing send;
    private final ReceiveRing receive;
    private final int[] data = new int[3];
    private final long memory;

    TestRing() {
        long ring = ALL_RINGS + (NEXT.getAndIncrement() & (RINGS - 1)) * RING_BYTES;
        RawMemory.fill(ring, RING_BYTES, (byte) 0);
        memory = ring + RingLayout.bytes(ENTRIES);
        send = new SendRing(ring, ENTRIES);
        receive = new ReceiveRing(ring, ENTRIES, memory, WORDS * Long.BYTES);
    }

    void send(int immediate) {
        data[immediate] = 1;
        long position = send.tryTake();
        if (position != SendRing.NONE) {
            long source = memory + SOURCES + (immediate - 1) * (long) Long.BYTES;
            RawMemory.putByte(source, (byte) immediate);
            send.publish(position, immediate, TARGETS * Long.BYTES + immediate, source, 1);
        }
    }

    /** The next immediate, or 0. */
    int take() {
        if (!receive.hasNext()) {
            return 0;
        }
        boolean placed = receive.placeData();
        int immediate = receive.next();
        boolean there = placed && RawMemory.getByte(memory + TARGETS * Long.BYTES + immediate) == immediate;
        return data[immediate] == 1 && there ? immediate : NO_DATA + immediate;
    }
}
