package dev.lite.samples.ordercounter;

import dev.lite.boot.client.ImportLtRpcClients;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.resilience.annotation.EnableResilientMethods;

/** Both services of the sample. The profile chooses one: {@code warehouse} or {@code shop}. */
@SpringBootApplication
@ConfigurationPropertiesScan
@ImportLtRpcClients
@EnableResilientMethods
public class OrderCounterApplication {

    /** Starts the service. */
    public static void main(String[] arguments) {
        SpringApplication.run(OrderCounterApplication.class, arguments);
    }
}
