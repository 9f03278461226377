package dev.lite.bench;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Words as bytes with their counts, in a hash table with open addressing. One thread. */
final class WordTable implements PlainWordCount.Counter {
    private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN)
            .withInvokeExactBehavior();
    private static final long FACTOR = 0x9E37_79B9_7F4A_7C15L;

    /** Words without a separator; the n-th starts at {@code starts[n]}. */
    private byte[] bytes = new byte[1 << 20];

    private int[] starts = new int[1 << 16];
    private long[] counts = new long[1 << 16];
    private int size;
    /** The hash in the upper half, the number of the word + 1 in the lower. */
    private long[] slots = new long[1 << 17];

    @Override
    public void add(byte[] array, int offset, int length) {
        add(array, offset, length, 1);
    }

    void addAll(WordTable other) {
        for (int i = 0; i < other.size; i++) {
            add(other.bytes, other.starts[i], other.starts[i + 1] - other.starts[i], other.counts[i]);
        }
    }

    private void add(byte[] array, int offset, int length, long count) {
        int hash = hash(array, offset, length);
        int mask = slots.length - 1;
        int slot = hash & mask;
        for (long found = slots[slot]; found != 0; found = slots[slot]) {
            if ((int) (found >>> 32) == hash) {
                int word = (int) found - 1;
                if (Arrays.equals(bytes, starts[word], starts[word + 1], array, offset, offset + length)) {
                    counts[word] += count;
                    return;
                }
            }
            slot = (slot + 1) & mask;
        }
        insert(slot, hash, array, offset, length, count);
    }

    private void insert(int slot, int hash, byte[] array, int offset, int length, long count) {
        int start = starts[size];
        if (start + length > bytes.length) {
            bytes = Arrays.copyOf(bytes, bytes.length * 2);
        }
        System.arraycopy(array, offset, bytes, start, length);
        counts[size] = count;
        slots[slot] = ((long) hash << 32) | ++size;
        if (size + 1 == starts.length) {
            starts = Arrays.copyOf(starts, starts.length * 2);
            counts = Arrays.copyOf(counts, counts.length * 2);
            long[] former = slots;
            slots = new long[former.length * 2];
            for (long entry : former) {
                int place = (int) (entry >>> 32) & (slots.length - 1);
                while (entry != 0 && slots[place] != 0) {
                    place = (place + 1) & (slots.length - 1);
                }
                slots[place] = entry == 0 ? slots[place] : entry;
            }
        }
        starts[size] = start + length;
    }

    private static int hash(byte[] array, int offset, int length) {
        long hash = length * FACTOR;
        int at = offset;
        int end = offset + length;
        for (; at <= end - Long.BYTES; at += Long.BYTES) {
            hash = mix(hash ^ (long) LONG.get(array, at));
        }
        long rest = 0;
        for (; at < end; at++) {
            rest = (rest << Byte.SIZE) | (array[at] & 0xff);
        }
        return (int) ((mix(hash ^ rest) * FACTOR) >>> 32);
    }

    private static long mix(long word) {
        long product = word * FACTOR;
        return product ^ (product >>> 29);
    }

    /** Sorts the words, as the job does, and returns the number of words and of different ones. */
    long[] totals() {
        Integer[] order = new Integer[size];
        Arrays.setAll(order, i -> i);
        Arrays.sort(
                order,
                (a, b) -> Arrays.compareUnsigned(bytes, starts[a], starts[a + 1], bytes, starts[b], starts[b + 1]));
        long words = 0;
        for (int word : order) {
            words += counts[word];
        }
        return new long[] {words, size};
    }
}
