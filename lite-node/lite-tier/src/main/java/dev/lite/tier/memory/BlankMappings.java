package dev.lite.tier.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import org.jspecify.annotations.Nullable;

/**
 * Makes unused handles, one block at a time. Objects that are allocated together lie together in the heap, and stay
 * together when the collector moves them. Handles that are allocated one by one lie among the objects of their {@link MappedLmr}s,
 * each on its own page and cache line. Then an operation on one of 100,000 LMRs takes twice as long. Any thread.
 */
public final class BlankMappings {
    private static final int BLOCK = 512;

    @GuardedBy("this")
    private @Nullable Mapping[] block = new @Nullable Mapping[0];

    @GuardedBy("this")
    private int next;

    synchronized Mapping take() {
        if (next == block.length) {
            block = new @Nullable Mapping[BLOCK];
            for (int index = 0; index < BLOCK; index++) {
                block[index] = new Mapping();
            }
            next = 0;
        }
        Mapping mapping = block[next];
        block[next++] = null; // the block must not keep the handle alive
        if (mapping == null) {
            throw new AssertionError("a handle was taken twice");
        }
        return mapping;
    }
}
