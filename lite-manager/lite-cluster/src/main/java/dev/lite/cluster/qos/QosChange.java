package dev.lite.cluster.qos;

import dev.lite.cluster.qos.QosPolicy.Mode;
import dev.lite.cluster.qos.QosPolicy.Quota;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A change of a {@link QosPolicy}. What is null stays as it is. If only one of the shares is given, the other one is the
 * rest.
 *
 * @param mode the name of a {@link Mode}; the case does not matter, nor whether it has a hyphen or an underscore
 * @param highShare see {@link QosPolicy}, like all others
 * @param lowShare in percent
 * @param lightLoad in operations
 * @param heavyLoad in operations
 * @param roundTripFactor at least 1
 * @param lowBytesPerSecond in bytes per second
 * @param quotas replace all former ones
 */
public record QosChange(
        @Nullable String mode,
        @Nullable Integer highShare,
        @Nullable Integer lowShare,
        @Nullable Double lightLoad,
        @Nullable Double heavyLoad,
        @Nullable Double roundTripFactor,
        @Nullable Long lowBytesPerSecond,
        @Nullable Map<String, Quota> quotas) {
    /** The names of all values. */
    public static final List<String> FIELDS = Arrays.stream(QosChange.class.getRecordComponents())
            .map(RecordComponent::getName)
            .toList();

    private static final int PERCENT = 100;

    /** Whether it changes nothing. */
    public boolean isEmpty() {
        return equals(new QosChange(null, null, null, null, null, null, null, null));
    }

    /** A change of the mode only. */
    public static QosChange ofMode(String mode) {
        return new QosChange(mode, null, null, null, null, null, null, null);
    }

    /**
     * The changed policy.
     *
     * @throws IllegalArgumentException with what, the value and the limit
     */
    public QosPolicy applyTo(QosPolicy before) {
        int high = highShare != null ? highShare : lowShare != null ? PERCENT - lowShare : before.highShare();
        int low = lowShare != null ? lowShare : PERCENT - high;
        return new QosPolicy(
                mode != null ? modeOf(mode) : before.mode(),
                high,
                low,
                lightLoad != null ? lightLoad : before.lightLoad(),
                heavyLoad != null ? heavyLoad : before.heavyLoad(),
                roundTripFactor != null ? roundTripFactor : before.roundTripFactor(),
                lowBytesPerSecond != null ? lowBytesPerSecond : before.lowBytesPerSecond(),
                quotas != null ? quotas : before.quotas());
    }

    private static Mode modeOf(String text) {
        String name = text.strip().toUpperCase(Locale.ROOT).replace('-', '_');
        for (Mode mode : Mode.values()) {
            if (mode.name().equals(name)) {
                return mode;
            }
        }
        throw new IllegalArgumentException(
                "mode is \"%s\"; it must be one of %s".formatted(text, Arrays.toString(Mode.values())));
    }
}
