package dev.lite.boot.client;

import java.lang.reflect.AnnotatedElement;
import java.time.Duration;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.env.Environment;

/**
 * What all methods of a client have in common.
 *
 * @param type the interface
 * @param node the node's name; empty: any node that serves the function
 * @param prefix put before every function's name
 * @param deadline of calls that do not set their own
 * @param environment for the placeholders of the methods' annotations
 */
record ClientSettings(Class<?> type, String node, String prefix, Duration deadline, Environment environment) {

    static ClientSettings of(Class<?> type, LtRpcClient annotation, Duration fallback, Environment environment) {
        ClientSettings defaults = new ClientSettings(type, "", "", fallback, environment);
        String node = defaults.resolve(type, "node", annotation.node());
        if (node.isBlank() && !annotation.node().isEmpty()) {
            throw new IllegalStateException("@LtRpcClient %s: the node's name is blank".formatted(type.getName()));
        }
        return new ClientSettings(
                type,
                node,
                defaults.resolve(type, "prefix", annotation.prefix()),
                defaults.deadline(type, annotation.deadline()),
                environment);
    }

    /** Replaces placeholders in an attribute of an annotation. */
    String resolve(AnnotatedElement where, String attribute, String text) {
        try {
            return environment.resolveRequiredPlaceholders(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalStateException(
                    "@LtRpcClient %s: the %s of %s cannot be resolved: %s"
                            .formatted(type.getName(), attribute, where, e.getMessage()),
                    e);
        }
    }

    /** A deadline that an annotation gives as text; this deadline if it is empty. */
    Duration deadline(AnnotatedElement where, String text) {
        String resolved = resolve(where, "deadline", text);
        if (resolved.isEmpty()) {
            return deadline;
        }
        try {
            Duration given = DurationStyle.detectAndParse(resolved);
            if (given.isPositive()) {
                return given;
            }
        } catch (IllegalArgumentException e) {
            throw new IllegalStateException(
                    "@LtRpcClient %s: the deadline \"%s\" of %s is not a duration such as 2s or 500ms"
                            .formatted(type.getName(), resolved, where),
                    e);
        }
        throw new IllegalStateException("@LtRpcClient %s: the deadline of %s is %s; it must be positive"
                .formatted(type.getName(), where, resolved));
    }
}
