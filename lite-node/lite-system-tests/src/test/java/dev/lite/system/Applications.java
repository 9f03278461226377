package dev.lite.system;

import dev.lite.api.Lite;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.embedded.LiteEmbeddedAutoConfiguration;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.env.MapPropertySource;

/** Spring applications in this JVM, configured only by the starter. Any thread. */
final class Applications implements AutoCloseable {
    private final List<AnnotationConfigApplicationContext> contexts = new CopyOnWriteArrayList<>();

    /** Starts an application whose session survives restarts of the node. */
    Lite start(Path socket, Duration deadline) {
        Map<String, Object> properties = new HashMap<>();
        properties.put("lite.client.socket", socket.toString());
        properties.put("lite.client.application", "system-test");
        properties.put("lite.client.deadline", deadline.toMillis() + "ms");
        return start(LiteClientAutoConfiguration.class, properties);
    }

    /** Starts an application with an embedded node. */
    Lite startEmbedded(Map<String, Object> properties) {
        return start(LiteEmbeddedAutoConfiguration.class, properties);
    }

    private Lite start(Class<?> configuration, Map<String, Object> properties) {
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
        contexts.add(context);
        context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("test", properties));
        context.register(configuration);
        context.refresh();
        return context.getBean(Lite.class);
    }

    @Override
    public void close() {
        contexts.forEach(AnnotationConfigApplicationContext::close);
    }
}
