package dev.lite.stress.word;

import dev.lite.api.LmrHandle;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** What writers publish: a cache line of equal numbers. */
final class Data {
    private static final int LONGS = WordNodes.PIECE_BYTES / Long.BYTES;

    private Data() {}

    static void write(LmrHandle data, long offset, long number) {
        long[] numbers = new long[LONGS];
        Arrays.fill(numbers, number);
        data.write(offset, MemorySegment.ofArray(numbers));
    }

    /** The smallest of the numbers: the oldest. */
    static long readOldest(LmrHandle data, long offset) {
        long[] numbers = new long[LONGS];
        data.read(offset, MemorySegment.ofArray(numbers));
        return Arrays.stream(numbers).min().orElseThrow();
    }
}
