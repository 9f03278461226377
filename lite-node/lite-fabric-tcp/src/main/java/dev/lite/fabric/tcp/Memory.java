package dev.lite.fabric.tcp;

/**
 * This node's registered memory.
 *
 * @param address address of the first byte
 * @param bytes size in bytes
 */
record Memory(long address, long bytes) {

    /** Whether a range lies in this memory; safe against overflow. */
    boolean has(long offset, long length) {
        return (offset | length) >= 0 && offset <= bytes - length;
    }

    /** Whether the offset is that of an aligned 64-bit word in this memory. */
    boolean hasWord(long offset) {
        return has(offset, Long.BYTES) && (offset & (Long.BYTES - 1)) == 0;
    }
}
