package dev.lite.tier.memory;

import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Free clean memory as maximal runs, allocated by best fit. Offsets and lengths are bytes. Not thread-safe. */
final class FreeRuns {
    /** A run of bytes. */
    record Run(long offset, long length) {}

    private static final Comparator<Run> BY_LENGTH =
            Comparator.comparingLong(Run::length).thenComparingLong(Run::offset);

    private final TreeMap<Long, Run> byOffset = new TreeMap<>();
    private final TreeSet<Run> byLength = new TreeSet<>(BY_LENGTH);
    private long total;

    /** The sum of all runs. */
    long total() {
        return total;
    }

    /** The longest run; 0 if there is none. */
    long longest() {
        return byLength.isEmpty() ? 0 : byLength.last().length();
    }

    /** Adds a run and merges it with its neighbours. It must not overlap another free run. */
    void add(long offset, long length) {
        if (length == 0) {
            return;
        }
        total += length;
        long start = offset;
        long end = offset + length;
        Map.Entry<Long, Run> below = byOffset.floorEntry(offset);
        if (below != null && end(below.getValue()) == offset) {
            start = below.getKey();
            remove(below.getValue());
        }
        Run above = byOffset.get(end);
        if (above != null) {
            end += above.length();
            remove(above);
        }
        Run joined = new Run(start, end - start);
        byOffset.put(start, joined);
        byLength.add(joined);
    }

    /**
     * Takes {@code units × unit} bytes in one run, from the shortest free run that holds them. If none does, takes as
     * many units as the longest run holds.
     *
     * @param alignment of the run's offset, a power of two
     * @return the run taken, or null if no run holds even one unit
     */
    @Nullable
    Run take(long unit, long units, long alignment) {
        Run candidate = shortestFor(unit * units, alignment);
        if (candidate == null) {
            candidate = longestFor(unit, alignment);
        }
        if (candidate == null) {
            return null;
        }
        long padding = padding(candidate, alignment);
        long taken = Math.min(units, (candidate.length() - padding) / unit) * unit;
        remove(candidate);
        total -= candidate.length();
        long offset = candidate.offset() + padding;
        add(candidate.offset(), padding);
        add(offset + taken, end(candidate) - offset - taken);
        return new Run(offset, taken);
    }

    private @Nullable Run shortestFor(long bytes, long alignment) {
        // Every run that is longer by one alignment fits, so few checks miss.
        for (Run run : byLength.tailSet(new Run(0, bytes))) {
            if (run.length() - padding(run, alignment) >= bytes) {
                return run;
            }
        }
        return null;
    }

    private @Nullable Run longestFor(long bytes, long alignment) {
        for (Run run : byLength.descendingSet()) {
            if (run.length() - padding(run, alignment) >= bytes) {
                return run;
            }
            if (run.length() < bytes) {
                return null;
            }
        }
        return null;
    }

    private void remove(Run run) {
        byOffset.remove(run.offset());
        byLength.remove(run);
    }

    private static long padding(Run run, long alignment) {
        return -run.offset() & (alignment - 1);
    }

    private static long end(Run run) {
        return run.offset() + run.length();
    }
}
