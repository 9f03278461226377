package dev.lite.mr.data;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BytesTest {
    private static final int LENGTH_MAX = 40;
    /** With so many bytes behind a range, all of it can be read in words. */
    private static final int SLACK = 16;

    private static byte[] random(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private static byte[] surrounded(Random random, byte[] bytes, int before, int behind) {
        byte[] array = random(random, before + bytes.length + behind);
        System.arraycopy(bytes, 0, array, before, bytes.length);
        return array;
    }

    @Test
    void hashesAndEqualityDoNotDependOnWhatSurroundsARange() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int length = 0; length <= LENGTH_MAX; length++) {
            byte[] bytes = random(random, length);
            int hash = Bytes.hash(bytes, 0, length);
            for (int behind = 0; behind <= SLACK; behind++) {
                byte[] array = surrounded(random, bytes, 3, behind);
                assertThat(Bytes.hash(array, 3, length))
                        .as("seed %d, length %d, %d bytes behind", seed, length, behind)
                        .isEqualTo(hash);
                assertThat(Bytes.isEqual(array, 3, bytes, 0, length)).isTrue();
                assertThat(Bytes.isEqual(array, 3, surrounded(random, bytes, 5, SLACK), 5, length))
                        .isTrue();
                assertThat(Bytes.prefix(array, 3, length)).isEqualTo(Bytes.prefix(bytes, 0, length));
            }
        }
    }

    @Test
    void eachByteOfARangeCounts() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int length = 1; length <= LENGTH_MAX; length++) {
            byte[] bytes = surrounded(random, random(random, length), 0, SLACK);
            for (int i = 0; i < length; i++) {
                byte[] other = bytes.clone();
                other[i] ^= (byte) (1 << random.nextInt(Byte.SIZE));
                assertThat(Bytes.isEqual(bytes, 0, other, 0, length))
                        .as("seed %d, length %d, byte %d", seed, length, i)
                        .isFalse();
                assertThat(Bytes.hash(other, 0, length))
                        .as("seed %d, length %d, byte %d", seed, length, i)
                        .isNotEqualTo(Bytes.hash(bytes, 0, length));
            }
        }
    }

    @Test
    void aCopyHasAllBytesAndChangesNothingBeforeIt() {
        Random random = new Random(1);
        for (int length = 0; length <= LENGTH_MAX; length++) {
            for (int behind = 0; behind <= SLACK; behind++) {
                byte[] source = random(random, length + behind);
                byte[] target = random(random, 4 + length + SLACK - behind);
                byte[] before = Arrays.copyOf(target, 4);
                Bytes.copy(source, 0, target, 4, length);
                assertThat(Arrays.copyOf(target, 4)).isEqualTo(before);
                assertThat(Arrays.copyOfRange(target, 4, 4 + length)).isEqualTo(Arrays.copyOf(source, length));
            }
        }
    }
}
