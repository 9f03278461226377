package dev.lite.mr.data;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import dev.lite.mr.job.Slice;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PairSortTest {
    private static class Sorted extends Job {
        @Override
        public void map(InputRecord record, Emitter out) {}
    }

    private static final class Backwards extends Sorted {
        @Override
        public int compare(Slice left, Slice right) {
            return right.compareTo(left);
        }
    }

    /** Keys of 0 to 20 bytes, of which many have their first bytes in common, and some are equal or differ in zeros at the end. */
    private static byte[] key(Random random) {
        byte[] key = new byte[random.nextInt(21)];
        for (int i = 0; i < key.length; i++) {
            key[i] = (byte) (random.nextBoolean() ? 0 : random.nextInt(256));
        }
        return key;
    }

    @Test
    void pairsComeInTheOrderOfTheirKeysAndEqualKeysInTheirOwn() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int count : new int[] {0, 1, 2, 100, 255, 256, 5000}) {
            for (Job job : List.of(new Sorted(), new Backwards())) {
                Table table = new Table(null);
                List<List<Slice>> expected = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    Slice key = Slice.of(key(random));
                    Slice value = Slice.of(i);
                    table.add(key.array(), 0, key.length(), value.array(), 0, value.length());
                    expected.add(List.of(key, value));
                }
                expected.sort(Comparator.comparing(List::getFirst, job::compare));
                List<List<Slice>> sorted = new ArrayList<>();
                table.drain(
                        job,
                        1,
                        partition -> (key, value) ->
                                sorted.add(List.of(Slice.of(key.toBytes()), Slice.of(value.toBytes()))));
                assertThat(sorted).as("seed %d, %d pairs", seed, count).isEqualTo(expected);
            }
        }
    }
}
