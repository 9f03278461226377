package dev.lite.manager.nodes;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A node's answer about itself, or why there is none.
 *
 * @param state what its endpoint {@code /actuator/lite} returned; null if it did not answer
 * @param problem why there is no state; null if there is one
 */
public record NodeState(
        @Nullable Map<String, Object> state, @Nullable String problem) {
    static NodeState answered(Map<String, Object> state) {
        return new NodeState(state, null);
    }

    static NodeState missing(String problem) {
        return new NodeState(null, problem);
    }
}
