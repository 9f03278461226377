package dev.lite.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Two processes of the native program {@code ucx_perftest} (Debian package {@code ucx-utils}), which poll without a pause. They
 * run in a network namespace of their own, because the program listens at all addresses. Used by one thread.
 */
final class Ucx {
    /** The server accepts one client and has no sign that it listens, so the client tries until it does. */
    private static final String SCRIPT = """
            ip link set lo up
            ucx_perftest -p 13337 >/dev/null 2>&1 &
            for try in $(seq 50); do
              sleep 0.1
              ucx_perftest 127.0.0.1 -p 13337 -v "$@" && exit
            done
            exit 1
            """;

    private static final Duration END = Duration.ofSeconds(60);
    private static final int FIRST_COUNT = 1_000;
    private static final int COUNT_MAX = 50_000_000;
    private static final int WARM_UP_SHARE = 10;
    private static final double S_TO_NS = 1e9;

    private final Map<String, String> environment;

    /** @param transports for the variable {@code UCX_TLS}: {@code posix} for shared memory, or {@code tcp} */
    Ucx(String transports) {
        environment = Map.of("UCX_TLS", transports + ",self", "UCX_NET_DEVICES", "lo", "UCX_WARN_UNUSED_ENV_VARS", "n");
    }

    /** How many operations take about this time. */
    int count(String test, int bytes, long totalNs) throws IOException {
        return (int) Math.clamp(totalNs / nanoseconds(test, bytes, FIRST_COUNT), FIRST_COUNT, COUNT_MAX);
    }

    /**
     * Nanoseconds per operation, one at a time; of a ping-pong for each direction.
     *
     * @param test of {@code ucx_perftest -t}
     */
    double nanoseconds(String test, int bytes, int count) throws IOException {
        List<String> command = new ArrayList<>(List.of("unshare", "--map-root-user", "--net"));
        command.addAll(List.of("--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", SCRIPT, "ucx"));
        Collections.addAll(command, "-t", test, "-s", Integer.toString(bytes), "-O", "1");
        Collections.addAll(command, "-n", Integer.toString(count), "-w", Integer.toString(count / WARM_UP_SHARE));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        Process process = builder.start();
        String output;
        try {
            output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!process.waitFor(END.toSeconds(), TimeUnit.SECONDS) || process.exitValue() != 0) {
                throw new IOException("ucx_perftest failed: " + output.strip());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } finally {
            process.destroyForcibly();
        }
        String last = output.strip().lines().toList().getLast();
        // iterations, median, average and overall latency, average and overall bandwidth, average and overall rate
        String[] fields = last.split(",", -1);
        try {
            return S_TO_NS / Double.parseDouble(fields[fields.length - 1]);
        } catch (NumberFormatException e) {
            throw new IOException("not the figures of ucx_perftest: " + last, e);
        }
    }
}
