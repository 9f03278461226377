package dev.lite.samples.thumbnail;

import dev.lite.boot.client.ImportLtRpcClients;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.resilience.annotation.EnableResilientMethods;

/** Both services of the sample. The profile chooses one: {@code thumbnailer} or {@code gallery}. */
@SpringBootApplication
@ConfigurationPropertiesScan
@ImportLtRpcClients
@EnableResilientMethods
public class ThumbnailApplication {

    /** Starts the service. */
    public static void main(String[] arguments) {
        SpringApplication.run(ThumbnailApplication.class, arguments);
    }
}
