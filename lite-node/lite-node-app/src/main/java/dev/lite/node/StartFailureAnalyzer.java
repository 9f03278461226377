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

/** Says in words why the node cannot start. */
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
                "Start ZooKeeper, or correct lite.cluster.zookeeper (lite.cluster.auth.* when it refuses); lite.node.deadline says how long the node waits for it.";
            case NodeUnreachableException taken ->
                "Give this node another lite.node.name, or stop the other one; an arena of another cluster or name has to be removed or moved.";
            case LimitExceededException limit -> "Raise the limit, or take less.";
            case ArenaException arena -> "Correct lite.node.arena.*, or remove the arena if its content may be lost.";
            case FabricException fabric ->
                "Correct lite.fabric, lite.fabric.require or lite.node.fabrics, or what the message names.";
            case OsException os ->
                os.errno() == Errno.EADDRINUSE
                        ? "Another process listens there: give this node another lite.node.socket or lite.node.run-directory."
                        : "Correct lite.node.socket or lite.node.run-directory, or what the message names.";
            case IllegalArgumentException illegal -> isOurs(illegal) ? "Correct the configuration (lite.*)." : null;
            case UncheckedIOException io -> isOurs(io) ? "Look at the file that the message names." : null;
            default -> null;
        };
    }

    /** Whether one of our own checks refused a value; anything else keeps its stack trace. */
    private static boolean isOurs(Throwable cause) {
        StackTraceElement[] stack = cause.getStackTrace();
        return stack.length > 0 && stack[0].getClassName().startsWith("dev.lite.");
    }
}
