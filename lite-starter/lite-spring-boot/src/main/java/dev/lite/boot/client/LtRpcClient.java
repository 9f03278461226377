package dev.lite.boot.client;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks an interface whose methods call functions, at one node or at any node that serves them. {@link ImportLtRpcClients} registers a
 * bean that implements it.
 *
 * <pre>{@code
 * @LtRpcClient(node = "${shop.node}", prefix = "shop/", deadline = "2s")
 * interface Shop {
 *     Receipt order(Order order);                              // calls the function "shop/order"
 *     CompletableFuture<List<Order>> open(String customer);
 *     @LtRpcExchange("stock") int stockOf(String article, Duration deadline);
 * }
 * }</pre>
 *
 * <p>A method has at most one parameter for the request, and optionally one of type {@link java.time.Duration} for its deadline. It
 * waits for the reply and returns it, or returns a {@link java.util.concurrent.CompletableFuture} of the reply. {@code void} and {@code
 * Void} ignore the reply. Requests and replies have the types of {@link dev.lite.boot.LtRpcHandler}; null sends an empty request. A
 * default method runs its own code. For errors see {@link dev.lite.boot.LtRpcTemplate}. Any thread.
 */
@Documented
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
public @interface LtRpcClient {
    /**
     * The name of the node that serves the functions. May have placeholders ({@code ${…}}); the resolved name must not be blank. Default:
     * any live node that serves the function ({@link dev.lite.api.LtRpc#bindAny}).
     */
    String node() default "";

    /** A prefix for the name of every function. May have placeholders. */
    String prefix() default "";

    /** The deadline of a call, such as {@code 2s} or {@code 500ms}. May have placeholders. Default: the session's deadline. */
    String deadline() default "";
}
