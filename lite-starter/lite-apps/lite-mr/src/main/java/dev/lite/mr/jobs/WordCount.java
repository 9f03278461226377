package dev.lite.mr.jobs;

import dev.lite.mr.job.Combiner;
import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;

/** Counts words: runs of bytes above the space. Key: the word. Value: how often it occurs. */
public final class WordCount extends Job {
    /** For LITE-MR. */
    public WordCount() {}

    @Override
    public void map(InputRecord record, Emitter out) {
        byte[] array = record.array();
        int end = record.offset() + record.length();
        int at = record.offset();
        while (at < end) {
            while (at < end && (array[at] & 0xff) <= ' ') {
                at++;
            }
            int start = at;
            while (at < end && (array[at] & 0xff) > ' ') {
                at++;
            }
            if (at > start) {
                out.emit(array, start, at - start, 1);
            }
        }
    }

    @Override
    public Combiner combiner() {
        return Combiner.SUM;
    }
}
