package dev.lite.tier.peer;

import dev.lite.fabric.FabricException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The fabrics that this node offers, the preferred one first. Two nodes use the first fabric that both offer; shm only
 * on the same host.
 *
 * @param names names of the drivers
 * @param leftOut driver name → reason why it is not offered
 */
public record FabricSelection(List<String> names, Map<String, String> leftOut) {
    /** Selects every fabric that works on this host. */
    public static final String AUTO = "auto";

    /** The fastest first. */
    private static final List<String> PREFERENCE = List.of("shm", "rdma", "tcp");

    /**
     * Chooses.
     *
     * @param wanted {@value #AUTO}, the name of a fabric, or null for the listed ones
     * @param required a fabric without which the node does not start, and which excludes less preferred ones; or null
     * @param listed names of fabrics
     * @param unusable returns the reason why a fabric cannot be used on this host; empty if it can
     * @throws FabricException if the required fabric cannot be used; the message has the reason
     * @throws IllegalArgumentException if there is no fabric of such a name
     */
    public static FabricSelection of(
            @Nullable String wanted,
            @Nullable String required,
            List<String> listed,
            Function<String, Optional<String>> unusable) {
        List<String> candidates = candidates(wanted, listed);
        if (required != null && !PREFERENCE.contains(required)) {
            throw new IllegalArgumentException(
                    "the required fabric is \"%s\"; it must be one of %s".formatted(required, PREFERENCE));
        }
        List<String> chosen = new ArrayList<>();
        Map<String, String> leftOut = new LinkedHashMap<>();
        for (String name : candidates) {
            // A named fabric must work; otherwise opening it fails with the reason.
            Optional<String> reason =
                    AUTO.equals(wanted) || name.equals(required) ? unusable.apply(name) : Optional.empty();
            if (required != null && chosen.contains(required)) {
                leftOut.put(name, required + " is required");
            } else if (reason.isPresent()) {
                leftOut.put(name, reason.get());
            } else {
                chosen.add(name);
            }
        }
        if (required != null && !chosen.contains(required)) {
            throw new FabricException(
                    "the fabric %s is required, and it cannot be used: %s"
                            .formatted(
                                    required,
                                    leftOut.getOrDefault(required, "it is not among %s".formatted(candidates))),
                    null);
        }
        return new FabricSelection(List.copyOf(chosen), leftOut);
    }

    private static List<String> candidates(@Nullable String wanted, List<String> listed) {
        if (wanted == null) {
            return listed;
        }
        if (wanted.equals(AUTO)) {
            return PREFERENCE;
        }
        if (!PREFERENCE.contains(wanted)) {
            throw new IllegalArgumentException(
                    "the fabric is \"%s\"; it must be %s or one of %s".formatted(wanted, AUTO, PREFERENCE));
        }
        return List.of(wanted);
    }

    /** A readable text: the offered fabrics, and the others with reasons. */
    public String describe() {
        StringBuilder words = new StringBuilder(String.join(", ", names));
        leftOut.forEach((name, reason) -> words.append("; not %s: %s".formatted(name, reason)));
        return words.toString();
    }
}
