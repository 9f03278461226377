package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A received call. One thread at a time may use it. Answer it exactly once: with {@link #reply}, {@link #fail}, {@link
 * #decline} or {@link RpcServer#replyAndReceive}. A call without an answer times out at its caller.
 */
public interface RpcCall {
    /** The longest message of {@link #fail(int, String)}, in bytes of UTF-8. */
    int FAIL_BYTES_MAX = 1000;

    /** The name of the caller's node. */
    String callerNode();

    /** The caller's principal, as its node authenticated it. */
    String callerPrincipal();

    /** The request; read-only, and valid until the call is answered. */
    MemorySegment request();

    /** The context that the caller sent beside the request; see {@link RpcClient#withContext}. Null if it sent none. */
    @Nullable
    String context();

    /**
     * {@code LT_replyRPC}: sends the reply, and returns without waiting for the caller to receive it. The node of an attached application
     * sends it. If the node has no memory for that, or the caller's node does not receive, the call fails with {@link
     * RpcStatus#UNKNOWN}, and the node logs the failure.
     *
     * @param reply used only during this call
     * @throws LimitExceededException when the reply is longer than {@link LtRpc#MESSAGE_BYTES_MAX} or than the caller's buffer; the call
     *     is still unanswered
     * @throws LiteTimeoutException when the node did not take the reply within the session's deadline; the call is still unanswered
     * @throws IllegalStateException when the call was already answered
     */
    void reply(MemorySegment reply);

    /** {@link #reply(MemorySegment)} with a whole array. */
    default void reply(byte[] reply) {
        reply(MemorySegment.ofArray(Objects.requireNonNull(reply, "reply")));
    }

    /** Answers with an error: {@link #fail(int, String)} with the code 0. */
    default void fail(String message) {
        fail(0, message);
    }

    /**
     * Answers with an error: the caller gets an {@link RpcFailedException} with {@link RpcStatus#HANDLER_FAILED}, this code and this
     * message.
     *
     * @param handlerCode any number; the function defines its meaning
     * @param message cut to {@value #FAIL_BYTES_MAX} bytes of UTF-8
     * @throws LiteTimeoutException when the node did not take it within the session's deadline; the call is still
     *     unanswered
     * @throws IllegalStateException when the call was already answered
     */
    void fail(int handlerCode, String message);

    /**
     * Answers that the call was not executed here and will not be, for example because the server's application ends. The caller gets
     * an {@link RpcFailedException} with {@link RpcStatus#NOT_SERVED} and this message. A client of {@link LtRpc#bindAny} calls the next
     * node instead.
     *
     * @param message cut to {@value #FAIL_BYTES_MAX} bytes of UTF-8
     * @throws LiteTimeoutException when the node did not take it within the session's deadline; the call is still
     *     unanswered
     * @throws IllegalStateException when the call was already answered
     */
    void decline(String message);
}
