package dev.lite.boot;

import dev.lite.api.LtRpc;
import dev.lite.api.RpcCall;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.aot.hint.annotation.Reflective;

/**
 * Marks a bean method that serves a function at this application's node while the context runs. The function is served again after the
 * node has restarted.
 *
 * <p>The method has at most one parameter for the request, and optionally one of type {@link RpcCall} for the caller. Request and
 * reply may be a {@code byte[]}, a {@code String} (UTF-8) or a {@link java.lang.foreign.MemorySegment}. With Jackson on the class path
 * they may be of any type that it can map, such as a record (JSON). {@code void} and null send an empty reply. A
 * {@link dev.lite.api.RpcHandlerException} fails the call with its code and message. Any other exception also fails the call; its text
 * appears only in this application's log.
 *
 * <p>The method runs on virtual threads and may block. It returns the reply itself: the start of the context fails if the method returns
 * a future, a publisher, a {@code Callable} or another asynchronous result of Spring MVC, or if it or its
 * class has Spring's {@code @Async}. If only the returned object shows that, such as the body of a
 * {@code ResponseEntity<?>}, the call fails. See {@link LtRpc#register}. An application with a handler
 * keeps running until its context is closed, like a web server.
 *
 * <p>The bean must be a singleton: another scope fails the start. It may be behind proxies of Spring's AOP, if
 * they have the method. The start also fails if another proxy of the bean hides the annotation. A
 * bean that is created late, such as one with {@link org.springframework.context.annotation.Lazy}, serves its
 * functions from then on. With {@code spring.main.lazy-initialization} beans with handlers are nevertheless
 * created at the start, but only if the type that their {@code @Bean} method declares has the annotated
 * method. If that is an interface without it, the bean is created late, too: declare the class.
 *
 * <p>The start also fails without an {@link LtRpc}. The exception is an application without a session and with {@code
 * lite.client.enabled=false}: its methods are not served, and a warning says so.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Reflective(RpcReflectionHints.class)
public @interface LtRpcHandler {
    /**
     * The function's name. May have placeholders ({@code ${…}}). Two methods of an application cannot serve
     * the same function. Two beans with the same method can; each has its own {@link #concurrency}.
     */
    String value();

    /** How many calls run at the same time, 1 to {@value LtRpc#CONCURRENCY_MAX}. Further callers wait, up to their deadlines. */
    int concurrency() default 16;
}
