package dev.lite.test;

import dev.lite.api.Lite;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.boot.LiteRpcAutoConfiguration;
import dev.lite.boot.lock.LiteLockAutoConfiguration;
import dev.lite.boot.region.LiteRegionAutoConfiguration;
import dev.lite.embedded.EmbeddedCluster;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.context.ConfigurationPropertiesAutoConfiguration;
import org.springframework.boot.autoconfigure.context.PropertyPlaceholderAutoConfiguration;
import org.springframework.test.context.junit.jupiter.SpringExtension;

/**
 * Gives a test a cluster of embedded nodes in its own JVM, and the starter's beans on a session with the first node:
 *
 * <pre>{@code
 * @SpringBootTest
 * @LiteTest(nodes = 3)
 * class CountersTests {
 *     @Autowired Counters counters;
 *     @Autowired EmbeddedCluster cluster; // for sessions with the other nodes
 * }
 * }</pre>
 *
 * <p>Every application context has a fresh cluster, which ends with the context. Contexts that Spring caches work side by side. Tests
 * that share a context share the memory in it, as they share its beans.
 *
 * <p>Use it beside {@code @SpringBootTest} for the whole application; or alone, for the starter's beans and what the test's own
 * configuration adds. The application needs no node: {@code lite.embedded.*} and {@code lite.client.socket}
 * are not used, and {@code lite.client.enabled} is {@code true}, also if the properties of all tests switch
 * LITE off.
 */
@Documented
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(SpringExtension.class)
@ImportAutoConfiguration({
    ConfigurationPropertiesAutoConfiguration.class,
    PropertyPlaceholderAutoConfiguration.class,
    LiteClientAutoConfiguration.class,
    LiteRpcAutoConfiguration.class,
    LiteLockAutoConfiguration.class,
    LiteRegionAutoConfiguration.class
})
public @interface LiteTest {
    /** The number of nodes, 1 to {@value EmbeddedCluster#NODES_MAX}. They are called {@code node-1}, {@code node-2} and so on. */
    int nodes() default 1;

    /** The memory that each node contributes, such as {@code 16MB}; at least {@code 4MB}. */
    String arenaSize() default "16MB";

    /** The principal of the bean {@link Lite}. Default: the property {@code spring.application.name}, or {@code application}. */
    String principal() default "";
}
