package dev.lite.api;

import org.jspecify.annotations.Nullable;

/**
 * The result of a multicast at one node: a reply or a failure, never both.
 *
 * @param reply the reply, or null
 * @param failure why there is no reply, or null
 */
public record RpcOutcome(byte @Nullable [] reply, @Nullable LiteException failure) {
    /**
     * Returns the reply.
     *
     * @throws LiteException the failure, when there is no reply
     */
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
