package dev.lite.api;

import org.jspecify.annotations.Nullable;

/**
 * What became of one node's part of a multicast: a reply or a failure, never both.
 *
 * @param reply the reply, or null
 * @param failure why there is none, or null
 */
public record RpcOutcome(byte @Nullable [] reply, @Nullable LiteException failure) {
    /** The reply; throws the failure when there is none. */
    public byte[] get() {
        if (failure != null) {
            throw failure;
        }
        if (reply == null) {
            throw new IllegalStateException("neither a reply nor a failure");
        }
        return reply;
    }
}
