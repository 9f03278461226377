package dev.lite.fabric;

import org.jspecify.annotations.Nullable;

/** A fabric cannot be opened, or memory cannot be registered. The message names the setting, its value and the limit. */
public final class FabricException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** With a message and a cause. */
    public FabricException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
