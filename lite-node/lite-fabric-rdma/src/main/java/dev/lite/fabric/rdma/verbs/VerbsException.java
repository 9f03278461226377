package dev.lite.fabric.rdma.verbs;

import org.jspecify.annotations.Nullable;

/** A call of the verbs or of the connection manager failed. The message names the call and its arguments. */
public final class VerbsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public VerbsException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
