package dev.lite.boot;

import dev.lite.api.LtRpc;
import dev.lite.api.RpcCall;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A method of a bean that serves a function at this application's node, from when the context has started until it stops;
 * also again after the node was away.
 *
 * <p>It has a parameter for the request, or none, and may have one of type {@link RpcCall} beside it for who calls. The request
 * and the returned reply may be a {@code byte[]}, a {@code String} (UTF-8), a {@link java.lang.foreign.MemorySegment}, or, when
 * Jackson is on the class path, anything that it can map, records for instance (JSON). {@code void} and null reply nothing.
 * What it throws fails the call with the exception's message.
 *
 * <p>It runs on virtual threads and may block. See {@link LtRpc#register}.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface LtRpcHandler {
    /** The function's name. */
    String value();

    /** How many calls it carries out at once, 1 to {@value LtRpc#CONCURRENCY_MAX}; further ones wait at their callers, up to their deadlines. */
    int concurrency() default 16;
}
