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

/** Spring applications in this JVM, with what the starter gives them and nothing else. Any thread. */
final class Applications implements AutoCloseable {
    private final List<AnnotationConfigApplicationContext> contexts = new CopyOnWriteArrayList<>();

    /** Starts one; its LITE outlives the node's restarts. */
    Lite start(Path socket, Duration deadline) {
        Map<String, Object> properties = new HashMap<>();
        properties.put("lite.client.socket", socket.toString());
        properties.put("lite.client.application", "system-test");
        properties.put("lite.client.deadline", deadline.toMillis() + "ms");
        return start(LiteClientAutoConfiguration.class, properties);
    }

    /** Starts one with a node in it. */
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
