package dev.lite.boot;

import dev.lite.api.LtRpc;
import java.lang.reflect.Type;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.springframework.core.ParameterizedTypeReference;

/**
 * Calls functions with objects instead of bytes. {@link LtRpcHandler} lists the types; for a generic type, such as {@code List<Order>},
 * pass a {@link ParameterizedTypeReference}. For errors see {@link LtRpc#call}. Any thread.
 *
 * <p><b>Deadlines.</b> A call waits at most for the given deadline, or for the session's ({@code lite.client.deadline}, or {@code lite.embedded.deadline}).
 *
 * <p><b>Asynchronous calls.</b> The future completes exactly once: with the reply, or with the exception that {@code call} would throw.
 * A virtual thread converts the reply and runs the dependent stages. Cancelling the future does not stop the call. If the request
 * cannot be converted, the method itself throws.
 */
public final class LtRpcTemplate {

    private static final Executor VIRTUAL =
            work -> Thread.ofVirtual().name("lite-rpc-reply").start(work);

    private final LtRpc rpc;
    private final RpcBodies bodies;
    private final Duration deadline;
    private final CallObserver observer;

    LtRpcTemplate(LtRpc rpc, RpcBodies bodies, Duration deadline, CallObserver observer) {
        this.rpc = rpc;
        this.bodies = bodies;
        this.deadline = deadline;
        this.observer = observer;
    }

    /**
     * Calls a function and waits for its reply.
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
        return call(
                node,
                function,
                request,
                ParameterizedTypeReference.forType(Objects.requireNonNull(replyType, "replyType")),
                callDeadline);
    }

    /** {@link #call(String, String, Object, Class)} with a reply of a generic type. */
    public <R> @Nullable R call(
            String node, String function, @Nullable Object request, ParameterizedTypeReference<R> replyType) {
        return call(node, function, request, replyType, deadline);
    }

    /** {@link #call(String, String, Object, ParameterizedTypeReference)} with a deadline of its own. */
    public <R> @Nullable R call(
            String node,
            String function,
            @Nullable Object request,
            ParameterizedTypeReference<R> replyType,
            Duration callDeadline) {
        Objects.requireNonNull(replyType, "replyType");
        Objects.requireNonNull(callDeadline, "callDeadline");
        return decode(observer.call(rpc.bind(node, function), bodies.encode(request), callDeadline), replyType);
    }

    /** Starts a {@link #call(String, String, Object, Class)} and returns. */
    public <R> CompletableFuture<@Nullable R> callAsync(
            String node, String function, @Nullable Object request, Class<R> replyType) {
        return callAsync(node, function, request, replyType, deadline);
    }

    /** {@link #callAsync(String, String, Object, Class)} with a deadline of its own. */
    public <R> CompletableFuture<@Nullable R> callAsync(
            String node, String function, @Nullable Object request, Class<R> replyType, Duration callDeadline) {
        return callAsync(
                node,
                function,
                request,
                ParameterizedTypeReference.forType(Objects.requireNonNull(replyType, "replyType")),
                callDeadline);
    }

    /** {@link #callAsync(String, String, Object, Class)} with a reply of a generic type. */
    public <R> CompletableFuture<@Nullable R> callAsync(
            String node, String function, @Nullable Object request, ParameterizedTypeReference<R> replyType) {
        return callAsync(node, function, request, replyType, deadline);
    }

    /** {@link #callAsync(String, String, Object, ParameterizedTypeReference)} with a deadline of its own. */
    public <R> CompletableFuture<@Nullable R> callAsync(
            String node,
            String function,
            @Nullable Object request,
            ParameterizedTypeReference<R> replyType,
            Duration callDeadline) {
        Objects.requireNonNull(replyType, "replyType");
        Objects.requireNonNull(callDeadline, "callDeadline");
        return observer.callAsync(rpc.bind(node, function), bodies.encode(request), callDeadline)
                .<@Nullable R>thenApplyAsync(reply -> decode(reply, replyType), VIRTUAL);
    }

    /** {@link #call(String, String, Object, Class)} at any node that serves the function; see {@link LtRpc#bindAny}. */
    public <R> @Nullable R callAny(String function, @Nullable Object request, Class<R> replyType) {
        return callAny(function, request, replyType, deadline);
    }

    /** {@link #callAny(String, Object, Class)} with a deadline of its own. */
    public <R> @Nullable R callAny(
            String function, @Nullable Object request, Class<R> replyType, Duration callDeadline) {
        return callAny(
                function,
                request,
                ParameterizedTypeReference.forType(Objects.requireNonNull(replyType, "replyType")),
                callDeadline);
    }

    /** {@link #callAny(String, Object, Class)} with a reply of a generic type. */
    public <R> @Nullable R callAny(String function, @Nullable Object request, ParameterizedTypeReference<R> replyType) {
        return callAny(function, request, replyType, deadline);
    }

    /** {@link #callAny(String, Object, ParameterizedTypeReference)} with a deadline of its own. */
    public <R> @Nullable R callAny(
            String function, @Nullable Object request, ParameterizedTypeReference<R> replyType, Duration callDeadline) {
        Objects.requireNonNull(replyType, "replyType");
        Objects.requireNonNull(callDeadline, "callDeadline");
        return decode(observer.call(rpc.bindAny(function), bodies.encode(request), callDeadline), replyType);
    }

    /** Starts a {@link #callAny(String, Object, Class)} and returns. */
    public <R> CompletableFuture<@Nullable R> callAnyAsync(
            String function, @Nullable Object request, Class<R> replyType) {
        return callAnyAsync(function, request, replyType, deadline);
    }

    /** {@link #callAnyAsync(String, Object, Class)} with a deadline of its own. */
    public <R> CompletableFuture<@Nullable R> callAnyAsync(
            String function, @Nullable Object request, Class<R> replyType, Duration callDeadline) {
        return callAnyAsync(
                function,
                request,
                ParameterizedTypeReference.forType(Objects.requireNonNull(replyType, "replyType")),
                callDeadline);
    }

    /** {@link #callAnyAsync(String, Object, Class)} with a reply of a generic type. */
    public <R> CompletableFuture<@Nullable R> callAnyAsync(
            String function, @Nullable Object request, ParameterizedTypeReference<R> replyType) {
        return callAnyAsync(function, request, replyType, deadline);
    }

    /** {@link #callAnyAsync(String, Object, ParameterizedTypeReference)} with a deadline of its own. */
    public <R> CompletableFuture<@Nullable R> callAnyAsync(
            String function, @Nullable Object request, ParameterizedTypeReference<R> replyType, Duration callDeadline) {
        Objects.requireNonNull(replyType, "replyType");
        Objects.requireNonNull(callDeadline, "callDeadline");
        return observer.callAsync(rpc.bindAny(function), bodies.encode(request), callDeadline)
                .<@Nullable R>thenApplyAsync(reply -> decode(reply, replyType), VIRTUAL);
    }

    /** The deadline of calls that do not set their own. */
    public Duration deadline() {
        return deadline;
    }

    /** Whether requests and replies of this type can be converted. Without Jackson only bytes and text can. */
    public boolean supports(Type type) {
        return bodies.supports(Objects.requireNonNull(type, "type"));
    }

    @SuppressWarnings("unchecked")
    private <R> @Nullable R decode(byte[] reply, ParameterizedTypeReference<R> replyType) {
        return (R) bodies.decode(reply, replyType.getType());
    }
}
