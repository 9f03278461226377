package dev.lite.api;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * Calls and messages (paper §5.1). Applications serve functions at their node. Callers name the function, and the node or {@linkplain
 * #bindAny any node}. Any thread may call any method of this interface and of the objects it returns. Every method throws {@link
 * SessionLostException} when the session has ended.
 *
 * <p><b>Delivery.</b> A call is executed at most once. After a {@link LiteTimeoutException}, a {@link NodeUnreachableException} or a
 * {@link SessionLostException} it may have been executed or not. {@link RpcStatus} says so for an {@link RpcFailedException}.
 *
 * <p><b>Limits.</b> Requests and replies have at most {@value #MESSAGE_BYTES_MAX} bytes; put larger data into an LMR and send its id
 * or name. A caller that is faster than the server waits, up to its deadline. {@link #checkName} has the rules for names of functions
 * and ports.
 *
 * <p><b>Ownership.</b> LITE uses arrays and segments that are passed in only until the method returns. Asynchronous methods copy them.
 */
public interface LtRpc {
    /** The longest request and the longest reply, in bytes. */
    int MESSAGE_BYTES_MAX = 64 << 10;

    /** The longest context of a request, in bytes of UTF-8. Request and context have together at most {@link #MESSAGE_BYTES_MAX}. */
    int CONTEXT_BYTES_MAX = 512;

    /** The largest number of calls that one handler may execute at the same time. */
    int CONCURRENCY_MAX = 4096;

    /** The longest name of a function or port, in bytes of UTF-8. */
    int NAME_BYTES_MAX = 255;

    /**
     * {@code LT_regRPC} for a server with its own threads: this session serves the function at its node until the server is closed.
     * Several sessions of one principal may serve the same function; each call goes to one of them. Waits at most for the session's
     * deadline.
     *
     * @throws LimitExceededException when the node has reached its limit of functions and ports, or the name has a bad length
     * @throws LmrPermissionException when another principal serves the function at this node, or the session's principal may not use
     *     its name
     */
    RpcServer serve(String function);

    /**
     * {@code LT_regRPC} with a handler, which LITE runs on virtual threads, with the context class loader of the calling thread. For
     * errors see {@link #serve}.
     *
     * @param concurrency the largest number of calls that are executed at the same time, 1 to {@value #CONCURRENCY_MAX}
     * @throws IllegalArgumentException when the concurrency is out of range
     */
    RpcServer register(String function, int concurrency, RpcHandler handler);

    /**
     * Prepares calls of one function at one node. Sends nothing: the first call shows whether the function is served there.
     *
     * @param node the node's name; this session's own node is allowed
     * @throws LimitExceededException when the function's name has a bad length
     * @throws LmrPermissionException when the session's principal may not call functions of this name; an attached application gets it
     *     from the first call instead
     * @throws IllegalArgumentException when {@code node} or {@code function} cannot be a name
     */
    RpcClient bind(String node, String function);

    /**
     * Prepares calls of one function at any live node that serves it. Sends nothing.
     *
     * <p>A call goes to the session's own node if that serves the function. Otherwise it goes to the node with the fewest calls in flight
     * from this session's clients of the function; equal nodes take turns. If a node is not connected, or answers {@link
     * RpcStatus#NOT_SERVED} or {@link RpcStatus#OVERLOADED}, the call goes to the next node, and further calls skip that node for a second.
     * A call that may have been executed is never repeated. Other nodes find a new function after a moment.
     *
     * <p>Besides the exceptions of {@link #call}, calls throw {@link RpcFailedException} with {@link RpcStatus#NOT_SERVED}, at once, when
     * no connected node serves the function; and {@link ClusterUnavailableException} when the first call cannot read the directory.
     *
     * @throws LimitExceededException when the function's name has a bad length
     */
    RpcClient bindAny(String function);

    /** Calls a function at any live node that serves it; see {@link #bindAny}. */
    default byte[] callAny(String function, byte[] request, Duration deadline) {
        return bindAny(function).call(request, deadline);
    }

    /** Starts a {@link #callAny} and returns. The future completes exactly once, with the reply or the exception. */
    default CompletableFuture<byte[]> callAnyAsync(String function, byte[] request, Duration deadline) {
        return bindAny(function).callAsync(request, deadline);
    }

    /**
     * {@code LT_RPC}: calls a function and waits for its reply.
     *
     * @param node the node's name; this session's own node is allowed
     * @return the reply; the caller owns it
     * @throws RpcFailedException when the handler failed, or the function is not served at that node; see {@link RpcStatus}
     * @throws LmrPermissionException when the session's principal may not call functions of this name; nothing was called
     * @throws NodeUnreachableException when the node is not connected, or was lost during the call
     * @throws LiteTimeoutException when the deadline passed first
     * @throws LimitExceededException when the request is too long
     */
    default byte[] call(String node, String function, byte[] request, Duration deadline) {
        return bind(node, function).call(request, deadline);
    }

    /** Starts a {@link #call} and returns. The future completes exactly once, with the reply or the exception. */
    default CompletableFuture<byte[]> callAsync(String node, String function, byte[] request, Duration deadline) {
        return bind(node, function).callAsync(request, deadline);
    }

    /**
     * Calls the function at several nodes at the same time and waits until each has answered or failed. A {@link LiteException} of a call
     * becomes the outcome of its node.
     *
     * @param nodes the nodes' names; a duplicate is called once
     * @param deadline the deadline of each call
     * @return one outcome per node, in the order of {@code nodes}
     * @throws IllegalArgumentException when one of {@code nodes} cannot be a node's name; no node was called then
     */
    default Map<String, RpcOutcome> multicast(
            Collection<String> nodes, String function, byte[] request, Duration deadline) {
        for (String node : Objects.requireNonNull(nodes, "nodes")) {
            Names.requireNode("nodes", node);
        }
        Map<String, CompletableFuture<byte[]>> calls = new LinkedHashMap<>();
        for (String node : nodes) {
            calls.computeIfAbsent(node, each -> started(each, function, request, deadline));
        }
        Map<String, RpcOutcome> outcomes = new LinkedHashMap<>();
        calls.forEach((node, call) -> outcomes.put(node, outcome(call)));
        return outcomes;
    }

    /** A call that fails at once is an outcome, too. */
    private CompletableFuture<byte[]> started(String node, String function, byte[] request, Duration deadline) {
        try {
            return callAsync(node, function, request, deadline);
        } catch (LiteException failure) {
            return CompletableFuture.failedFuture(failure);
        }
    }

    private static RpcOutcome outcome(CompletableFuture<byte[]> call) {
        try {
            return new RpcOutcome(call.join(), null); // bounded by the call's deadline
        } catch (CompletionException e) {
            LiteException failure = e.getCause() instanceof LiteException known
                    ? known
                    : new RpcFailedException(RpcStatus.UNKNOWN, 0, "the call failed: " + e.getCause(), e);
            return new RpcOutcome(null, failure);
        }
    }

    /**
     * {@code LT_send}: puts a message into the queue of a port at a node, and returns when it is in the queue. A queue has room for 256
     * messages; when it is full, the sender waits.
     *
     * @param message at most {@value #MESSAGE_BYTES_MAX} bytes; used only during this call
     * @throws LimitExceededException when the message is too long
     * @throws RpcFailedException with {@link RpcStatus#NOT_SERVED} when no session has the port open at that node
     * @throws LmrPermissionException when the session's principal may not send to ports of this name
     * @throws NodeUnreachableException when the node is not connected, or was lost meanwhile; the message may have been delivered
     * @throws LiteTimeoutException when the queue stayed full or no answer came before the deadline; the message may have been delivered
     */
    void send(String node, String port, MemorySegment message, Duration deadline);

    /**
     * Opens a port for messages at this session's node. Waits at most for the session's deadline.
     *
     * @throws LimitExceededException when the node has reached its limit of functions and ports, or the name has a bad length
     * @throws LmrPermissionException when another principal has the port open at this node, or the session's principal may not use its
     *     name
     */
    RpcMessages messages(String port);

    /**
     * Checks the name of a function or port.
     *
     * @return the name
     * @throws LimitExceededException when it is empty or longer than {@value #NAME_BYTES_MAX} bytes of UTF-8
     * @throws IllegalArgumentException when it is blank, contains a control character, or is no valid Unicode
     */
    static String checkName(String name) {
        int bytes = Names.bytes(Objects.requireNonNull(name, "the name of a function or port"));
        if (bytes == 0 || bytes > NAME_BYTES_MAX) {
            throw new LimitExceededException(
                    "the name \"%s\" of a function or port has %d bytes of UTF-8; it must have 1 to %d"
                            .formatted(Names.shown(name), bytes, NAME_BYTES_MAX));
        }
        Names.requireText("the name of a function or port", "name", name);
        return name;
    }

    /**
     * Checks a context.
     *
     * @return its UTF-8
     * @throws LimitExceededException when it is empty or longer than {@value #CONTEXT_BYTES_MAX} bytes of UTF-8
     */
    static byte[] checkContext(String context) {
        byte[] bytes = Objects.requireNonNull(context, "context").getBytes(StandardCharsets.UTF_8);
        if (bytes.length == 0 || bytes.length > CONTEXT_BYTES_MAX) {
            throw new LimitExceededException("the context of a request has %d bytes of UTF-8; it must have 1 to %d"
                    .formatted(bytes.length, CONTEXT_BYTES_MAX));
        }
        return bytes;
    }

    /**
     * Checks the concurrency of a handler.
     *
     * @throws IllegalArgumentException when it is not 1 to {@value #CONCURRENCY_MAX}
     */
    static void checkConcurrency(String function, int concurrency) {
        if (concurrency < 1 || concurrency > CONCURRENCY_MAX) {
            throw new IllegalArgumentException("the concurrency of the function \"%s\" is %d; it must be 1 to %d"
                    .formatted(function, concurrency, CONCURRENCY_MAX));
        }
    }
}
