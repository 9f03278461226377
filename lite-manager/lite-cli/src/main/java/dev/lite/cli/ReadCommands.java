package dev.lite.cli;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;

/** Read-only commands. */
final class ReadCommands {
    private ReadCommands() {}

    /** The common part: ask a manager, then print a table or JSON. */
    abstract static class Read implements Callable<Integer> {
        @Mixin
        private final ManagerOptions options = new ManagerOptions();

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            if (spec == null) {
                throw new IllegalStateException("picocli did not set the command spec");
            }
            PrintWriter out = spec.commandLine().getOut();
            try (ManagerClient manager = options.open()) {
                JsonNode answer = ask(manager);
                if (options.json()) {
                    out.println(answer.toPrettyString());
                } else {
                    print(manager, answer, out);
                }
                out.flush();
                return exitStatus(answer);
            }
        }

        abstract JsonNode ask(ManagerClient manager);

        abstract void print(ManagerClient manager, JsonNode answer, PrintWriter out);

        int exitStatus(JsonNode answer) {
            return ExitStatus.OK;
        }
    }

    /** {@code lite status}. */
    @Command(
            name = "status",
            description =
                    "Shows the leader and the state of the cluster. Exit status 1 when no manager leads or ZooKeeper is unreachable.",
            mixinStandardHelpOptions = true)
    static final class Status extends Read {
        @Override
        JsonNode ask(ManagerClient manager) {
            var status = ManagerClient.JSON.createObjectNode();
            status.set("manager", manager.get("/api/manager"));
            status.set("nodes", manager.get("/api/nodes"));
            status.set("epoch", manager.get("/api/epochs"));
            return status;
        }

        @Override
        void print(ManagerClient manager, JsonNode answer, PrintWriter out) {
            JsonNode view = answer.path("manager");
            long draining = stream(answer.path("nodes"))
                    .filter(node -> node.path("draining").asBoolean())
                    .count();
            long pending = stream(answer.path("epoch").path("removals"))
                    .filter(removal -> !removal.path("fenced").asBoolean())
                    .count();
            out.printf("cluster    %s%n", view.path("cluster").asString());
            out.printf(
                    "manager    %s at %s%s%n",
                    view.path("name").asString(),
                    manager.manager(),
                    view.path("leads").asBoolean() ? ", leads" : "");
            out.printf("leader     %s%n", view.path("leader").asString("(none)"));
            out.printf("managers   %s%n", join(view.path("managers")));
            out.printf("ZooKeeper  %s%n", view.path("directoryAvailable").asBoolean() ? "available" : "UNREACHABLE");
            out.printf("nodes      %d, %d draining%n", answer.path("nodes").size(), draining);
            out.printf(
                    "epoch      %d, %d removals pending%n",
                    answer.path("epoch").path("number").asLong(), pending);
            out.printf("orders     %d open%n", view.path("openOrders").asInt());
        }

        @Override
        int exitStatus(JsonNode answer) {
            JsonNode view = answer.path("manager");
            return view.has("leader") && view.path("directoryAvailable").asBoolean()
                    ? ExitStatus.OK
                    : ExitStatus.FAILED;
        }
    }

    /** {@code lite nodes}. */
    @Command(name = "nodes", description = "Lists the nodes.", mixinStandardHelpOptions = true)
    static final class Nodes extends Read {
        @Override
        JsonNode ask(ManagerClient manager) {
            return manager.get("/api/nodes");
        }

        @Override
        void print(ManagerClient manager, JsonNode nodes, PrintWriter out) {
            Table table = new Table("NAME", "ID", "INCARNATION", "STATE", "ARENA", "FABRICS", "HOST");
            for (JsonNode node : nodes) {
                table.row(
                        node.path("name").asString(),
                        node.path("id").asString(),
                        node.path("incarnation").asString(),
                        node.path("draining").asBoolean() ? "draining" : "live",
                        Table.size(node.path("arenaBytes").asLong()),
                        String.join(
                                ",",
                                new java.util.TreeSet<>(node.path("fabrics").propertyNames())),
                        node.path("host").asString().split("/", 2)[0]);
            }
            table.print(out);
        }
    }

    /** {@code lite lmrs}. */
    @Command(
            name = "lmrs",
            description = "Lists the named LMRs, in the order of their names.",
            mixinStandardHelpOptions = true)
    static final class Lmrs extends Read {
        private static final int PAGE = 500;
        private static final int LIMIT_MAX = 1_000_000;

        @Parameters(arity = "0..1", paramLabel = "PREFIX", defaultValue = "", description = "The prefix of their names")
        private String prefix = "";

        @Option(
                names = "--limit",
                paramLabel = "N",
                defaultValue = "1000",
                description = "The maximum number to list. Default: ${DEFAULT-VALUE}")
        private int limit = 1000;

        @Override
        JsonNode ask(ManagerClient manager) {
            if (limit < 1 || limit > LIMIT_MAX) {
                throw new IllegalArgumentException("--limit is %d; it must be 1 to %d".formatted(limit, LIMIT_MAX));
            }
            ArrayNode all = ManagerClient.JSON.createArrayNode();
            String after = "";
            while (all.size() < limit) {
                JsonNode page = manager.get("/api/lmrs?prefix=%s&after=%s&limit=%d"
                        .formatted(
                                ManagerClient.encoded(prefix),
                                ManagerClient.encoded(after),
                                Math.min(PAGE, limit - all.size())));
                page.path("items").forEach(all::add);
                if (!page.has("next")) {
                    break;
                }
                after = page.path("next").asString();
            }
            return all;
        }

        @Override
        void print(ManagerClient manager, JsonNode lmrs, PrintWriter out) {
            Table table = new Table("NAME", "SIZE", "STATE", "NODES");
            for (JsonNode lmr : lmrs) {
                table.row(
                        lmr.path("name").asString(),
                        Table.size(lmr.path("bytes").asLong()),
                        lmr.path("state").asString(),
                        stream(lmr.path("shares"))
                                .map(share -> share.has("node")
                                        ? share.path("node").asString()
                                        : "(%s, away)"
                                                .formatted(share.path("nodeId").asString()))
                                .collect(Collectors.joining(",")));
            }
            table.print(out);
        }
    }

    /** {@code lite orders}. */
    @Command(
            name = "orders",
            description = "Lists the open orders and the last ended ones.",
            mixinStandardHelpOptions = true)
    static final class OrdersList extends Read {
        @Override
        JsonNode ask(ManagerClient manager) {
            return manager.get("/api/orders");
        }

        @Override
        void print(ManagerClient manager, JsonNode orders, PrintWriter out) {
            Table table = new Table("ID", "KIND", "STATE", "SUBJECT", "TARGET", "BY", "DONE", "NOTE");
            for (JsonNode order : orders) {
                long total = order.path("total").asLong();
                table.row(
                        order.path("id").asString(),
                        order.path("kind").asString(),
                        order.path("state").asString(),
                        order.path("node").asString(order.path("lmr").asString("")),
                        order.path("target").asString(""),
                        order.path("executor").asString(""),
                        total == 0 ? "" : "%d/%d".formatted(order.path("done").asLong(), total),
                        order.path("note").asString());
            }
            table.print(out);
        }
    }

    private static java.util.stream.Stream<JsonNode> stream(JsonNode array) {
        return array.valueStream();
    }

    private static String join(JsonNode array) {
        return stream(array).map(JsonNode::asString).collect(Collectors.joining(", "));
    }
}
