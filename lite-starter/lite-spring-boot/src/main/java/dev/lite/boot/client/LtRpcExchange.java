package dev.lite.boot.client;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Sets the function that a method of an {@link LtRpcClient} calls, and its deadline. Needed only where the defaults do not fit. */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface LtRpcExchange {
    /** The function's name, without the client's prefix. May have placeholders. Default: the method's name. */
    String value() default "";

    /** The deadline of the call, such as {@code 2s}. May have placeholders. Default: the client's deadline. */
    String deadline() default "";
}
