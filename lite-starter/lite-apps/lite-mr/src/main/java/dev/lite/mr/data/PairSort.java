package dev.lite.mr.data;

import dev.lite.mr.job.Job;
import dev.lite.mr.job.Slice;

/**
 * Sorts the places of pairs by their keys. Keys in the order of their bytes: a radix sort by their first 8, and a merge sort of those that
 * have these in common. Others: a merge sort. One thread.
 */
final class PairSort {
    private static final int INSERTION = 12;
    /** From this number of pairs on, a radix sort of the prefixes is faster. */
    private static final int RADIX_MIN = 256;

    private static final int DIGITS = 256;

    private final byte[] data;
    private final int head;
    private final Job job;
    private final boolean bytewise;
    private final Slice left = new Slice();
    private final Slice right = new Slice();
    private int[] places = {};
    private long[] prefixes = {};

    /**
     * Creates a sort of pairs.
     *
     * @param head the bytes of a pair before its key; the length of the key is the second int of them
     */
    PairSort(byte[] data, int head, Job job) {
        this.data = data;
        this.head = head;
        this.job = job;
        bytewise = job.isBytewise();
    }

    /** Returns the places in the order of their keys. */
    int[] sort(int[] unsorted) {
        places = unsorted;
        prefixes = new long[unsorted.length];
        int[] order = new int[unsorted.length];
        for (int i = 0; i < order.length; i++) {
            order[i] = i;
            prefixes[i] = bytewise ? Bytes.prefix(data, unsorted[i] + head, length(unsorted[i])) : 0;
        }
        int[] sorted;
        if (bytewise && order.length >= RADIX_MIN) {
            sorted = sortByPrefix(order);
            sortEqualPrefixes(sorted);
        } else {
            sorted = order.clone();
            sort(order, sorted, 0, order.length);
        }
        for (int i = 0; i < sorted.length; i++) {
            sorted[i] = places[sorted[i]];
        }
        return sorted;
    }

    /** A radix sort by the prefixes, from their last byte to their first. It keeps the order of equal ones. */
    private int[] sortByPrefix(int[] unsorted) {
        int count = unsorted.length;
        int[] order = unsorted;
        int[] orderNext = new int[count];
        long[] keys = prefixes.clone();
        long[] keysNext = new long[count];
        for (int shift = 0; shift < Long.SIZE; shift += Byte.SIZE) {
            int[] starts = new int[DIGITS + 1];
            for (long key : keys) {
                starts[digit(key, shift) + 1]++;
            }
            if (starts[digit(keys[0], shift) + 1] == count) {
                continue; // all have this byte
            }
            for (int i = 0; i < DIGITS; i++) {
                starts[i + 1] += starts[i];
            }
            for (int i = 0; i < count; i++) {
                int to = starts[digit(keys[i], shift)]++;
                keysNext[to] = keys[i];
                orderNext[to] = order[i];
            }
            long[] keysFree = keys;
            keys = keysNext;
            keysNext = keysFree;
            int[] orderFree = order;
            order = orderNext;
            orderNext = orderFree;
        }
        return order;
    }

    /** A byte of a prefix; the sign bit is flipped back, so that digits have the order of the signed numbers. */
    private static int digit(long prefix, int shift) {
        return (int) ((prefix ^ Long.MIN_VALUE) >>> shift) & 0xff;
    }

    private void sortEqualPrefixes(int[] sorted) {
        int[] copy = null;
        for (int from = 0; from < sorted.length; ) {
            int to = from + 1;
            while (to < sorted.length && prefixes[sorted[to]] == prefixes[sorted[from]]) {
                to++;
            }
            if (to - from > 1) {
                copy = copy == null ? sorted.clone() : copy;
                sort(copy, sorted, from, to);
            }
            from = to;
        }
    }

    private int length(int place) {
        return (int) Bytes.INT.get(data, place + Integer.BYTES);
    }

    /** Sorts a range into {@code target}; both arrays have the same content there before. */
    private void sort(int[] source, int[] target, int from, int to) {
        if (to - from <= INSERTION) {
            for (int i = from + 1; i < to; i++) {
                int moved = target[i];
                int at = i;
                while (at > from && compare(target[at - 1], moved) > 0) {
                    target[at] = target[at - 1];
                    at--;
                }
                target[at] = moved;
            }
            return;
        }
        int middle = (from + to) >>> 1;
        sort(target, source, from, middle);
        sort(target, source, middle, to);
        int low = from;
        int high = middle;
        for (int i = from; i < to; i++) {
            if (high >= to || (low < middle && compare(source[low], source[high]) <= 0)) {
                target[i] = source[low++];
            } else {
                target[i] = source[high++];
            }
        }
    }

    private int compare(int one, int other) {
        long first = prefixes[one];
        long second = prefixes[other];
        if (first != second) {
            return first < second ? -1 : 1;
        }
        int a = places[one];
        int b = places[other];
        left.set(data, a + head, length(a));
        right.set(data, b + head, length(b));
        return bytewise ? left.compareTo(right) : job.compare(left, right);
    }
}
