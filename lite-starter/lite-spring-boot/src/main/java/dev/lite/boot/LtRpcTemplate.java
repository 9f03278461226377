package dev.lite.boot;

import dev.lite.api.LtRpc;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Calls functions with objects instead of bytes. {@link LtRpcHandler} lists the types. For errors see {@link LtRpc#call}. Any thread.
 */
public final class LtRpcTemplate {

    private final LtRpc rpc;
    private final RpcBodies bodies;
    private final Duration deadline;

    LtRpcTemplate(LtRpc rpc, RpcBodies bodies, Duration deadline) {
        this.rpc = rpc;
        this.bodies = bodies;
        this.deadline = deadline;
    }

    /**
     * Calls a function and waits for its reply, at most for the configured {@code lite.client.deadline}.
     *
     * @param node the node's name; this session's own node is allowed
     * @param request null sends an empty request
     * @param replyType {@code Void.class} to ignore the reply
     * @return null only for {@code Void.class}
     * @throws IllegalArgumentException when the request or the reply cannot be converted; in the latter case the function was executed
     */
    public <R> @Nullable R call(String node, String function, @Nullable Object request, Class<R> replyType) {
        return call(node, function, request, replyType, deadline);
    }

    /** {@link #call(String, String, Object, Class)} with a deadline of its own. */
    public <R> @Nullable R call(
            String node, String function, @Nullable Object request, Class<R> replyType, Duration callDeadline) {
        byte[] reply = rpc.call(node, function, bodies.encode(request), callDeadline);
        return replyType.cast(bodies.decode(reply, replyType));
    }
}
