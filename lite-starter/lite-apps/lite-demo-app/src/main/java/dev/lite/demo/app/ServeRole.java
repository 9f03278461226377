package dev.lite.demo.app;

import dev.lite.api.Lite;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/** Counts the words of the extents at its node, when it is called to, and does nothing else. */
@Component
@ConditionalOnProperty(name = "lite.demo.role", havingValue = "serve")
final class ServeRole extends MapperRole {

    ServeRole(DemoProperties properties, Lite lite) {
        super(properties, lite);
    }
}
