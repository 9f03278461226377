package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.time.Duration;

/** A function that this session serves. Any number of threads may receive from it. */
public interface RpcServer extends AutoCloseable {
    /** The function's name. */
    String function();

    /**
     * {@code LT_recvRPC}: waits for the next call.
     *
     * @throws LiteTimeoutException when none came until the deadline
     * @throws SessionLostException when the server or the session was closed
     * @throws IllegalStateException when the function has a handler
     */
    RpcCall receive(Duration deadline);

    /**
     * {@code LT_replyRPC} and {@code LT_recvRPC} in one step: answers a call and waits for the next. The reply counts as
     * sent even when no call comes until the deadline. For errors see {@link RpcCall#reply(MemorySegment)} and {@link
     * #receive}.
     *
     * @param call one that this server received
     * @param reply used during the call only
     */
    RpcCall replyAndReceive(RpcCall call, MemorySegment reply, Duration deadline);

    /**
     * Serves no more: calls that nobody received yet fail with {@link RpcFailedException} at their callers, received ones
     * may still be answered. A second call does nothing.
     */
    @Override
    void close();
}
