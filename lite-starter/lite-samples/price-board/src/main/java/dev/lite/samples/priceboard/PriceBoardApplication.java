package dev.lite.samples.priceboard;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.resilience.annotation.EnableResilientMethods;
import org.springframework.scheduling.annotation.EnableScheduling;

/** Both services of the sample. The profile chooses one: {@code publisher} or {@code viewer}. */
@SpringBootApplication
@ConfigurationPropertiesScan
@EnableScheduling
@EnableResilientMethods
public class PriceBoardApplication {

    /** Starts the service. */
    public static void main(String[] arguments) {
        SpringApplication.run(PriceBoardApplication.class, arguments);
    }
}
