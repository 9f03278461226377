package dev.lite.mr.jobs;

import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Slice;

/** The place of a record as a key: the number of its input and its position there, big-endian, so that keys have the order of places. */
public final class Places {
    private static final int BYTES = Integer.BYTES + Long.BYTES;

    private Places() {}

    static Slice empty() {
        return Slice.of(new byte[BYTES]);
    }

    static void set(Slice place, InputRecord record) {
        place.putInt(0, Integer.reverseBytes(record.input()));
        place.putLong(Integer.BYTES, Long.reverseBytes(record.position()));
    }

    /** The number of the input. */
    public static int input(Slice place) {
        return Integer.reverseBytes(place.getInt(0));
    }

    /** The position in the input, in bytes. */
    public static long position(Slice place) {
        return Long.reverseBytes(place.getLong(Integer.BYTES));
    }
}
