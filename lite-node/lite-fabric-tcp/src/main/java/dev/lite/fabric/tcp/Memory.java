package dev.lite.fabric.tcp;

/**
 * A registered memory.
 *
 * @param address its first byte
 * @param bytes its size
 */
record Memory(long address, long bytes) {

    /** Whether a range lies in it, safe against overflow. */
    boolean has(long offset, long length) {
        return (offset | length) >= 0 && offset <= bytes - length;
    }

    /** Whether an aligned 64-bit word lies in it. */
    boolean hasWord(long offset) {
        return has(offset, Long.BYTES) && (offset & (Long.BYTES - 1)) == 0;
    }
}
