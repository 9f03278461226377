package dev.lite.embedded;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.process.StartException;
import dev.lite.fabric.FabricException;
import dev.lite.tier.memory.ArenaException;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/** Explains why the application's own node cannot start. Other exceptions are left to others. */
final class EmbeddedStartFailureAnalyzer implements FailureAnalyzer {

    @Override
    public @Nullable FailureAnalysis analyze(Throwable failure) {
        boolean isNode = false;
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            isNode |= cause instanceof BeanCreationException creation
                    && LiteEmbeddedAutoConfiguration.NODE.equals(creation.getBeanName());
            String action = isNode ? action(cause) : null;
            if (action != null) {
                return new FailureAnalysis(
                        "The application could not start its own node: " + cause.getMessage(), action, failure);
            }
        }
        return null;
    }

    private static @Nullable String action(Throwable cause) {
        return switch (cause) {
            case StartException start -> start.action();
            case ClusterUnavailableException unavailable ->
                "Start ZooKeeper, or correct lite.embedded.zookeeper (lite.embedded.auth.* if access is refused, lite.embedded.secret-file if it is about the secret, or a record is refused). The node waits for lite.embedded.deadline.";
            case NodeUnreachableException taken -> "Give this node another lite.embedded.name, or stop the other one.";
            case ArenaException arena -> "Correct lite.embedded.arena-size or lite.embedded.arena-directory.";
            case FabricException fabric ->
                "Correct lite.embedded.fabric, lite.embedded.require, or the setting named in the message.";
            case IllegalArgumentException illegal -> StartException.isOurs(illegal) ? "Correct lite.embedded.*." : null;
            case UncheckedIOException io -> StartException.isOurs(io) ? "Check the file named in the message." : null;
            default -> null;
        };
    }
}
