package dev.lite.api;

import java.lang.foreign.MemorySegment;

/**
 * A received call. One thread at a time may use it. Answer it exactly once: with {@link #reply}, {@link #fail} or {@link
 * RpcServer#replyAndReceive}. A call without an answer times out at its caller.
 */
public interface RpcCall {
    /** The name of the caller's node. */
    String callerNode();

    /** The caller's principal, as its node authenticated it. */
    String callerPrincipal();

    /** The request; read-only, and valid until the call is answered. */
    MemorySegment request();

    /**
     * {@code LT_replyRPC}: sends the reply, and returns without waiting for the caller to receive it.
     *
     * @param reply used only during this call
     * @throws LimitExceededException when it is longer than {@link LtRpc#MESSAGE_BYTES_MAX} or than the caller's buffer; the call is
     *     still unanswered
     * @throws IllegalStateException when the call was already answered
     */
    void reply(MemorySegment reply);

    /** {@link #reply(MemorySegment)} with a whole array. */
    default void reply(byte[] reply) {
        reply(MemorySegment.ofArray(reply));
    }

    /**
     * Answers with an error: the caller gets an {@link RpcFailedException} with this message, cut to 1,024 bytes of UTF-8.
     *
     * @throws IllegalStateException when the call was already answered
     */
    void fail(String message);
}
