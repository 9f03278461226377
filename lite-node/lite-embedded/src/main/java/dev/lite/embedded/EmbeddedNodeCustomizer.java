package dev.lite.embedded;

/**
 * Changes the configuration of the auto-configured embedded node, after the properties {@code lite.embedded.*} were applied. Beans of
 * this type are called in their order, once, at the start of the context.
 */
@FunctionalInterface
public interface EmbeddedNodeCustomizer {
    /** Changes the configuration. */
    void customize(EmbeddedNodeConfig.Builder config);
}
