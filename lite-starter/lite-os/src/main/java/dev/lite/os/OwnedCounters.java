package dev.lite.os;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Counters that cost the counting thread a load and a store, no atomic instruction. They form rows; each row has one owner
 * at a time, for example the thread that holds the slot with its number. Only the owner adds to a row; any thread reads.
 *
 * <p>Bound: a row takes {@code 8 * counters} bytes from its first use on.
 */
public final class OwnedCounters {
    private static final VarHandle CELL = MethodHandles.arrayElementVarHandle(long[].class);
    private static final VarHandle ROW = MethodHandles.arrayElementVarHandle(long[][].class);
    /** Keeps rows in cache lines of their own. */
    private static final int PADDING = 16;

    private final int counters;
    private final long[] @Nullable [] rows;

    /** Makes {@code rows * counters} counters, all 0. */
    public OwnedCounters(int rows, int counters) {
        this.counters = counters;
        this.rows = new long[rows][];
    }

    /**
     * Adds to a counter; the calling thread owns the row.
     *
     * @return the new value
     */
    public long add(int row, int counter, long delta) {
        long[] cells = rows[row];
        if (cells == null) {
            cells = new long[counters + PADDING];
            ROW.setRelease(rows, row, cells);
        }
        long sum = cells[counter] + delta;
        CELL.setOpaque(cells, counter, sum);
        return sum;
    }

    /** The sum of a counter over all rows, at some time during the call. */
    public long sum(int counter) {
        long sum = 0;
        for (int row = 0; row < rows.length; row++) {
            long[] cells = (long[]) ROW.getAcquire(rows, row);
            if (cells != null) {
                sum += (long) CELL.getOpaque(cells, counter);
            }
        }
        return sum;
    }
}
