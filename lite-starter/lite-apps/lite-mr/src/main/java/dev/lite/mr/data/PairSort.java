package dev.lite.mr.data;

import dev.lite.mr.job.Job;
import dev.lite.mr.job.Slice;

/** Sorts the places of pairs by their keys: a merge sort, which compares the first 8 bytes of keys as numbers. One thread. */
final class PairSort {
    private static final int INSERTION = 12;

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
            prefixes[i] = bytewise ? prefix(unsorted[i]) : 0;
        }
        int[] sorted = order.clone();
        sort(order, sorted, 0, order.length);
        for (int i = 0; i < sorted.length; i++) {
            sorted[i] = places[sorted[i]];
        }
        return sorted;
    }

    /** The first 8 bytes as a number, so that signed comparison has the order of unsigned bytes. */
    private long prefix(int place) {
        int length = length(place);
        long word = 0;
        if (length >= Long.BYTES) {
            word = Long.reverseBytes((long) Hash.LONG.get(data, place + head));
        } else {
            for (int i = 0; i < Long.BYTES; i++) {
                word = (word << Byte.SIZE) | (i < length ? data[place + head + i] & 0xff : 0);
            }
        }
        return word ^ Long.MIN_VALUE;
    }

    private int length(int place) {
        return (int) Hash.INT.get(data, place + Integer.BYTES);
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
