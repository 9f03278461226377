package dev.lite.node;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;

/** The node process. Exit status 1 when it cannot start; the end of the log says why. */
@SpringBootApplication
@EnableConfigurationProperties({ClusterProperties.class, NodeProperties.class, ProcessProperties.class})
public class LiteNodeApplication {

    /** Starts the node. */
    public static void main(String[] arguments) {
        SpringApplication.run(LiteNodeApplication.class, arguments);
    }
}
