package dev.lite.cli;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code lite top}. */
@Command(
        name = "top",
        description = {
            "Shows how many operations and bytes a second the applications at each node ask for, from two readings of its counters.",
            "Operations that applications carry out in mapped memory themselves, without their node, are not counted."
        },
        mixinStandardHelpOptions = true)
final class TopCommand implements Callable<Integer> {
    private static final List<String> KINDS = List.of("read", "write", "atomic", "memset", "call", "lock");
    private static final Duration EVERY_MIN = Duration.ofMillis(100);
    private static final Duration EVERY_MAX = Duration.ofHours(1);
    private static final double NS_PER_S = 1e9;

    @Mixin
    private final ManagerOptions options = new ManagerOptions();

    @Option(
            names = "--every",
            paramLabel = "DURATION",
            defaultValue = "2s",
            description = "The time between two readings. Default: ${DEFAULT-VALUE}")
    private String every = "2s";

    @Option(names = "--count", paramLabel = "N", description = "How many tables to print. Default: until interrupted")
    private @Nullable Integer count;

    @Spec
    private @Nullable CommandSpec spec;

    /** The counters of a node at a time. */
    private record Reading(long atNs, JsonNode operations) {}

    @Override
    public Integer call() {
        if (spec == null) {
            throw new IllegalStateException("picocli did not set the command spec");
        }
        if (count != null && count < 1) {
            throw new IllegalArgumentException("--count is %d; it must be at least 1".formatted(count));
        }
        Duration pause = Spans.parse("--every", every, EVERY_MIN, EVERY_MAX);
        PrintWriter out = spec.commandLine().getOut();
        try (ManagerClient manager = options.open()) {
            Map<String, Reading> before = readings(manager.get("/api/nodes?state=true"));
            for (int printed = 0; count == null || printed < count; printed++) {
                long endNs = System.nanoTime() + pause.toNanos();
                for (long leftNs = pause.toNanos();
                        leftNs > 0 && !Thread.currentThread().isInterrupted();
                        leftNs = endNs - System.nanoTime()) {
                    LockSupport.parkNanos(this, leftNs);
                }
                JsonNode nodes = manager.get("/api/nodes?state=true");
                Map<String, Reading> now = readings(nodes);
                ArrayNode rates = rates(nodes, before, now);
                if (options.json()) {
                    out.println(rates);
                } else {
                    print(rates, out);
                    out.println();
                }
                before = now;
                if (out.checkError() || Thread.currentThread().isInterrupted()) {
                    break; // nobody reads any more
                }
            }
        }
        return ExitStatus.OK;
    }

    private static Map<String, Reading> readings(JsonNode nodes) {
        long nowNs = System.nanoTime();
        Map<String, Reading> readings = new HashMap<>();
        for (JsonNode node : nodes) {
            if (node.has("state")) {
                // A node that was restarted counts from 0 again.
                String key = "%s/%s"
                        .formatted(
                                node.path("name").asString(),
                                node.path("incarnation").asString());
                readings.put(key, new Reading(nowNs, node.path("state").path("operations")));
            }
        }
        return readings;
    }

    private static ArrayNode rates(JsonNode nodes, Map<String, Reading> before, Map<String, Reading> now) {
        ArrayNode rates = ManagerClient.JSON.createArrayNode();
        for (JsonNode node : nodes) {
            String name = node.path("name").asString();
            String key = "%s/%s".formatted(name, node.path("incarnation").asString());
            ObjectNode row = rates.addObject().put("node", name);
            Reading last = before.get(key);
            Reading current = now.get(key);
            if (current == null) {
                row.put("problem", node.path("problem").asString("no state"));
                continue;
            }
            row.put("sessions", node.path("state").path("sessions").size());
            if (last == null) {
                continue; // the next table has its rates
            }
            double seconds = (current.atNs() - last.atNs()) / NS_PER_S;
            long bytes = 0;
            for (String kind : KINDS) {
                JsonNode then = last.operations().path(kind);
                JsonNode counted = current.operations().path(kind);
                row.put(kind, difference(counted, then, "operations") / seconds);
                bytes += difference(counted, then, "bytes");
            }
            row.put("bytes", bytes / seconds);
        }
        return rates;
    }

    private static long difference(JsonNode now, JsonNode before, String field) {
        return Math.max(0, now.path(field).asLong(0) - before.path(field).asLong(0));
    }

    private static void print(ArrayNode rates, PrintWriter out) {
        Table table = new Table(
                "NODE", "SESSIONS", "READ/S", "WRITE/S", "ATOMIC/S", "MEMSET/S", "CALL/S", "LOCK/S", "BYTES/S");
        for (JsonNode row : rates) {
            String[] cells = new String[KINDS.size() + 3];
            cells[0] = row.path("node").asString();
            cells[1] = row.has("problem") ? "?" : row.path("sessions").asString();
            for (int kind = 0; kind < KINDS.size(); kind++) {
                JsonNode rate = row.path(KINDS.get(kind));
                cells[kind + 2] = rate.isNumber() ? String.format(Locale.ROOT, "%.0f", rate.asDouble()) : "?";
            }
            JsonNode bytes = row.path("bytes");
            cells[cells.length - 1] = bytes.isNumber() ? Table.size(Math.round(bytes.asDouble())) : "?";
            table.row(cells);
        }
        table.print(out);
    }
}
