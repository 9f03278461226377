package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** One function at one node, or at any node that serves it, for many calls. Any thread. For errors see {@link LtRpc#call}. Needs no close. */
public interface RpcClient {
    /** The node's name; empty for a client of {@link LtRpc#bindAny}. */
    String node();

    /** The function's name. */
    String function();

    /**
     * Calls the function and waits for its reply. A successful call allocates nothing on the heap. Both segments are used only during
     * the call, also when it fails.
     *
     * @param request at most {@value LtRpc#MESSAGE_BYTES_MAX} bytes
     * @param reply filled from its start
     * @return the length of the reply in bytes
     * @throws LimitExceededException when the reply is longer than the segment
     */
    long call(MemorySegment request, MemorySegment reply, Duration deadline);

    /**
     * A client of the same function whose requests carry a context, for example of a trace. The server gets it from {@link
     * RpcCall#context}. LITE does not read it. It replaces the context of this client. Sends nothing, and costs about as much as a copy
     * of the context; a request without a context costs nothing more.
     *
     * @param context 1 to {@value LtRpc#CONTEXT_BYTES_MAX} bytes of UTF-8, which count towards the limit of the request
     * @throws LimitExceededException when its length is out of range
     */
    RpcClient withContext(String context);

    /**
     * A client of the same function, with the same context, whose calls have another priority, never above that of the session's
     * principal. The server serves queued calls of high priority first. Sends nothing.
     */
    RpcClient withPriority(Priority priority);

    /** Calls the function, waits for its reply and returns it. */
    byte[] call(byte[] request, Duration deadline);

    /**
     * Starts a call and returns; the request is copied. The future completes exactly once, with the reply or the exception. See
     * {@link LmrHandle#readAsync(long, java.lang.foreign.MemorySegment)} for how to wait.
     *
     * <p>A call of an attached application that finds no free slot, or goes through a channel on its host, waits
     * on a thread of its own. When 1,024 calls of the session do, this method waits for one of them to end. If none
     * does before the deadline, the future completes with a {@link LiteTimeoutException}; the call was not done.
     */
    CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline);
}
