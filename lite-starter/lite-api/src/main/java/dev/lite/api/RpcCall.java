package dev.lite.api;

import java.lang.foreign.MemorySegment;

/**
 * A received call. It belongs to one thread at a time and is answered once: by {@link #reply}, {@link #fail} or
 * {@link RpcServer#replyAndReceive}. A call that is never answered times out at its caller.
 */
public interface RpcCall {
    /** The name of the node that it comes from. */
    String callerNode();

    /** Who called, as that node authenticated it. */
    String callerPrincipal();

    /** The request; read-only, and good until the call is answered. */
    MemorySegment request();

    /**
     * {@code LT_replyRPC}. Returns when the reply is on its way; nobody is told whether the caller still waits.
     *
     * @param reply used during the call only
     * @throws LimitExceededException when it is longer than {@link LtRpc#MESSAGE_BYTES_MAX} or than the caller's buffer;
     *     the call is not answered then
     * @throws IllegalStateException when it was answered before
     */
    void reply(MemorySegment reply);

    /** {@link #reply(MemorySegment)} of a whole array. */
    default void reply(byte[] reply) {
        reply(MemorySegment.ofArray(reply));
    }

    /**
     * Answers with an error: the caller gets an {@link RpcFailedException} of this message, of which 1,024 bytes of UTF-8 travel.
     *
     * @throws IllegalStateException when it was answered before
     */
    void fail(String message);
}
