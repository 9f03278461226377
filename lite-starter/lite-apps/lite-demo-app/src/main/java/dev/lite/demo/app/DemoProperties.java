package dev.lite.demo.app;

import java.nio.file.Path;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What one application of the demo shall do.
 *
 * @param role Which of the applications this is.
 * @param file File that is stored and compared.
 * @param result File that gets the results, as Java properties.
 * @param words Which runs of bytes count as words.
 * @param keep Whether the file stays in remote memory at the end.
 * @param deadline How long to wait for the other applications, beside the time that a file of this size may take.
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

    /** The slowest that storing and comparing may be, in bytes per second. */
    private static final long BYTES_PER_SECOND_MIN = 10_000_000;

    /** The applications. Every one of them counts words at its node. */
    public enum Role {
        /** Stores the file, has its words counted, measures. */
        STORE,
        /** Reads the file back and compares it with the disk. */
        COMPARE,
        /** Only counts. */
        SERVE
    }

    /** How long to wait for somebody who is busy with this many bytes. */
    Duration patience(long bytes) {
        return deadline.plusSeconds(bytes / BYTES_PER_SECOND_MIN);
    }
}
