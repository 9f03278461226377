package dev.lite.session.channel;

import dev.lite.os.RawMemory;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicInteger;

/** Words for a {@link RequestBell}, on cache lines of their own. States are many and short: they use the same few in turn. */
final class BellMemory {
    private static final int BYTES = 256;
    private static final int DOORBELL_AT = 128;
    private static final int COUNT = 1 << 15;
    private static final long ALL =
            Arena.global().allocate((long) COUNT * BYTES, DOORBELL_AT).address();
    private static final AtomicInteger NEXT = new AtomicInteger();

    private BellMemory() {}

    /** A bell whose words are 0. */
    static RequestBell bell() {
        long at = ALL + (long) (NEXT.getAndIncrement() & (COUNT - 1)) * BYTES;
        RawMemory.fill(at, BYTES, (byte) 0);
        return new RequestBell(at, at + DOORBELL_AT);
    }
}
