package dev.lite.rdma.vm;

import dev.lite.rdma.vm.Machine.Running;
import java.time.Duration;

/** The programs of the Debian package perftest. */
final class Perftest {
    private static final Duration DEADLINE = Duration.ofMinutes(1);
    private static final int PORT = 18515;
    private static final int TYPICAL_COLUMN = 4;
    /** Waits until the server listens, at most 10 seconds. */
    private static final String AWAIT_LISTENER =
            "i=0; until grep -q ':%04X .* 0A' /proc/net/tcp /proc/net/tcp6 || [ $i = 100 ]; do sleep 0.1; i=$((i+1)); done"
                    .formatted(PORT);

    private Perftest() {}

    /** The typical latency of a program such as ib_write_lat, in microseconds; the client runs in the second machine. */
    static double latencyUs(String program, Machine server, Machine client, int bytes, int iterations) {
        // -x 1: the GID of RoCE v2 with IPv4; -F: no warning about the processor's frequency
        String command = "%s -F -x 1 -p %d -s %d -n %d".formatted(program, PORT, bytes, iterations);
        Running serves = server.start("exec " + command);
        try {
            server.run(AWAIT_LISTENER, DEADLINE);
            String output = client.run("%s %s".formatted(command, server.address()), DEADLINE);
            serves.await(DEADLINE);
            return Double.parseDouble(output.lines()
                    .map(String::strip)
                    .filter(line -> line.startsWith(bytes + " "))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("no row of %d bytes: %s".formatted(bytes, output)))
                    .split("\\s+", -1)[TYPICAL_COLUMN]);
        } finally {
            if (serves.isRunning()) {
                serves.kill();
            }
        }
    }
}
