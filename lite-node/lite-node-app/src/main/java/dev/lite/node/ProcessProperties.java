package dev.lite.node;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * How the process gets on with whoever started it.
 *
 * @param readyFile Properties file that is written when the process is ready, with its addresses and its pid, and removed
 *     when it stops.
 * @param exitWithPid Number of a process with whose end this one stops too.
 */
@ConfigurationProperties("lite")
record ProcessProperties(@Nullable Path readyFile, @Nullable Long exitWithPid) {}
