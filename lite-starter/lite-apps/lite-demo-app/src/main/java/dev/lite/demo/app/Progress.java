package dev.lite.demo.app;

import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** Prints the progress and speed of a long step to standard output, at most twice a second. */
final class Progress {

    private static final String PREFIX = "[demo] ";
    private static final long INTERVAL_NS = TimeUnit.MILLISECONDS.toNanos(500);

    private static final long RATED_BYTES_MIN = 16 << 20;

    private final String step;
    private final long bytesTotal;
    private final long startNs = System.nanoTime();
    private long lastNs = startNs;
    private long bytesAdded;

    Progress(String step, long bytesTotal) {
        this.step = step;
        this.bytesTotal = bytesTotal;
    }

    /** Like {@link #at}, relative to the last position in bytes. */
    void add(long bytes) {
        bytesAdded += bytes;
        at(bytesAdded);
    }

    /** Prints a line unless the previous one is too recent. */
    void at(long bytes) {
        long nowNs = System.nanoTime();
        if (nowNs - lastNs >= INTERVAL_NS && bytes < bytesTotal) {
            lastNs = nowNs;
            print("%-34s %3d %%  %s".formatted(step, bytes * 100 / bytesTotal, rate(bytes, nowNs - startNs)));
        }
    }

    /** Prints the last line. */
    void done() {
        print("%-34s 100 %%  %s".formatted(step, rate(bytesTotal, System.nanoTime() - startNs)));
    }

    /** Prints a line that the demo's launcher relays. */
    static void print(String line) {
        System.out.println(PREFIX + line.stripTrailing());
    }

    /** Empty for amounts too small for a meaningful speed. */
    private static String rate(long bytes, long timeNs) {
        if (bytes < RATED_BYTES_MIN) {
            return "";
        }
        double megabytesPerSecond = bytes / 1e6 / (Math.max(1, timeNs) / 1e9);
        return String.format(Locale.ROOT, "%,.0f MB/s", megabytesPerSecond);
    }
}
