package dev.lite.tier.rpc;

import dev.lite.api.LimitExceededException;
import java.lang.foreign.Arena;
import java.util.concurrent.atomic.AtomicInteger;

/** Slots and words without an arena: all states of a test write to the same memory and never read it. */
final class TestSlots {
    /** Enough for a batch of slots. */
    static final long ADDRESS = Arena.global().allocate(1 << 20, 64).address();

    private TestSlots() {}

    /** Slots of 64 KiB, so many and no more. */
    static RpcSlots large(int number) {
        AtomicInteger left = new AtomicInteger(number);
        return new RpcSlots(
                ADDRESS,
                bytes -> {
                    if (left.getAndDecrement() <= 0) {
                        throw new LimitExceededException("the arena is full");
                    }
                    return 0;
                },
                0,
                0,
                16);
    }

    /** Slots of 1 KiB. */
    static RpcSlots small() {
        return new RpcSlots(ADDRESS, bytes -> 0, 256, 0, 0);
    }
}
