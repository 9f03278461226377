package dev.lite.cli;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Placement;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code lite bench}. */
@Command(
        name = "bench",
        description = {
            "Measures the latency of reads of 64 bytes from here to memory on each node, one after the other, by one thread.",
            "It uses 4 KiB on each node, which are freed when it ends, however it ends."
        },
        mixinStandardHelpOptions = true)
final class BenchCommand extends DataCommands.Data {
    private static final int READ_BYTES = 64;
    private static final int LMR_BYTES = 4096;
    private static final int COUNT_MAX = 10_000_000;
    private static final double NS_PER_US = 1000;
    private static final double P99 = 0.99;

    @Option(
            names = "--count",
            paramLabel = "N",
            defaultValue = "20000",
            description = "The number of reads of each node. Default: ${DEFAULT-VALUE}")
    private int count = 20_000;

    @Option(names = "--json", description = "Prints JSON; latencies are nanoseconds")
    private boolean json;

    @Override
    void validate() {
        if (count < 1 || count > COUNT_MAX) {
            throw new IllegalArgumentException("--count is %d; it must be 1 to %d".formatted(count, COUNT_MAX));
        }
    }

    @Override
    void act(Lite lite) {
        ArrayNode rows = ManagerClient.JSON.createArrayNode();
        for (NodeInfo node : lite.nodes()) {
            ObjectNode row = rows.addObject().put("node", node.name()).put("fabric", node.fabric());
            // It belongs to the session: the node frees it also if this process is killed.
            LmrSpec spec = LmrSpec.of(LMR_BYTES).withPlacement(Placement.on(node.name()));
            try (LmrHandle handle = lite.memory().malloc(spec)) {
                measure(handle, row);
                handle.free();
            } catch (LiteException e) {
                row.put("problem", e.getMessage());
            }
        }
        if (json) {
            out().println(rows.toPrettyString());
        } else {
            print(rows);
        }
        out().flush();
    }

    private void measure(LmrHandle handle, ObjectNode row) {
        MemorySegment destination = MemorySegment.ofArray(new byte[READ_BYTES]);
        long[] nanos = new long[count];
        for (int read = 0; read < count; read++) { // warms up
            handle.read(0, destination);
        }
        for (int read = 0; read < count; read++) {
            long startNs = System.nanoTime();
            handle.read(0, destination);
            nanos[read] = System.nanoTime() - startNs;
        }
        Arrays.sort(nanos);
        row.put("minNs", nanos[0]).put("medianNs", nanos[count / 2]).put("p99Ns", nanos[(int) (count * P99)]);
    }

    private void print(ArrayNode rows) {
        Table table = new Table("NODE", "FABRIC", "MIN µs", "MEDIAN µs", "P99 µs");
        rows.forEach(row -> table.row(
                row.path("node").asString(),
                row.path("fabric").asString(),
                micros(row.path("minNs").asLong(-1)),
                micros(row.path("medianNs").asLong(-1)),
                micros(row.path("p99Ns").asLong(-1))));
        table.print(out());
        rows.forEach(row -> {
            if (row.has("problem")) {
                out().println(row.path("node").asString() + ": "
                        + row.path("problem").asString());
            }
        });
    }

    private static String micros(long nanos) {
        return nanos < 0 ? "?" : String.format(Locale.ROOT, "%.1f", nanos / NS_PER_US);
    }
}
