package dev.lite.os.waiting;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Decides which log lines are written when others can cause as many as they want. Of each kind, a few are written in each period; the
 * next one that is written has the number of those that were not. Any thread.
 *
 * <p>Memory: {@value #KINDS_MAX} kinds. Further ones share one.
 */
public final class RepeatedLines {
    private static final int KINDS_MAX = 256;
    private static final String OTHERS = "others";

    private final int linesMax;
    private final long periodNs;
    private final Map<String, Kind> kinds = new LinkedHashMap<>(); // guarded by this

    private static final class Kind {
        long sinceNs;
        int written;
        long left;
    }

    /**
     * @param linesMax how many lines of a kind are written in each period, at least 1
     * @param period the length of a period
     */
    public RepeatedLines(int linesMax, Duration period) {
        this.linesMax = linesMax;
        this.periodNs = period.toNanos();
    }

    /**
     * A line of this kind is to be written.
     *
     * @param kind what was repeated; anything that the other side chooses freely must not be a part of it
     * @return null: do not write it. Otherwise what to append: how many lines were not written before, or nothing
     */
    public @Nullable String suffix(String kind) {
        return suffix(kind, System.nanoTime());
    }

    synchronized @Nullable String suffix(String kind, long nowNs) {
        Kind its = kinds.get(kind);
        if (its == null) {
            if (kinds.size() >= KINDS_MAX) {
                kinds.values().removeIf(old -> nowNs - old.sinceNs > periodNs && old.left == 0);
            }
            its = kinds.computeIfAbsent(kinds.size() < KINDS_MAX ? kind : OTHERS, any -> {
                Kind made = new Kind();
                made.sinceNs = nowNs;
                return made;
            });
        }
        if (nowNs - its.sinceNs >= periodNs) {
            its.sinceNs = nowNs;
            its.written = 0;
        }
        if (its.written >= linesMax) {
            its.left++;
            return null;
        }
        its.written++;
        String suffix = its.left == 0
                ? ""
                : " (and %s not written)"
                        .formatted(Counts.text(its.left, "more such line that was", "more such lines that were"));
        its.left = 0;
        return suffix;
    }
}
