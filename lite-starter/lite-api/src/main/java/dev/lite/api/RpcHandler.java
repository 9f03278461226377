package dev.lite.api;

import java.lang.foreign.MemorySegment;

/** Carries out the calls of a function. Runs on virtual threads, several at once; may block. */
@FunctionalInterface
public interface RpcHandler {
    /**
     * Carries out one call.
     *
     * @param call for the request and who calls; not to be answered by the handler
     * @return the reply
     * @throws RuntimeException to fail the call with its message
     */
    MemorySegment handle(RpcCall call);
}
