package dev.lite.embedded;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.boot.LiteClientAutoConfiguration;
import dev.lite.boot.LiteRpcAutoConfiguration;
import dev.lite.boot.LtRpcTemplate;
import dev.lite.boot.region.LiteRegion;
import dev.lite.boot.region.LiteRegionAutoConfiguration;
import dev.lite.boot.resilience.LiteResilienceAutoConfiguration;
import dev.lite.testing.Waits;
import dev.lite.tier.session.SessionServer;
import dev.lite.tier.session.SessionServerConfig;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.context.ConfigurationPropertiesAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** Two embedded nodes that also serve a socket, and the kinds of sessions with the first one. One thread. */
final class MisuseCluster {
    static final long ARENA_BYTES = 32 << 20;

    private final Path directory;
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private final EmbeddedCluster cluster;

    /** @param directory for the sockets */
    MisuseCluster(Path directory) {
        this.directory = directory;
        cluster = EmbeddedCluster.start(2, ARENA_BYTES);
        opened.push(cluster);
        for (EmbeddedNode node : cluster.nodes()) {
            SessionServer server = new SessionServer(SessionServerConfig.of(socket(node.name())), node.node());
            opened.push(server);
            server.start();
        }
        Waits.until(
                "the nodes are connected",
                () -> cluster.nodes().stream()
                        .allMatch(node -> node.node().nodes().stream()
                                        .map(NodeInfo::fabric)
                                        .noneMatch("none"::equals)
                                && node.node().nodes().size() == 2));
    }

    Path socket(String node) {
        return directory.resolve(node + ".sock");
    }

    /** Bytes of LMRs in both arenas. */
    long lmrBytes() {
        return cluster.nodes().stream()
                .mapToLong(node -> node.node().figures().lmrBytes())
                .sum();
    }

    Lite embedded(String principal) {
        return open(cluster.attach(principal));
    }

    Lite attached() {
        return open(Lite.attach(AttachOptions.to(socket("node-1"), "misuse")));
    }

    Lite reattaching() {
        return open(Lite.attach(AttachOptions.to(socket("node-1"), "misuse").withReattach(true)));
    }

    private Lite open(Lite lite) {
        opened.push(lite);
        return lite;
    }

    /** What an application with the starter gets. */
    record Starter(Lite lite, LtRpcTemplate template, LmrHandle region) {}

    Starter starter() {
        ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
                .web(WebApplicationType.NONE)
                .properties(
                        "spring.main.banner-mode=off",
                        "logging.level.root=warn",
                        "lite.client.socket=" + socket("node-1"),
                        "lite.client.resilience.bulkhead.enabled=true",
                        "lite.client.resilience.rate-limiter.enabled=true",
                        "lite.client.resilience.rate-limiter.limit-for-period=1000000")
                .run();
        opened.push(context);
        return new Starter(
                context.getBean(Lite.class),
                context.getBean(LtRpcTemplate.class),
                context.getBean(Regions.class).handle);
    }

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({
        ConfigurationPropertiesAutoConfiguration.class,
        LiteClientAutoConfiguration.class,
        LiteResilienceAutoConfiguration.class,
        LiteRpcAutoConfiguration.class,
        LiteRegionAutoConfiguration.class
    })
    @Import(Regions.class)
    static class Application {}

    /** A bean with a handle. */
    static final class Regions {
        final LmrHandle handle;

        Regions(
                @LiteRegion(
                                value = "misuse/region",
                                size = "4KB",
                                permissions = {Permission.READ, Permission.WRITE, Permission.ATOMIC, Permission.MASTER})
                        LmrHandle handle) {
            this.handle = handle;
        }
    }

    List<EmbeddedNode> nodes() {
        return cluster.nodes();
    }

    void close() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }
}
