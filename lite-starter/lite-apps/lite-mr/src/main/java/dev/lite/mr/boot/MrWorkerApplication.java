package dev.lite.mr.boot;

import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;

/**
 * A Spring Boot application that only works for a group. Put it beside any node, with the starter and the jobs on its class path. It needs
 * {@code lite.client.socket} and {@code lite.mr.group}.
 */
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class MrWorkerApplication {
    /** The same properties as for any application with the starter. */
    public static void main(String[] arguments) {
        application().run(arguments);
    }

    /** The application with its defaults. */
    static SpringApplication application() {
        SpringApplication application = new SpringApplication(MrWorkerApplication.class);
        application.setDefaultProperties(Map.of(
                "spring.application.name", "lite-mr-worker",
                // All threads of a worker are daemons.
                "spring.main.keep-alive", "true",
                "lite.mr.worker.enabled", "true"));
        return application;
    }
}
