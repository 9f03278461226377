package dev.lite.manager;

import dev.lite.cluster.process.ProcessEnd;
import dev.lite.cluster.process.ProcessUrls;
import dev.lite.cluster.process.ReadyFile;
import dev.lite.manager.zookeeper.EmbeddedZooKeeper;
import dev.lite.process.ClusterProperties;
import dev.lite.process.ProcessProperties;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.event.EventListener;
import org.springframework.core.env.Environment;
import org.springframework.stereotype.Component;

/** Publishes the process's addresses when it is ready, and ends it together with the process that it is tied to. */
@Component
class ProcessLifecycle implements DisposableBean {
    private static final Logger log = LoggerFactory.getLogger(ProcessLifecycle.class);

    private final ProcessProperties process;
    private final ClusterProperties cluster;
    private final String zookeeper;
    private final boolean embedded;
    private final Environment environment;
    private @Nullable ReadyFile readyFile;

    ProcessLifecycle(
            ProcessProperties process,
            ClusterProperties cluster,
            ObjectProvider<EmbeddedZooKeeper> embeddedZooKeeper,
            Environment environment) {
        this.process = process;
        this.cluster = cluster;
        this.environment = environment;
        EmbeddedZooKeeper server = embeddedZooKeeper.getIfAvailable();
        embedded = server != null;
        zookeeper = server != null ? server.connectString() : String.valueOf(cluster.zookeeper());
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
        log.info(
                "manager started cluster={} zookeeper={} embedded={} url={} health={}",
                cluster.name(),
                zookeeper,
                embedded,
                urls.base(),
                health);
        if (process.readyFile() != null) {
            Map<String, String> values = new LinkedHashMap<>();
            values.put("zookeeper", zookeeper);
            values.put("url", urls.base());
            values.put("health", health);
            readyFile = ReadyFile.write(process.readyFile(), values);
        }
    }

    @Override
    public void destroy() {
        if (readyFile != null) {
            readyFile.close();
        }
    }
}
