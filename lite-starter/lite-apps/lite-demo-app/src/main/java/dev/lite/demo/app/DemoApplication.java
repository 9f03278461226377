package dev.lite.demo.app;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;

/** The demo's applications; the role is a property. */
@SpringBootApplication
@EnableConfigurationProperties(DemoProperties.class)
public class DemoApplication {

    /** Runs the role; the exit status is 0 only if every comparison held. */
    public static void main(String[] arguments) {
        System.exit(SpringApplication.exit(SpringApplication.run(DemoApplication.class, arguments)));
    }
}
