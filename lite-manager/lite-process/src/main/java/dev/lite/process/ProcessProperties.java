package dev.lite.process;

import dev.lite.cluster.process.PropertyChecks;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * The connection between this process and its launcher.
 *
 * @param readyFile Properties file with the process's addresses and pid, written when it is ready and removed when it
 *     stops.
 * @param exitWithPid Id of a process; when that process ends, this one stops too.
 * @param exitMessageFile File to which the process writes why it could not start or stopped by itself, such as the
 *     terminationMessagePath of a container.
 */
@ConfigurationProperties("lite")
public record ProcessProperties(
        @Nullable Path readyFile,
        @Nullable Long exitWithPid,
        @Nullable Path exitMessageFile) {
    /** Checks the values. */
    public ProcessProperties {
        if (exitWithPid != null) {
            PropertyChecks.range("lite.exit-with-pid", exitWithPid, 1, Integer.MAX_VALUE);
        }
    }
}
