package dev.lite.boot.region;

import dev.lite.api.Permission;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.beans.factory.annotation.Qualifier;

/**
 * Injects a handle of a named LMR, as an {@link dev.lite.api.LmrHandle}:
 *
 * <pre>{@code
 * Counters(@LiteRegion(value = "shop/counters", size = "1MB") LmrHandle counters) { … }
 * }</pre>
 *
 * <p>The first use of the handle, not its injection, maps the LMR. With a size it creates a missing LMR; see {@link
 * dev.lite.api.LtMemory#createOrMap(dev.lite.api.LmrSpec, java.util.Set)}. Concurrent first uses map once. A first use that fails
 * throws the exception of {@code LtMemory}, and the next use tries again.
 *
 * <p>Injection points with equal attributes share the handle. The context owns it, and unmaps it after the
 * beans that use it are destroyed; the LMR stays. Like any handle, it stays that of the LMR that it mapped:
 * after that is freed, uses throw {@link dev.lite.api.LmrFreedException}, also if a new LMR gets the name. To
 * continue with that, map it by {@code LtMemory}. A field needs {@code @Autowired} as well.
 *
 * <p>This session's node stores an LMR that is created here. For another placement create it by {@code LtMemory} before the first use.
 */
@Documented
@Target({ElementType.FIELD, ElementType.PARAMETER})
@Retention(RetentionPolicy.RUNTIME)
@Qualifier(LiteRegionAutoConfiguration.BEAN)
public @interface LiteRegion {
    /** The LMR's name. May have placeholders ({@code ${…}}). */
    String value();

    /** The LMR's size, such as {@code 64MB} or {@code 4096}. May have placeholders. Default: the LMR must exist. */
    String size() default "";

    /** The permissions of the handle; at least one. */
    Permission[] permissions() default {Permission.READ, Permission.WRITE, Permission.ATOMIC};

    /** The permissions of other principals on an LMR that is created here. Only with a size. */
    Permission[] defaultPermissions() default {};
}
