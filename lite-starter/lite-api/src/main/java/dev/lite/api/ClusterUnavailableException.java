package dev.lite.api;

import org.jspecify.annotations.Nullable;

/**
 * The cluster's directory of names cannot be reached. Mapped LMRs, calls, and locks and barriers in use keep working. Retry the
 * operation later.
 */
public final class ClusterUnavailableException extends LiteException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the operation, the value and the limit. */
    public ClusterUnavailableException(String message) {
        this(message, null);
    }

    /** Creates the exception with its cause, if any. */
    public ClusterUnavailableException(String message, @Nullable Throwable cause) {
        super(Code.CLUSTER_UNAVAILABLE, message, cause);
    }
}
