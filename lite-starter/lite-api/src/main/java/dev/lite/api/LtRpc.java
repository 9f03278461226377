package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Calls and messages (paper §5.1). A function is served by applications at a node and is called by its name and the node's.
 * Any thread may use everything here. When the session has ended, everything throws {@link SessionLostException}.
 *
 * <p><b>Delivery.</b> A call is carried out at most once. When it ends with {@link LiteTimeoutException} or
 * {@link NodeUnreachableException} it may have been carried out or not.
 *
 * <p><b>Limits.</b> A request and a reply have at most {@value #MESSAGE_BYTES_MAX} bytes; larger things travel in an LMR
 * whose id or name is passed. A caller that is faster than the server waits, within its deadline. The name of a function or
 * port has 1 to {@value #NAME_BYTES_MAX} bytes of UTF-8; another one is a {@link LimitExceededException}.
 *
 * <p><b>Ownership.</b> Arrays and segments passed in are used during the call only, also by those that return at once.
 */
public interface LtRpc {
    /** Upper limit of a request and of a reply, in bytes. */
    int MESSAGE_BYTES_MAX = 64 << 10;

    /** How many calls one handler may carry out at once. */
    int CONCURRENCY_MAX = 4096;

    /** Upper limit of the name of a function or port, in bytes of UTF-8. */
    int NAME_BYTES_MAX = 255;

    /**
     * {@code LT_regRPC} for a server with threads of its own: this session serves the function at its node until the server
     * is closed. Sessions of the same principal may serve one function together; a call goes to one of them.
     *
     * @throws LimitExceededException when the node serves as many functions as it may
     * @throws LmrPermissionException when another principal serves the function at this node
     */
    RpcServer serve(String function);

    /**
     * {@code LT_regRPC} with a handler: it runs on virtual threads, at most {@code concurrency} calls at once. For errors see
     * {@link #serve}.
     *
     * @param concurrency 1 to {@value #CONCURRENCY_MAX}
     * @throws IllegalArgumentException when it is another number
     */
    RpcServer register(String function, int concurrency, RpcHandler handler);

    /**
     * The function at that node, for many calls. Nothing is sent: whether it is served there shows at the first call.
     *
     * @param node the node's name; the own node is allowed
     */
    RpcClient bind(String node, String function);

    /**
     * {@code LT_RPC}: calls a function and waits for its reply.
     *
     * @throws RpcFailedException when the handler failed, or nobody serves the function there
     * @throws NodeUnreachableException when the node is not connected, or was lost meanwhile
     * @throws LiteTimeoutException when the deadline passed first
     * @throws LimitExceededException when the request is too long
     */
    default byte[] call(String node, String function, byte[] request, Duration deadline) {
        return bind(node, function).call(request, deadline);
    }

    /** {@link #call} that returns at once; the future gets the reply or the exception, exactly once. */
    default CompletableFuture<byte[]> callAsync(String node, String function, byte[] request, Duration deadline) {
        return bind(node, function).callAsync(request, deadline);
    }

    /**
     * Calls the function at several nodes at the same time and waits until each has answered or failed. What {@link #call}
     * throws is that node's outcome here.
     *
     * @param nodes a name that is given twice is called once
     * @param deadline of each call
     * @return an outcome for every node, in the order given
     */
    Map<String, RpcOutcome> multicast(Collection<String> nodes, String function, byte[] request, Duration deadline);

    /**
     * {@code LT_send}: puts a message into the port of that name at a node. When it returns, the message is in the port's
     * queue there, which has room for 256.
     *
     * @param message at most {@value #MESSAGE_BYTES_MAX} bytes
     * @throws LimitExceededException when it is longer
     * @throws RpcFailedException when nobody has the port open there
     * @throws NodeUnreachableException when the node is not connected, or was lost meanwhile
     * @throws LiteTimeoutException when there was no room, or no answer, until the deadline; it may have been delivered
     */
    void send(String node, String port, MemorySegment message, Duration deadline);

    /**
     * Opens a port at this session's node for messages.
     *
     * @throws LimitExceededException when the node has as many functions and ports as it may
     * @throws LmrPermissionException when another principal has the port open at this node
     */
    RpcMessages messages(String port);
}
