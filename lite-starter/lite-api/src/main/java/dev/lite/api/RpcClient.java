package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** A function at a node, bound for many calls. Any thread. For errors see {@link LtRpc#call}. */
public interface RpcClient {
    /** The node's name. */
    String node();

    /** The function's name. */
    String function();

    /**
     * Calls and waits. Nothing is allocated on the heap when the call succeeds. Both segments are used during the call only,
     * also when it fails.
     *
     * @param request at most {@value LtRpc#MESSAGE_BYTES_MAX} bytes
     * @param reply filled from its start
     * @return the length of the reply in bytes
     * @throws LimitExceededException when the reply is longer than the segment
     */
    long call(MemorySegment request, MemorySegment reply, Duration deadline);

    /** Calls and waits. */
    byte[] call(byte[] request, Duration deadline);

    /** Calls and returns at once; the request is copied, and the future gets the reply or the exception, exactly once. */
    CompletableFuture<byte[]> callAsync(byte[] request, Duration deadline);
}
