package dev.lite.manager;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.cluster.process.StartException;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;

/** Explains why the manager cannot start. */
final class StartFailureAnalyzer implements FailureAnalyzer {

    @Override
    public @Nullable FailureAnalysis analyze(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof StartException start) {
                return new FailureAnalysis(start.getMessage(), start.action(), failure);
            }
            if (cause instanceof ClusterUnavailableException) {
                return new FailureAnalysis(
                        cause.getMessage(),
                        "Start ZooKeeper, or correct lite.cluster.zookeeper (lite.cluster.auth.* if access is refused, lite.cluster.secret-file if it is about the secret, or a record is refused). The manager waits for lite.manager.start-deadline.",
                        failure);
            }
            if (cause instanceof UncheckedIOException && StartException.isOurs(cause)) {
                return new FailureAnalysis(cause.getMessage(), "Check the file named in the message.", failure);
            }
            if (cause instanceof IllegalArgumentException && StartException.isOurs(cause)) {
                return new FailureAnalysis(cause.getMessage(), "Correct the configuration (lite.*).", failure);
            }
        }
        return null;
    }
}
