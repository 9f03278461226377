package dev.lite.boot.lock;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.aot.hint.annotation.Reflective;

/**
 * Runs a bean method under a lock of the cluster. The lock is acquired before the method, and released after the method has returned
 * or thrown.
 *
 * <pre>{@code
 * @LiteLock(value = "shop/stock/#{#article}", deadline = "2s")
 * void take(String article, int count) {
 *     stock.take(article, count, LiteLocks.current().fencingToken());
 * }
 * }</pre>
 *
 * <p>If the lock is not acquired before the deadline, the call throws {@link dev.lite.api.LiteTimeoutException} and the method does
 * not run. For other errors see {@link dev.lite.api.LtLock#acquire}. A method that was paused may have lost the lock: pass the fencing
 * token of {@link LiteLocks#current} with each write.
 *
 * <p><b>Nesting.</b> A nested call under the same name, on the same thread, runs under the lock that is already held.
 *
 * <p><b>Order.</b> The lock encloses the bean's other advice: a transaction that the method begins commits
 * before the lock is released. A transaction of its caller commits later, without the lock.
 *
 * <p><b>Limits.</b> A proxy of the bean acquires the lock, so calls from the bean to itself ({@code
 * this.take(…)}) do not acquire it. The start of the context fails if the method is private, static or final,
 * if it returns a future, a publisher, a {@code Callable} or another asynchronous result of Spring MVC, also in a
 * {@code ResponseEntity}, or if it or its class has Spring's {@code @Async}: the lock would not be held while
 * the method's work runs. Nor is it while the caller reads a {@link java.util.stream.Stream} or calls a lambda
 * that the method returned. It also fails if another proxy of the bean hides the annotation: one that Spring's
 * AOP did not make, one around another, or one that is frozen. If only the returned object shows that its work
 * is not done, such as the body of a {@code ResponseEntity<?>}, the call fails after the method has run.
 *
 * <p>The start also fails without an {@link dev.lite.api.LtSync}. The exception is an application without a
 * session and with {@code lite.client.enabled=false}: its methods run without their locks, and a warning says
 * so.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Reflective
public @interface LiteLock {
    /**
     * The lock's name. May have placeholders ({@code ${…}}), and expressions ({@code #{…}}) over the method's
     * parameters ({@code #article}) and the bean's properties. A variable that is no parameter fails the
     * start; an expression that is null fails the call, as does a null that its own {@code +} adds to a text. To see
     * that, the operands of {@code +} are evaluated twice.
     */
    String value();

    /** How long the method may wait for the lock, such as {@code 2s}. May have placeholders. Default: the session's deadline. */
    String deadline() default "";
}
