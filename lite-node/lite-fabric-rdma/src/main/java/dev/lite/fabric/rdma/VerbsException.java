package dev.lite.fabric.rdma;

import org.jspecify.annotations.Nullable;

/** A call of the verbs or of the connection manager failed. The message names the call and what it was about. */
final class VerbsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    VerbsException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
