package dev.lite.simulate.engine;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;

/** What happened, as a hash over everything and, on request, as lines. */
final class Trace {
    private static final int LINES_MAX = 400_000;
    private static final long STEP = 0x9E37_79B9_7F4A_7C15L;
    private static final long NEXT = 0xD6E8_FEB8_6659_FD93L;

    private final Detail detail;
    private final Queue<String> lines = new ArrayDeque<>();
    private long hash;

    Trace(Detail detail) {
        this.detail = detail;
    }

    void step(long nowNs, Task task) {
        hash = (hash ^ (task.id * STEP + nowNs)) * NEXT;
        if (detail == Detail.STEPS) {
            keep(nowNs, task.toString());
        }
    }

    void note(long nowNs, String what) {
        hash = 31 * hash + what.hashCode();
        keep(nowNs, what);
    }

    /** A line that is no part of the hash, such as a log message. */
    void keep(long nowNs, String what) {
        if (detail != Detail.HASH) {
            if (lines.size() == LINES_MAX) {
                lines.remove();
            }
            lines.add("%,15d  %s".formatted(nowNs, what));
        }
    }

    long hash() {
        return hash;
    }

    List<String> lines() {
        return List.copyOf(lines);
    }
}
