package dev.lite.fabric.tcp;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;

/** The fuzz target. Jazzer calls it with inputs that cover more and more of the decoder; see {@link DecoderFuzzTest}. */
public final class DecoderFuzzer {
    private DecoderFuzzer() {}

    /** The first eight bytes determine how the rest is cut into pieces. */
    public static void fuzzerTestOneInput(byte[] data) {
        if (data.length < Long.BYTES) {
            return;
        }
        byte[] sent = Arrays.copyOfRange(data, Long.BYTES, Math.min(data.length, Long.BYTES + FrameFuzzTest.INPUT));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment input = arena.allocate(FrameFuzzTest.INPUT, 8);
            MemorySegment.copy(MemorySegment.ofArray(sent), 0, input, 0, sent.length);
            FrameFuzzTest.feed(
                    input, sent.length, new Random(ByteBuffer.wrap(data).getLong()));
        }
    }
}
