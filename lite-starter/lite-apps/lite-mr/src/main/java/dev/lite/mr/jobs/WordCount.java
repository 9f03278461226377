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
        int start = Words.start(array, record.offset(), end);
        while (start < end) {
            int after = Words.end(array, start, end);
            out.emit(array, start, after - start, 1);
            start = Words.start(array, after, end);
        }
    }

    @Override
    public Combiner combiner() {
        return Combiner.SUM;
    }
}
