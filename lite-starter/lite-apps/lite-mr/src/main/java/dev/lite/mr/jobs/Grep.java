package dev.lite.mr.jobs;

import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Slice;
import java.util.Map;
import java.util.regex.Pattern;

/** Finds lines with a part that matches the parameter {@code pattern}. Key: {@link Places}. Value: the line. */
public final class Grep extends Job {
    private Pattern pattern = Pattern.compile("");
    private final Slice place = Places.empty();

    /** For LITE-MR. */
    public Grep() {}

    @Override
    public void setup(Map<String, String> parameters) {
        pattern = Pattern.compile(Parameters.required(parameters, "pattern"));
    }

    @Override
    public void map(InputRecord record, Emitter out) {
        if (pattern.matcher(record.text()).find()) {
            Places.set(place, record);
            out.emit(place, record);
        }
    }

    @Override
    public void format(Slice key, Slice value, StringBuilder line) {
        line.append(Places.input(key))
                .append(':')
                .append(Places.position(key))
                .append(':')
                .append(value.text());
    }
}
