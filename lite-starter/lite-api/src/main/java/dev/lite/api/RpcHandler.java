package dev.lite.api;

import java.lang.foreign.MemorySegment;

/** Executes the calls of a function. Runs on virtual threads, on several at the same time; it may block. */
@FunctionalInterface
public interface RpcHandler {
    /**
     * Executes one call.
     *
     * @param call the request and its caller; the handler does not answer it itself
     * @return the reply; not null
     * @throws RpcHandlerException to fail the call with a code and a message for the caller
     * @throws RuntimeException also fails the call; the caller only gets {@link RpcStatus#HANDLER_FAILED}. LITE logs the exception at
     *     the server, at most once a second for each function
     */
    MemorySegment handle(RpcCall call);
}
