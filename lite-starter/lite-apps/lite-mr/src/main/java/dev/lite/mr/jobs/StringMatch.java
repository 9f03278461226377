package dev.lite.mr.jobs;

import dev.lite.mr.job.Combiner;
import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;

/**
 * Finds lines whose scrambled form is one of the parameter {@code keys}: hexadecimal texts, separated by commas. Key: the line. Value: how
 * often it occurs.
 */
public final class StringMatch extends Job {
    private static final int SHIFT = 5;

    private byte[][] keys = {};
    private byte[] scrambled = {};

    /** For LITE-MR. */
    public StringMatch() {}

    /** Scrambles a text in the way of the suite: it costs something for each byte. */
    public static void scramble(byte[] text, int offset, int length, byte[] target) {
        for (int i = 0; i < length; i++) {
            target[i] = (byte) ((text[offset + i] + SHIFT) ^ i);
        }
    }

    @Override
    public void setup(Map<String, String> parameters) {
        keys = Arrays.stream(Parameters.required(parameters, "keys").split(","))
                .map(HexFormat.of()::parseHex)
                .toArray(byte[][]::new);
    }

    @Override
    public void map(InputRecord record, Emitter out) {
        int length = record.length();
        if (scrambled.length < length) {
            scrambled = new byte[length * 2];
        }
        scramble(record.array(), record.offset(), length, scrambled);
        for (byte[] key : keys) {
            if (Arrays.equals(scrambled, 0, length, key, 0, key.length)) {
                out.emit(record, 1);
            }
        }
    }

    @Override
    public Combiner combiner() {
        return Combiner.SUM;
    }
}
