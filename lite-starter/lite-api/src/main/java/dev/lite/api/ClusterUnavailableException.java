package dev.lite.api;

import org.jspecify.annotations.Nullable;

/** The cluster's directory cannot be reached now; what is mapped goes on working. */
public final class ClusterUnavailableException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** With a message that says what, the value and the limit. */
    public ClusterUnavailableException(String message) {
        this(message, null);
    }

    /** With a cause. */
    public ClusterUnavailableException(String message, @Nullable Throwable cause) {
        super(Code.CLUSTER_UNAVAILABLE, message, cause);
    }
}
