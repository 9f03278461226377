package dev.lite.mr.jobs;

import dev.lite.mr.job.Combiner;
import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Reduced;
import dev.lite.mr.job.Slice;
import dev.lite.mr.job.Values;

/** Sorts lines by their bytes. Key: the line. Value: empty, once for each line that is equal to it. */
public final class Sort extends Job {
    private static final Slice EMPTY = new Slice();

    /** For LITE-MR. */
    public Sort() {}

    @Override
    public void map(InputRecord record, Emitter out) {
        out.emit(record, 1);
    }

    @Override
    public Combiner combiner() {
        return Combiner.SUM;
    }

    @Override
    public void reduce(Slice key, Values values, Reduced out) {
        while (values.next()) {
            for (long left = values.value().getLong(0); left > 0; left--) {
                out.emit(EMPTY);
            }
        }
    }

    @Override
    public void format(Slice key, Slice value, StringBuilder line) {
        line.append(key.text());
    }
}
