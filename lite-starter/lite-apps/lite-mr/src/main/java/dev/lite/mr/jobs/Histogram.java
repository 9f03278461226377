package dev.lite.mr.jobs;

import dev.lite.mr.job.Combiner;
import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Slice;

/**
 * How often each value of each color occurs in a bitmap; records are pixels of 3 bytes. Key: color (0 to 2) and value, a byte each. Value:
 * the number of pixels.
 */
public final class Histogram extends Job {
    private final byte[] key = new byte[2];

    /** For LITE-MR. */
    public Histogram() {}

    @Override
    public void map(InputRecord record, Emitter out) {
        for (int color = 0; color < record.length(); color++) {
            key[0] = (byte) color;
            key[1] = record.byteAt(color);
            out.emit(key, 0, 2, 1);
        }
    }

    @Override
    public Combiner combiner() {
        return Combiner.SUM;
    }

    @Override
    public void format(Slice key, Slice value, StringBuilder line) {
        line.append(key.byteAt(0))
                .append('\t')
                .append(key.byteAt(1) & 0xff)
                .append('\t')
                .append(value.getLong(0));
    }
}
