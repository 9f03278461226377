package dev.lite.tier.testing;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricError;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricProvider;
import java.util.Optional;

/**
 * A driver whose new connections a test watches, or holds up.
 *
 * @param watcher called on the poll thread of the node that has a new connection
 */
public record WatchedDriver(FabricProvider driver, Watcher watcher) implements FabricProvider {
    /** What a test does at a new connection. */
    @FunctionalInterface
    public interface Watcher {
        /**
         * A node has a new connection.
         *
         * @param node the node's name
         * @param accepted whether its peer made the connection
         * @param report tells the node; must be called once
         */
        void connected(String node, boolean accepted, Runnable report);
    }

    @Override
    public String name() {
        return driver.name();
    }

    @Override
    public Optional<String> unavailable() {
        return driver.unavailable();
    }

    @Override
    public Fabric open(FabricConfig config, FabricHandler handler) {
        return driver.open(config, new FabricHandler() {
            @Override
            public void connected(FabricEndpoint endpoint, boolean accepted) {
                watcher.connected(config.node(), accepted, () -> handler.connected(endpoint, accepted));
            }

            @Override
            public void disconnected(FabricEndpoint endpoint, String reason) {
                handler.disconnected(endpoint, reason);
            }

            @Override
            public void immediate(FabricEndpoint endpoint, int immediate) {
                handler.immediate(endpoint, immediate);
            }

            @Override
            public void completed(FabricEndpoint endpoint, long context) {
                handler.completed(endpoint, context);
            }

            @Override
            public void failed(FabricEndpoint endpoint, long context, FabricError error) {
                handler.failed(endpoint, context, error);
            }
        });
    }
}
