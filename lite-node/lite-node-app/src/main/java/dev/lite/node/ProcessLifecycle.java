package dev.lite.node;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.DirectoryListener;
import dev.lite.cluster.process.ExitMessage;
import dev.lite.cluster.process.ProcessEnd;
import dev.lite.cluster.process.ProcessUrls;
import dev.lite.cluster.process.ReadyFile;
import dev.lite.process.ProcessProperties;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.session.SessionServer;
import java.net.URI;
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

/** Publishes the process's addresses when it is ready, drains the node on shutdown, and ends the process when necessary. */
@Component
class ProcessLifecycle implements DisposableBean, DirectoryListener {
    private static final Logger log = LoggerFactory.getLogger(ProcessLifecycle.class);

    private final ProcessProperties process;
    private final SessionServer sessions;
    private final Environment environment;
    private final Departure departure;
    private final ClusterDirectory directory;
    private final @Nullable URI managementUrl;
    private final ApplicationContext context;
    private volatile boolean refused;
    private @Nullable ReadyFile readyFile;

    ProcessLifecycle(
            ProcessProperties process,
            SessionServer sessions,
            ClusterDirectory directory,
            LiteNode node,
            Departure departure,
            NodeProperties properties,
            ApplicationContext context) {
        this.process = process;
        this.sessions = sessions;
        this.environment = context.getEnvironment();
        this.departure = departure;
        this.directory = directory;
        this.managementUrl = properties.managementUrl();
        this.context = context;
        node.onLeave(() -> {
            log.info("stopping because an operator drained the node with the option to leave");
            System.exit(0);
        });
        directory.addListener(this);
        Long pid = process.exitWithPid();
        if (pid != null) {
            ProcessEnd.whenEnded(pid, () -> {
                log.info("stopping because process {} has ended", pid);
                System.exit(0);
            });
        }
    }

    @EventListener(ApplicationReadyEvent.class)
    void ready() {
        ProcessUrls urls = new ProcessUrls(environment::getProperty);
        String health = urls.health();
        directory.publishManagementUrl(managementUrl == null ? urls.management() : managementUrl.toString());
        log.info("node ready socket={} health={}", sessions.socket(), health);
        if (process.readyFile() != null) {
            Map<String, String> values = new LinkedHashMap<>();
            values.put("socket", sessions.socket().toString());
            values.put("health", health);
            readyFile = ReadyFile.write(process.readyFile(), values);
        }
    }

    /**
     * Runs on every shutdown (SIGTERM, the end of the process it is tied to, or an operator): before anything stops, the
     * memory moves to the remaining nodes, while applications keep working. Unless the container's hook has just done that, or
     * another process has the name of this node: an order to drain that name would be for that one.
     */
    @EventListener
    void leave(ContextClosedEvent closing) {
        boolean isOwn = closing.getApplicationContext() == context; // not of the management server's context
        if (!isOwn || refused || !departure.isEnabled()) {
            return;
        }
        Object unused = departure.drain();
    }

    /** Another process is the node of this name now. Two nodes with one name would both write to the same memory. */
    @Override
    public void registrationRefused(String reason) {
        refused = true;
        log.error("stopping because this process is no longer a node of the cluster: {}", reason);
        ExitMessage.write(process.exitMessageFile(), "this process is no longer a node of the cluster: " + reason);
        // Not on the directory's thread, because the shutdown waits for it.
        Thread unused = Thread.ofPlatform().name("lite-stop").start(() -> System.exit(1));
    }

    @Override
    public void destroy() {
        if (readyFile != null) {
            readyFile.close();
        }
    }
}
