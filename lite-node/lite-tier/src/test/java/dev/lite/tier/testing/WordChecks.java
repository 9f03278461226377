package dev.lite.tier.testing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LmrHandle;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;

/** Checks of words through two handles of one LMR. */
public final class WordChecks {
    private WordChecks() {}

    /** Uses the first two 64-bit words. */
    public static void checkLongs(LmrHandle one, LmrHandle two) {
        one.putLong(0, -5);
        assertThat(two.getLong(0)).isEqualTo(-5);
        assertThat(two.getAndAdd(0, 7)).isEqualTo(-5);
        assertThat(one.getAndSet(0, Long.MIN_VALUE)).isEqualTo(2);
        assertThat(two.compareAndSet(0, 2, 3)).isFalse();
        assertThat(two.compareAndSet(0, Long.MIN_VALUE, 3)).isTrue();
        assertThat(one.getLong(0)).isEqualTo(3);
        assertThat(two.getLong(8)).isZero();
    }

    /** Uses the third 64-bit word. */
    public static void checkInts(LmrHandle one, LmrHandle two) {
        one.putInt(16, -1);
        two.putInt(20, Integer.MAX_VALUE);
        assertThat(one.getLong(16)).isEqualTo((long) Integer.MAX_VALUE << 32 | 0xFFFF_FFFFL);
        assertThat(two.getAndAddInt(16, 1)).isEqualTo(-1);
        assertThat(one.getAndAddInt(20, 1)).isEqualTo(Integer.MAX_VALUE);
        assertThat(two.getInt(16)).isZero();
        assertThat(two.getInt(20)).isEqualTo(Integer.MIN_VALUE);
        assertThat(one.getAndSetInt(20, 9)).isEqualTo(Integer.MIN_VALUE);
        assertThat(two.compareAndSetInt(20, 8, 10)).isFalse();
        assertThat(two.compareAndSetInt(20, 9, 10)).isTrue();
        assertThat(one.getInt(20)).isEqualTo(10);
        assertThat(one.getInt(16)).isZero();
    }

    /** How a writer publishes. */
    public enum Publication {
        PUT_LONG {
            @Override
            void publish(LmrHandle words, long value) {
                words.putLong(0, value);
            }
        },
        TEST_SET {
            @Override
            void publish(LmrHandle words, long value) {
                assertThat(words.testSet(0, value - 1, value)).isEqualTo(value - 1);
            }
        },
        FETCH_ADD {
            @Override
            void publish(LmrHandle words, long value) {
                assertThat(words.fetchAdd(0, 1)).isEqualTo(value - 1);
            }
        };

        abstract void publish(LmrHandle words, long value);
    }

    /** A writer fills the data with 1, 2 and so on, and publishes each number; a reader never sees data older than its number. */
    public static void checkPublication(
            Publication publication,
            LmrHandle words,
            LmrHandle data,
            LmrHandle wordsOfReader,
            LmrHandle dataOfReader,
            int rounds) {
        CompletableFuture<Void> writer = new CompletableFuture<>();
        Thread writing = Thread.ofPlatform().start(() -> {
            try {
                long[] numbers = new long[(int) (data.size() / Long.BYTES)];
                for (long round = 1; round <= rounds; round++) {
                    Arrays.fill(numbers, round);
                    data.write(0, MemorySegment.ofArray(numbers));
                    publication.publish(words, round);
                }
                writer.complete(null);
            } catch (RuntimeException | AssertionError e) {
                writer.completeExceptionally(e);
            }
        });
        long[] seen = new long[(int) (dataOfReader.size() / Long.BYTES)];
        long published = 0;
        while (published < rounds && !writer.isCompletedExceptionally()) {
            published = wordsOfReader.getLong(0);
            dataOfReader.read(0, MemorySegment.ofArray(seen));
            assertThat(Arrays.stream(seen).min().orElseThrow())
                    .as("the oldest data beside the number %d", published)
                    .isGreaterThanOrEqualTo(published);
        }
        Waits.join(writing);
        assertThat(writer).isCompleted();
    }
}
