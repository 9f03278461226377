package dev.lite.demo;

import dev.lite.mr.job.Combiner;
import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Slice;
import java.util.Map;

/** A job of a user: how many lines have which length. Lines shorter than the parameter {@code least} do not count. */
public final class LineLengths extends Job {
    private int least;

    /** For LITE-MR. */
    public LineLengths() {}

    @Override
    public void setup(Map<String, String> parameters) {
        String text = parameters.getOrDefault("least", "0");
        if (!text.matches("\\d{1,4}")) {
            throw new IllegalArgumentException("least is \"%s\"; it must be a number".formatted(text));
        }
        least = Integer.parseInt(text);
    }

    @Override
    public void map(InputRecord record, Emitter out) {
        if (record.length() >= least) {
            out.emit(Slice.of("%03d".formatted(record.length())), 1);
        }
    }

    @Override
    public Combiner combiner() {
        return Combiner.SUM;
    }
}
