package dev.lite.api;

import java.lang.foreign.MemorySegment;

/** Executes the calls of a function. Runs on virtual threads, on several at the same time; it may block. */
@FunctionalInterface
public interface RpcHandler {
    /**
     * Executes one call.
     *
     * @param call the request and its caller; the handler does not answer it itself
     * @return the reply
     * @throws RuntimeException to fail the call; the caller gets its message in an {@link RpcFailedException}
     */
    MemorySegment handle(RpcCall call);
}
