package dev.lite.cli;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
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
import tools.jackson.databind.node.MissingNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code lite top}. */
@Command(
        name = "top",
        description = {
            "Shows how many operations and bytes a second the applications at each node ask for, and those of each principal, from two readings of its counters.",
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

    /** The counters of a node at a time, and those of its sessions by their ids. */
    private record Reading(long atNs, JsonNode operations, Map<String, JsonNode> sessions) {}

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
                JsonNode state = node.path("state");
                Map<String, JsonNode> sessions = new HashMap<>();
                for (JsonNode session : state.path("sessions")) {
                    sessions.put(session.path("id").asString(), session);
                }
                readings.put(key, new Reading(nowNs, state.path("operations"), sessions));
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
            add(row, last.operations(), current.operations(), seconds);
            ArrayNode principals = row.putArray("principals");
            byPrincipal(last, current, seconds).forEach((principal, its) -> principals.add(its));
        }
        return rates;
    }

    /** The rates of a node's principals; a session that was not there before counts from 0. */
    private static Map<String, ObjectNode> byPrincipal(Reading last, Reading current, double seconds) {
        Map<String, ObjectNode> principals = new TreeMap<>();
        current.sessions().forEach((id, session) -> {
            String principal = session.path("principal").asString("");
            ObjectNode row = principals.computeIfAbsent(
                    principal, its -> ManagerClient.JSON.createObjectNode().put("principal", its));
            row.put("sessions", row.path("sessions").asInt(0) + 1);
            JsonNode then = last.sessions().getOrDefault(id, MissingNode.getInstance());
            add(row, then.path("operations"), session.path("operations"), seconds);
        });
        return principals;
    }

    /** Adds the rates between two readings of counters. */
    private static void add(ObjectNode row, JsonNode before, JsonNode now, double seconds) {
        long bytes = 0;
        for (String kind : KINDS) {
            JsonNode then = before.path(kind);
            JsonNode counted = now.path(kind);
            row.put(kind, row.path(kind).asDouble(0) + difference(counted, then, "operations") / seconds);
            bytes += difference(counted, then, "bytes");
        }
        row.put("bytes", row.path("bytes").asDouble(0) + bytes / seconds);
    }

    private static long difference(JsonNode now, JsonNode before, String field) {
        return Math.max(0, now.path(field).asLong(0) - before.path(field).asLong(0));
    }

    private static void print(ArrayNode rates, PrintWriter out) {
        Table table = new Table(
                "NODE",
                "PRINCIPAL",
                "SESSIONS",
                "READ/S",
                "WRITE/S",
                "ATOMIC/S",
                "MEMSET/S",
                "CALL/S",
                "LOCK/S",
                "BYTES/S");
        for (JsonNode row : rates) {
            String node = row.path("node").asString();
            table.row(cells(node, "(all)", row));
            for (JsonNode its : row.path("principals")) {
                table.row(cells(node, its.path("principal").asString(), its));
            }
        }
        table.print(out);
    }

    private static String[] cells(String node, String principal, JsonNode row) {
        String[] cells = new String[KINDS.size() + 4];
        cells[0] = node;
        cells[1] = principal;
        cells[2] = row.has("problem") ? "?" : row.path("sessions").asString();
        for (int kind = 0; kind < KINDS.size(); kind++) {
            JsonNode rate = row.path(KINDS.get(kind));
            cells[kind + 3] = rate.isNumber() ? String.format(Locale.ROOT, "%.0f", rate.asDouble()) : "?";
        }
        JsonNode bytes = row.path("bytes");
        cells[cells.length - 1] = bytes.isNumber() ? Table.size(Math.round(bytes.asDouble())) : "?";
        return cells;
    }
}
