package dev.lite.boot.lock;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.aot.hint.annotation.Reflective;

/**
 * Runs a bean method under a lock of the cluster: it is acquired before the method, and released after it has returned or thrown.
 *
 * <pre>{@code
 * @LiteLock(value = "shop/stock/#{#article}", deadline = "2s")
 * void take(String article, int count) {
 *     stock.take(article, count, LiteLocks.current().fencingToken());
 * }
 * }</pre>
 *
 * <p>If the lock is not acquired before the deadline, the call throws {@link dev.lite.api.LiteTimeoutException} and the method does
 * not run. For other errors see {@link dev.lite.api.LtLock#acquire}. {@link LiteLocks#current} returns the lock, with its fencing
 * token: a method that was paused may have lost the lock.
 *
 * <p><b>Nesting.</b> A method that is called under the lock of the same name, on the same thread, runs under that lock.
 *
 * <p><b>Order.</b> The lock is outside of the bean's other advice: a transaction commits before the lock is released.
 *
 * <p><b>Limits.</b> The lock is acquired by a proxy of the bean, so calls from the bean to itself ({@code this.take(…)}) do not acquire
 * it. A private, static or final method, one that returns a future or a publisher, and one with Spring's {@code @Async}, on it or on
 * its class, fails the start of the context: the lock would not be held while it runs.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Reflective
public @interface LiteLock {
    /**
     * The lock's name. May have placeholders ({@code ${…}}), and expressions ({@code #{…}}) over the method's parameters ({@code
     * #article}) and the bean's properties. An expression that is null fails the call.
     */
    String value();

    /** How long the method may wait for the lock, such as {@code 2s}. May have placeholders. Default: the session's deadline. */
    String deadline() default "";
}
