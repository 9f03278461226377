package dev.lite.demo.app;

import dev.lite.api.Lite;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/** Only serves word counts for the extents on its node. */
@Component
@ConditionalOnProperty(name = "lite.demo.role", havingValue = "serve")
final class ServeRole extends MapperRole {

    ServeRole(DemoProperties properties, Lite lite) {
        super(properties, lite);
    }
}
