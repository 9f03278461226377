package dev.lite.fabric;

import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The options of {@link FabricConfig}, with the checks that every driver needs.
 *
 * @param values by name; none but those the driver knows
 */
public record FabricOptions(Map<String, String> values) {

    /**
     * Checks the names.
     *
     * @param fabric the fabric's name for a message
     * @param known the names of its options
     * @throws IllegalArgumentException when one is unknown
     */
    public static FabricOptions of(String fabric, Map<String, String> values, Set<String> known) {
        for (String name : values.keySet()) {
            if (!known.contains(name)) {
                throw new IllegalArgumentException(
                        "the %s fabric has no option '%s'; it has %s".formatted(fabric, name, new TreeSet<>(known)));
            }
        }
        return new FabricOptions(values);
    }

    /** The text of an option, or null. */
    public @Nullable String text(String name) {
        return values.get(name);
    }

    /** The text of an option. */
    public String text(String name, String otherwise) {
        return values.getOrDefault(name, otherwise);
    }

    /**
     * The number of an option.
     *
     * @throws IllegalArgumentException when it is none
     */
    public int number(String name, int otherwise) {
        String text = values.get(name);
        if (text == null) {
            return otherwise;
        }
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("%s must be a number, not '%s'".formatted(name, text), e);
        }
    }

    /**
     * Checks a number against its limits.
     *
     * @throws IllegalArgumentException when it is beyond one
     */
    public static void requireRange(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException("%s must be %d to %d, not %d".formatted(name, min, max, value));
        }
    }

    /** Without the values: one may be a secret. */
    @Override
    public String toString() {
        return "FabricOptions" + new TreeSet<>(values.keySet());
    }
}
