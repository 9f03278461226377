package dev.lite.mr.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

class WordsTest {
    @Test
    void aWordEndsAtTheFirstByteThatIsNotAboveTheSpace() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int round = 0; round < 20_000; round++) {
            byte[] array = new byte[1 + random.nextInt(40)];
            for (int i = 0; i < array.length; i++) {
                array[i] = (byte) (random.nextInt(8) == 0 ? random.nextInt(0x23) : 0x20 + random.nextInt(0xe0));
            }
            int from = random.nextInt(array.length);
            int to = from + random.nextInt(array.length - from + 1);
            int expected = from;
            while (expected < to && (array[expected] & 0xff) > ' ') {
                expected++;
            }
            assertThat(Words.end(array, from, to))
                    .as("seed %d, round %d", seed, round)
                    .isEqualTo(expected);
        }
    }
}
