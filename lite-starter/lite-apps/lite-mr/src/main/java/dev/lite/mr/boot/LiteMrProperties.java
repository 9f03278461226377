package dev.lite.mr.boot;

import dev.lite.mr.MapReduce;
import dev.lite.mr.WorkerOptions;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Properties of LITE-MR.
 *
 * @param group Name of the group, whose jobs this application runs or works for; 1 to 64 characters.
 * @param workerTimeout How long a worker may do nothing at all before the master counts it as lost. A killed worker is lost at once.
 * @param groupTimeout How long a job waits while another process runs jobs of the group.
 * @param worker The worker in this application.
 */
@ConfigurationProperties("lite.mr")
public record LiteMrProperties(
        @DefaultValue("default") String group,
        @DefaultValue("10s") Duration workerTimeout,
        @DefaultValue("1m") Duration groupTimeout,
        @DefaultValue Worker worker) {

    /** Checks the values. */
    public LiteMrProperties {
        if (group.isBlank() || group.length() > MapReduce.GROUP_CHARS_MAX) {
            throw new IllegalArgumentException("lite.mr.group is \"%s\"; it must have 1 to %d characters"
                    .formatted(group, MapReduce.GROUP_CHARS_MAX));
        }
        checkPositive("lite.mr.worker-timeout", workerTimeout);
        checkPositive("lite.mr.group-timeout", groupTimeout);
    }

    private static void checkPositive(String property, Duration value) {
        if (value.isNegative() || value.isZero()) {
            throw new IllegalArgumentException("%s is %s; it must be positive".formatted(property, value));
        }
    }

    /**
     * The worker in this application.
     *
     * @param enabled Whether this application works for the group.
     * @param threads How many tasks it executes at the same time, 1 to 256. Default: the number of processors.
     */
    public record Worker(
            @DefaultValue("false") boolean enabled,
            @Nullable Integer threads) {
        /** Checks the value. */
        public Worker {
            if (threads != null && (threads < 1 || threads > WorkerOptions.THREADS_MAX)) {
                throw new IllegalArgumentException("lite.mr.worker.threads is %d; it must be 1 to %d"
                        .formatted(threads, WorkerOptions.THREADS_MAX));
            }
        }
    }

    WorkerOptions options() {
        WorkerOptions options = WorkerOptions.of(group);
        return worker.threads == null ? options : options.withThreads(worker.threads);
    }
}
