package dev.lite.boot.client;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.context.annotation.Import;
import org.springframework.core.annotation.AliasFor;

/**
 * Registers beans for interfaces with {@link LtRpcClient}: for the given types, and for those in the base packages and below. Without
 * types and packages it scans the package of the annotated class. A bean's name is the interface's full name; an interface that is
 * imported twice gets one bean. An invalid interface fails the start of the context.
 */
@Documented
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Import(LtRpcClientRegistrar.class)
public @interface ImportLtRpcClients {
    /** The same as {@link #types}. */
    @AliasFor("types")
    Class<?>[] value() default {};

    /** Interfaces with {@link LtRpcClient}. */
    @AliasFor("value")
    Class<?>[] types() default {};

    /** Packages to scan. May have placeholders. */
    String[] basePackages() default {};
}
