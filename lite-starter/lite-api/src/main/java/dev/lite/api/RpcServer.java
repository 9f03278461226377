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
     * @return the call; answer it exactly once
     * @throws LiteTimeoutException when none came before the deadline
     * @throws SessionLostException when the server was closed or the session has ended
     * @throws IllegalStateException when the function has a handler
     */
    RpcCall receive(Duration deadline);

    /**
     * {@code LT_replyRPC} and {@code LT_recvRPC} in one step: answers a call and waits for the next. The reply is sent even if no
     * call comes before the deadline. For errors see {@link RpcCall#reply(MemorySegment)} and {@link #receive}.
     *
     * @param call a call that this server received
     * @param reply used only during this call
     */
    RpcCall replyAndReceive(RpcCall call, MemorySegment reply, Duration deadline);

    /**
     * Stops serving. Calls that were not received yet fail with {@link RpcFailedException} at their callers. The application and its
     * handler may still answer received calls, until the callers' deadlines or the end of this session. A second call does nothing.
     */
    @Override
    void close();
}
