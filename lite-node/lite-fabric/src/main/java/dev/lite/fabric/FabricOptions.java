package dev.lite.fabric;

import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The options of {@link FabricConfig}, with the checks that every driver needs.
 *
 * @param values the options by name; only names that the driver knows
 */
public record FabricOptions(Map<String, String> values) {

    /**
     * Checks the names.
     *
     * @param fabric the fabric's name, for messages
     * @param known the names of its options
     * @throws IllegalArgumentException if a name is unknown
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

    /** The text of an option; null if it is not set. */
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
     * @throws IllegalArgumentException if it is not a number
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
     * @throws IllegalArgumentException if it is out of range
     */
    public static void requireRange(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException("%s must be %d to %d, not %d".formatted(name, min, max, value));
        }
    }

    /** Omits the values, because one may be a secret. */
    @Override
    public String toString() {
        return "FabricOptions" + new TreeSet<>(values.keySet());
    }
}
