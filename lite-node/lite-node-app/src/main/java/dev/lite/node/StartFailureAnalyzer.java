package dev.lite.node;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.cluster.process.StartException;
import dev.lite.fabric.FabricException;
import dev.lite.os.Errno;
import dev.lite.os.OsException;
import dev.lite.tier.memory.ArenaException;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/** Explains why the node cannot start. */
final class StartFailureAnalyzer implements FailureAnalyzer {

    @Override
    public @Nullable FailureAnalysis analyze(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String action = action(cause);
            if (action != null) {
                return new FailureAnalysis(cause.getMessage(), action, failure);
            }
        }
        return null;
    }

    private static @Nullable String action(Throwable cause) {
        return switch (cause) {
            case StartException start -> start.action();
            case ClusterUnavailableException unavailable ->
                "Start ZooKeeper, or correct lite.cluster.zookeeper (lite.cluster.auth.* if access is refused, lite.cluster.secret-file if it is about the secret, or a record is refused). The node waits for lite.node.deadline.";
            case NodeUnreachableException taken ->
                "Give this node another lite.node.name, or stop the other one; remove or move an arena that belongs to another cluster or name.";
            case LimitExceededException limit -> "Raise the limit, or request less.";
            case ArenaException arena -> "Correct lite.node.arena.*, or remove the arena if its content may be lost.";
            case FabricException fabric ->
                fabric.getCause() instanceof OsException os && os.errno() == Errno.EADDRINUSE
                        ? "Another process uses this address, perhaps a node of this host: give this node another lite.node.run-directory, lite.node.tcp.port or lite.node.rdma.port."
                        : "Correct lite.fabric, lite.fabric.require or lite.node.fabrics, or the setting named in the message.";
            case OsException os ->
                os.errno() == Errno.EADDRINUSE
                        ? "Another process uses this socket: give this node another lite.node.socket or lite.node.run-directory."
                        : "Correct lite.node.socket or lite.node.run-directory, or the setting named in the message.";
            case IllegalArgumentException illegal ->
                StartException.isOurs(illegal) ? "Correct the configuration (lite.*)." : null;
            case UncheckedIOException io -> StartException.isOurs(io) ? "Check the file named in the message." : null;
            default -> null;
        };
    }
}
