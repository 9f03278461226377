package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * Calls one function, at one node or at any node that serves it. Reuse it for many calls; it need not be closed. Any thread may call any
 * method. For errors see {@link LtRpc#call}, and {@link LtRpc#bindAny} for a client of any node.
 */
public interface RpcClient {
    /** The node's name; empty for a client of {@link LtRpc#bindAny}. */
    String node();

    /** The function's name. */
    String function();

    /**
     * Calls the function and waits for its reply. A successful call allocates nothing on the heap. LITE uses both segments only until
     * this method returns or throws.
     *
     * @param request at most {@value LtRpc#MESSAGE_BYTES_MAX} bytes
     * @param reply receives the reply, from its first byte on
     * @return the length of the reply in bytes
     * @throws RpcFailedException also when the reply of a handler is longer than the segment ({@link RpcStatus#HANDLER_FAILED}). A
     *     server without a handler gets a {@link LimitExceededException} from {@link RpcCall#reply}, and may answer again
     */
    long call(MemorySegment request, MemorySegment reply, Duration deadline);

    /**
     * Returns a client of the same function whose requests carry this context, in place of the context of this client. A context is a
     * text, for example of a trace, that LITE does not read. The server gets it from {@link RpcCall#context}. Sends nothing. For each
     * request a context costs about as much as copying it; without one there is no cost.
     *
     * @param context 1 to {@value LtRpc#CONTEXT_BYTES_MAX} bytes of UTF-8, which count towards the limit of the request
     * @throws LimitExceededException when its length is out of range
     */
    RpcClient withContext(String context);

    /**
     * Returns a client of the same function, with the same context, whose calls have this priority, but never one above that of the
     * session's principal. Servers receive queued calls of high priority first. Sends nothing.
     */
    RpcClient withPriority(Priority priority);

    /** Calls the function, waits for its reply and returns it. */
    byte[] call(byte[] request, Duration deadline);

    /**
     * Starts a call and returns; the request is copied. The future completes exactly once, with the reply or the exception. See
     * {@link LmrHandle#readAsync(long, java.lang.foreign.MemorySegment)} for how to wait.
     *
     * <p>In an attached application, a call that finds no free slot, or goes through a channel on its host, waits on a thread of its own.
     * When 1,024 calls of the session wait so, this method blocks until one of them ends. If none ends before the deadline, the future
     * completes with a {@link LiteTimeoutException}; the call was not executed.
     */
    CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline);
}
