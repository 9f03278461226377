package dev.lite.demo.app;

import java.nio.file.Path;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The settings of one application of the demo.
 *
 * @param role Role of this application.
 * @param file File to store and compare.
 * @param result File for the results, as Java properties.
 * @param words Definition of a word.
 * @param keep Whether to keep the file in remote memory at the end.
 * @param deadline How long to wait for the other applications, in addition to the time allowed for the file's size.
 * @param latencyTime Time for measuring each operation at each size.
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

    /** The lowest acceptable speed of storing and comparing, in bytes per second. */
    private static final long BYTES_PER_SECOND_MIN = 10_000_000;

    /** The roles. Every application counts words on its node. */
    public enum Role {
        /** Stores the file, requests the word counts, and measures latencies. */
        STORE,
        /** Reads the file back and compares it with the file on disk. */
        COMPARE,
        /** Only counts words. */
        SERVE
    }

    /** How long to wait for an application that processes this many bytes. */
    Duration timeout(long bytes) {
        return deadline.plusSeconds(bytes / BYTES_PER_SECOND_MIN);
    }
}
