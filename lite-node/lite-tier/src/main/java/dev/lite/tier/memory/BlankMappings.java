package dev.lite.tier.memory;

import org.jspecify.annotations.Nullable;

/**
 * Handles that nobody has yet, made a block at a time: what is allocated together lies together in the heap, and stays so
 * when the collector moves it. Made one by one, each would lie among the many objects of its {@link MappedLmr}, on a page
 * and a cache line of its own; then an operation on one LMR of 100,000 takes twice as long. Any thread.
 */
final class BlankMappings {
    private static final int BLOCK = 512;

    // Guarded by the class.
    private static @Nullable Mapping[] block = new @Nullable Mapping[0];
    private static int next;

    private BlankMappings() {}

    static synchronized Mapping take() {
        if (next == block.length) {
            block = new @Nullable Mapping[BLOCK];
            for (int index = 0; index < BLOCK; index++) {
                block[index] = new Mapping();
            }
            next = 0;
        }
        Mapping mapping = block[next];
        block[next++] = null; // the block must not keep it alive
        if (mapping == null) {
            throw new AssertionError("a handle was taken twice");
        }
        return mapping;
    }
}
