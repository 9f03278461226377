package dev.lite.demo.app;

import java.nio.file.Path;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What one application of the demo shall do.
 *
 * @param role Which of the two applications this is.
 * @param file File that is stored and compared.
 * @param result File that gets the results, as Java properties.
 * @param words Which runs of bytes count as words.
 * @param keep Whether the file stays in remote memory at the end.
 * @param deadline How long to wait for the other application without any progress of it.
 * @param latencyTime How long each operation is measured at each size.
 */
@ConfigurationProperties("lite.demo")
public record DemoProperties(
        Role role,
        Path file,
        Path result,
        @DefaultValue("any") WordRule words,
        @DefaultValue("false") boolean keep,
        @DefaultValue("60s") Duration deadline,
        @DefaultValue("400ms") Duration latencyTime) {

    /** The two applications. */
    public enum Role {
        /** Stores the file, counts the first half, measures. */
        STORE,
        /** Reads the file back, compares it with the disk, counts the second half. */
        COUNT
    }
}
