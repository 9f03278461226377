package dev.lite.manager;

import dev.lite.process.ClusterProperties;
import dev.lite.process.NameCheck;
import dev.lite.process.ProcessProperties;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Import;

/** The manager process. Exit status 1 when it cannot start; the end of the log says why. */
@SpringBootApplication
@EnableConfigurationProperties({ClusterProperties.class, ManagerProperties.class, ProcessProperties.class})
@Import(NameCheck.class)
public class LiteManagerApplication {

    /** Starts the manager. */
    public static void main(String[] arguments) {
        SpringApplication.run(LiteManagerApplication.class, arguments);
    }
}
