package dev.lite.mr.jobs;

import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Reduced;
import dev.lite.mr.job.Slice;
import dev.lite.mr.job.Values;
import java.util.BitSet;

/** Which inputs have a word. Key: the word, as in {@link WordCount}. Value: the numbers of the inputs in their order, as a text. */
public final class InvertedIndex extends Job {
    private final Slice word = new Slice();
    private final Slice input = Slice.of(new byte[Integer.BYTES]);

    /** For LITE-MR. */
    public InvertedIndex() {}

    @Override
    public void map(InputRecord record, Emitter out) {
        input.putInt(0, record.input());
        byte[] array = record.array();
        int end = record.offset() + record.length();
        int start = Words.start(array, record.offset(), end);
        while (start < end) {
            int after = Words.end(array, start, end);
            out.emit(word.set(array, start, after - start), input);
            start = Words.start(array, after, end);
        }
    }

    @Override
    public void reduce(Slice key, Values values, Reduced out) {
        BitSet inputs = new BitSet();
        while (values.next()) {
            inputs.set(values.value().getInt(0));
        }
        StringBuilder text = new StringBuilder();
        inputs.stream().forEach(number -> text.append(text.isEmpty() ? "" : " ").append(number));
        out.emit(Slice.of(text.toString()));
    }
}
