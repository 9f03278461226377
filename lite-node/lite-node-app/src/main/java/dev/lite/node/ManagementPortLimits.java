package dev.lite.node;

import dev.lite.process.WebLimits;
import org.springframework.boot.actuate.autoconfigure.web.server.ConditionalOnManagementPort;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementPortType;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.context.annotation.Bean;

/**
 * The limits of the node's web server, for a management port of its own. Spring Boot imports this class into the context of that port;
 * it has no annotation, so that the node's own context does not find it.
 */
@ConditionalOnManagementPort(ManagementPortType.DIFFERENT)
@ConditionalOnBean(NodeConfiguration.class) // not in another application that has the node on its class path
class ManagementPortLimits {

    @Bean
    WebLimits managementLimits() {
        return new WebLimits();
    }
}
