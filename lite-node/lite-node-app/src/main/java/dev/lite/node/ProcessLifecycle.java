package dev.lite.node;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.DirectoryListener;
import dev.lite.cluster.process.ProcessEnd;
import dev.lite.cluster.process.ReadyFile;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.session.SessionServer;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.ApplicationContext;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.core.env.Environment;
import org.springframework.stereotype.Component;

/** Tells where the process can be reached once it is ready, and ends it when it has to end. */
@Component
class ProcessLifecycle implements DisposableBean, DirectoryListener {
    private static final Logger log = LoggerFactory.getLogger(ProcessLifecycle.class);

    private final ProcessProperties process;
    private final SessionServer sessions;
    private final Environment environment;
    private final LiteNode node;
    private final Duration drainTimeout;
    private final ApplicationContext context;
    private @Nullable ReadyFile readyFile;

    ProcessLifecycle(
            ProcessProperties process,
            SessionServer sessions,
            ClusterDirectory directory,
            LiteNode node,
            NodeProperties properties,
            ApplicationContext context) {
        this.process = process;
        this.sessions = sessions;
        this.environment = context.getEnvironment();
        this.node = node;
        this.drainTimeout = properties.drainTimeout();
        this.context = context;
        node.onLeave(() -> {
            log.info("stopping because an operator had the node drained to leave");
            System.exit(0);
        });
        directory.addListener(this);
        Long pid = process.exitWithPid();
        if (pid != null) {
            ProcessEnd.whenEnded(pid, () -> {
                log.info("stopping because the process {} ended", pid);
                System.exit(0);
            });
        }
    }

    @EventListener(ApplicationReadyEvent.class)
    void ready() {
        String health = HealthUrl.of(environment);
        log.info("node ready socket={} health={}", sessions.socket(), health);
        if (process.readyFile() != null) {
            Map<String, String> values = new LinkedHashMap<>();
            values.put("socket", sessions.socket().toString());
            values.put("health", health);
            readyFile = ReadyFile.write(process.readyFile(), values);
        }
    }

    /**
     * SIGTERM, the end of whoever it is tied to, or an operator: before anything here stops, what is in the memory moves to
     * nodes that stay, while applications work on.
     */
    @EventListener
    void leave(ContextClosedEvent closing) {
        if (closing.getApplicationContext() != context || drainTimeout.isZero()) {
            return; // the management server's context has the same listeners
        }
        long startNs = System.nanoTime();
        String outcome =
                node.drain(drainTimeout).map(reason -> "kept: " + reason).orElse("empty");
        log.info(
                "node leaves name={} drain-ms={} memory={}",
                node.nodeName(),
                (System.nanoTime() - startNs) / 1_000_000,
                outcome);
    }

    /** Another process is the node of this name now; two of one name would both write to what is theirs. */
    @Override
    public void registrationRefused(String reason) {
        log.error("stopping because this process is not a node of the cluster any more: {}", reason);
        // Not on the directory's thread, which the shutdown waits for.
        Thread unused = Thread.ofPlatform().name("lite-stop").start(() -> System.exit(1));
    }

    @Override
    public void destroy() {
        if (readyFile != null) {
            readyFile.close();
        }
    }
}
