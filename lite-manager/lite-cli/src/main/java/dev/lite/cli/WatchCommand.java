package dev.lite.cli;

import java.io.PrintWriter;
import java.time.Duration;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;

/** {@code lite watch}. */
@Command(
        name = "watch",
        description =
                "Prints what happens in the cluster, a line for each event: nodes, epochs, orders, the leader, ZooKeeper.",
        mixinStandardHelpOptions = true)
final class WatchCommand implements Callable<Integer> {
    private static final Duration FOREVER = Duration.ofDays(3650);

    @Mixin
    private final ManagerOptions options = new ManagerOptions();

    @Option(
            names = "--for",
            paramLabel = "DURATION",
            description = "How long to watch, for example 30s, 5m or 2h. Default: until interrupted")
    private @Nullable String span;

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() {
        if (spec == null) {
            throw new IllegalStateException("picocli did not set the command spec");
        }
        Duration length = span == null ? FOREVER : Spans.parse("--for", span, Duration.ofMillis(1), FOREVER);
        PrintWriter out = spec.commandLine().getOut();
        PrintWriter err = spec.commandLine().getErr();
        try (ManagerClient manager = options.open()) {
            new EventStream(manager, err::println).read(length, event -> {
                if (options.json()) {
                    out.println(event.json());
                } else {
                    String time = LocalTime.now(ZoneId.systemDefault())
                            .truncatedTo(ChronoUnit.SECONDS)
                            .toString();
                    lines(event.type(), event.data()).forEach(line -> out.printf("%s  %s%n", time, line));
                }
                return !out.checkError(); // flushes; an error means that nobody reads any more
            });
        }
        return ExitStatus.OK;
    }

    private static List<String> lines(String type, JsonNode data) {
        return switch (type) {
            case "state" -> state(data);
            case "nodes" -> nodes(data);
            case "epoch" ->
                List.of(epoch(data.path("number"), data.path("members").asInt(), data.path("pending")));
            case "orders" ->
                data.path("changed").valueStream().map(WatchCommand::order).toList();
            case "leadership" -> List.of(leadership(data));
            case "directory" -> List.of(directory(data));
            case "audit" -> List.of(audit(data));
            default -> List.of(type + " " + data);
        };
    }

    private static List<String> state(JsonNode data) {
        List<String> lines = new ArrayList<>();
        JsonNode epoch = data.path("epoch");
        lines.add("nodes: "
                + data.path("nodes")
                        .valueStream()
                        .map(node -> node.path("name").asString())
                        .collect(Collectors.joining(", ")));
        if (!epoch.isMissingNode()) {
            lines.add(epoch(epoch.path("number"), epoch.path("members").size(), epoch.path("removals")));
        }
        lines.add(leadership(data.path("leadership")));
        lines.add(directory(data.path("directory")));
        data.path("orders").path("open").forEach(order -> lines.add(order(order)));
        return lines;
    }

    private static List<String> nodes(JsonNode data) {
        List<String> lines = new ArrayList<>();
        data.path("joined")
                .forEach(node -> lines.add("node %s joined: id %s, incarnation %s"
                        .formatted(
                                node.path("name").asString(),
                                node.path("id").asString(),
                                node.path("incarnation").asString())));
        data.path("left")
                .forEach(node ->
                        lines.add("node %s left".formatted(node.path("name").asString())));
        return lines;
    }

    private static String epoch(JsonNode number, int members, JsonNode removals) {
        String waiting = removals.valueStream()
                .filter(removal -> !removal.path("fenced").asBoolean(false))
                .map(removal -> removal.path("name").asString())
                .collect(Collectors.joining(", "));
        return "epoch %s: %s%s"
                .formatted(
                        number.asString(),
                        Table.count(members, "member", "members"),
                        waiting.isEmpty() ? "" : "; removed, not fenced yet: " + waiting);
    }

    private static String order(JsonNode order) {
        String what = order.path("node").asString(order.path("lmr").asString(""));
        return "%s (%s%s)"
                .formatted(
                        ManagerClient.describe(order), order.path("kind").asString(), what.isEmpty() ? "" : " " + what);
    }

    private static String audit(JsonNode data) {
        return "%s at %s: %s %s %s: %s"
                .formatted(
                        data.path("client").asString(),
                        data.path("address").asString(),
                        data.path("method").asString(),
                        data.path("path").asString(),
                        data.path("body").asString(""),
                        data.path("status"));
    }

    private static String leadership(JsonNode data) {
        String managers =
                data.path("managers").valueStream().map(JsonNode::asString).collect(Collectors.joining(", "));
        return managers.isEmpty() ? "no manager leads" : "managers, the leader first: " + managers;
    }

    private static String directory(JsonNode data) {
        return "ZooKeeper is " + (data.path("available").asBoolean() ? "available" : "UNREACHABLE");
    }
}
