package dev.lite.cluster.qos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.qos.QosPolicy.Mode;
import dev.lite.cluster.qos.QosPolicy.Quota;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QosPolicyTest {
    private static final Duration DEADLINE = Duration.ofSeconds(20);

    private static QosChange shares(@Nullable Integer high, @Nullable Integer low) {
        return new QosChange(null, high, low, null, null, null, null, null);
    }

    private static QosChange numbers(
            @Nullable Double light, @Nullable Double heavy, @Nullable Double factor, @Nullable Long rate) {
        return new QosChange(null, null, null, light, heavy, factor, rate, null);
    }

    private static QosChange quota(String principal, @Nullable Long bytes, @Nullable Long operations) {
        return new QosChange(null, null, null, null, null, null, null, Map.of(principal, new Quota(bytes, operations)));
    }

    private static void refused(QosChange change, String message) {
        assertThatThrownBy(() -> change.applyTo(QosPolicy.OFF))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void anUnknownModeIsRefused() {
        refused(QosChange.ofMode("fast"), "mode is \"fast\"; it must be one of [OFF, HW_SEP, SW_PRI]");
    }

    @ParameterizedTest
    @CsvSource({"SW_PRI", "sw-pri", "sw_pri"})
    void aModeMayBeWrittenAsAProperty(String text) {
        assertThat(QosChange.ofMode(text).applyTo(QosPolicy.OFF).mode()).isEqualTo(Mode.SW_PRI);
    }

    @Test
    void sharesMustAddUp() {
        refused(shares(75, 30), "highShare is 75 and lowShare is 30, together 105; they must add up to 100");
        refused(shares(0, 100), "highShare is 0; it must be 1 to 99 percent");
    }

    @Test
    void oneShareGivesTheOther() {
        assertThat(shares(60, null).applyTo(QosPolicy.OFF).lowShare()).isEqualTo(40);
        assertThat(shares(null, 10).applyTo(QosPolicy.OFF).highShare()).isEqualTo(90);
    }

    @Test
    void thresholdsOutOfRangeAreRefused() {
        refused(numbers(2.0, null, null, null), "lightLoad is 2.0; it must be 0.0 to 1.0");
        refused(numbers(null, Double.NaN, null, null), "heavyLoad is NaN; it must be 0.0 to 1000000.0");
        refused(numbers(null, null, 0.5, null), "roundTripFactor is 0.5; it must be 1.0 to 1000.0");
        refused(numbers(null, null, null, 1L), "lowBytesPerSecond is 1; it must be 65536 to 1099511627776");
    }

    @Test
    void aQuotaBelowOneOperationIsRefused() {
        refused(quota("batch", null, 0L), "operationsPerSecond of \"batch\" is 0; it must be 1 to 1099511627776");
        refused(quota("batch", 100L, null), "bytesPerSecond of \"batch\" is 100; it must be 65536 to 1099511627776");
        refused(
                quota("batch", null, null),
                "the quota of \"batch\" is empty; it must have bytesPerSecond, operationsPerSecond or both");
    }

    @Test
    void aQuotaNeedsAPrincipal() {
        assertThatThrownBy(() -> quota(" ", 1L << 20, null).applyTo(QosPolicy.OFF))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("principal");
    }

    @ParameterizedTest
    @CsvSource({"2, 1", "3, 2", "4, 3", "8, 6"})
    void eachPriorityHasALane(int lanes, int high) {
        assertThat(QosPolicy.OFF.highLanes(lanes)).isEqualTo(high);
    }

    @Test
    void theClustersPolicyIsChangedInSteps() {
        try (InMemoryDirectory directory = new InMemoryDirectory.Store().open()) {
            QosRecord record = new QosRecord(directory);
            assertThat(record.read(DEADLINE)).isEqualTo(QosRecord.Revision.NONE);
            record.change(QosChange.ofMode("SW_PRI"), DEADLINE);
            QosRecord.Revision second = record.change(quota("batch", 1L << 20, 5L), DEADLINE);
            assertThat(second.revision()).isEqualTo(2);
            assertThat(second.policy().mode()).isEqualTo(Mode.SW_PRI);
            assertThat(record.read(DEADLINE)).isEqualTo(second);
            assertThat(record.change(quota("batch", 1L << 20, 5L), DEADLINE))
                    .as("a repetition changes nothing")
                    .isEqualTo(second);
        }
    }

    @Test
    void aRefusedChangeLeavesTheClustersPolicy() {
        try (InMemoryDirectory directory = new InMemoryDirectory.Store().open()) {
            QosRecord record = new QosRecord(directory);
            QosRecord.Revision before = record.change(QosChange.ofMode("SW_PRI"), DEADLINE);
            assertThatThrownBy(() -> record.change(shares(50, 60), DEADLINE))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThat(record.read(DEADLINE)).isEqualTo(before);
        }
    }
}
