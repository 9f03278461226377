package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrSpec;
import dev.lite.tier.TierHandle;
import dev.lite.tier.TierSession;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class HandleTableTest {
    private final FakeBackend backend = new FakeBackend();
    private final TierSession tier = backend.open("p", "a");

    @AfterEach
    void close() {
        tier.close();
        backend.close();
    }

    private TierHandle handle() {
        return tier.malloc(LmrSpec.of(8), Duration.ofSeconds(1));
    }

    @Test
    void aReusedIndexGetsAnotherNumber() {
        HandleTable table = new HandleTable(10);
        TierHandle handle = handle();
        Set<Long> numbers = new HashSet<>();
        for (int i = 0; i < 300; i++) {
            long lh = table.reserve();
            table.put(lh, handle);
            assertThat(numbers.add(lh)).isTrue();
            assertThat(table.find(lh)).isSameAs(handle);
            for (long earlier : numbers) {
                assertThat(table.find(earlier) != null).isEqualTo(earlier == lh);
            }
            assertThat(table.remove(lh)).isSameAs(handle);
            assertThat(table.find(lh)).isNull();
            assertThatExceptionOfType(LmrFreedException.class)
                    .isThrownBy(() -> table.remove(lh))
                    .withMessageContaining("0x%x".formatted(lh));
        }
        assertThat(table.size()).isZero();
    }

    @Test
    void anIndexWithoutRemainingGenerationsIsNotReused() {
        HandleTable table = new HandleTable(10);
        long first = table.reserve();
        table.setGeneration((int) first, Integer.MAX_VALUE - 1);
        table.cancel(first);
        long last = table.reserve();
        assertThat((int) last).isEqualTo((int) first);
        assertThat(last >>> 32).isEqualTo(Integer.MAX_VALUE);
        table.cancel(last);
        assertThat((int) table.reserve()).isNotEqualTo((int) first);
    }

    @Test
    void theLimitIsReportedAndNothingIsAdded() {
        HandleTable table = new HandleTable(100);
        TierHandle handle = handle();
        long[] numbers = new long[100];
        for (int i = 0; i < 100; i++) {
            numbers[i] = table.reserve();
            table.put(numbers[i], handle);
        }
        assertThatExceptionOfType(LimitExceededException.class)
                .isThrownBy(table::reserve)
                .withMessageContaining("100 handles")
                .withMessageContaining("limit is 100");
        for (long lh : numbers) {
            assertThat(table.find(lh)).isSameAs(handle);
        }
        table.remove(numbers[50]);
        assertThat(table.reserve()).isNotIn(numbers);
    }

    @Test
    void numbersOutOfRangeAreNotFound() {
        HandleTable table = new HandleTable(100);
        for (long lh : new long[] {0, -1, 1, 1L << 32, Long.MAX_VALUE, Long.MIN_VALUE, 1L << 31, 0x1_8000_0000L}) {
            assertThat(table.find(lh)).isNull();
        }
    }
}
