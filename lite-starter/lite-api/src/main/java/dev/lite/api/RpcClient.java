package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** One function at one node, for many calls. Any thread. For errors see {@link LtRpc#call}. Needs no close. */
public interface RpcClient {
    /** The node's name. */
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

    /** Calls the function, waits for its reply and returns it. */
    byte[] call(byte[] request, Duration deadline);

    /** Starts a call and returns; the request is copied. The future completes exactly once, with the reply or the exception. */
    CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline);
}
