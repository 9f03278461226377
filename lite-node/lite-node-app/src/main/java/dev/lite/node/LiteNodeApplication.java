package dev.lite.node;

import dev.lite.process.ClusterProperties;
import dev.lite.process.NameCheck;
import dev.lite.process.ProcessProperties;
import dev.lite.process.WebLimits;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Import;

/**
 * The node process. Exit status 1 when it cannot start, and {@value LastResort#STATUS} when it can be no node any more; the end of the
 * log says why.
 */
@SpringBootConfiguration(proxyBeanMethods = false)
@NodeAutoConfiguration
@EnableConfigurationProperties({ClusterProperties.class, NodeProperties.class, ProcessProperties.class})
@Import({
    NameCheck.class,
    WebLimits.class,
    NodeConfiguration.class,
    ManagementAccess.class,
    Departure.class,
    DrainEndpoint.class,
    NodeEndpoint.class,
    NodeHealthIndicator.class,
    NodeMetrics.class,
    QosEndpoint.class,
    QosMetrics.class,
    ProcessLifecycle.class
})
public class LiteNodeApplication {

    /** Starts the node. */
    public static void main(String[] arguments) {
        LastResort.install();
        SpringApplication.run(LiteNodeApplication.class, arguments);
    }
}
