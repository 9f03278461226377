package dev.lite.boot;

import dev.lite.api.Lite.AttachOptions;

/**
 * Changes how the auto-configured session attaches, after the properties {@code lite.client.*} were applied. Beans of this type are
 * called in their order, once, at the start of the context.
 */
@FunctionalInterface
public interface AttachOptionsCustomizer {
    /** Returns the options, or changed ones. */
    AttachOptions customize(AttachOptions options);
}
