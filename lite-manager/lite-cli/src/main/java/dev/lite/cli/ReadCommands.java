package dev.lite.cli;

import dev.lite.api.LmrSpec;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import java.util.function.Function;
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
    private static final int PAGE = 500;
    private static final int LIMIT_MAX = 1_000_000;

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

        /** Prints a warning for the user, not part of the result. */
        final void warn(String line) {
            if (spec != null) {
                PrintWriter err = spec.commandLine().getErr();
                err.println(line);
                err.flush();
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
                    "epoch      %d, %s pending%n",
                    answer.path("epoch").path("number").asLong(), Table.count(pending, "removal", "removals"));
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

    /** {@code lite lmrs}. */
    @Command(
            name = "lmrs",
            description = "Lists the named LMRs, in the order of their names.",
            mixinStandardHelpOptions = true)
    static final class Lmrs extends Read {
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
            return pages(manager, "/api/lmrs?", prefix, limit);
        }

        @Override
        void print(ManagerClient manager, JsonNode lmrs, PrintWriter out) {
            Table table = new Table("NAME", "SIZE", "STATE", "NODES");
            for (JsonNode lmr : lmrs) {
                table.row(
                        lmr.path("name").asString(),
                        Table.size(lmr.path("bytes").asLong()),
                        lmr.path("state").asString(),
                        stream(lmr.path("shares")).map(ReadCommands::nodeName).collect(Collectors.joining(",")));
            }
            table.print(out);
        }
    }

    /** {@code lite lmr}. */
    @Command(
            name = "lmr",
            description = "Shows a named LMR: its state, size, place and permissions.",
            mixinStandardHelpOptions = true)
    static final class Lmr extends Read {
        @Parameters(paramLabel = "NAME", description = "The LMR's name")
        private String name = "";

        @Override
        JsonNode ask(ManagerClient manager) {
            LmrSpec.checkName(name);
            return manager.get("/api/lmrs/" + ManagerClient.encoded(name));
        }

        @Override
        void print(ManagerClient manager, JsonNode lmr, PrintWriter out) {
            out.printf("name         %s%n", lmr.path("name").asString());
            out.printf("id           %s%n", lmr.path("id").asString());
            out.printf("state        %s%n", lmr.path("state").asString());
            long bytes = lmr.path("bytes").asLong();
            out.printf("size         %d (%s)%n", bytes, Table.size(bytes));
            out.printf("others may   %s%n", list(lmr.path("defaultPermissions")));
            lmr.path("grants")
                    .properties()
                    .forEach(grant -> out.printf("%-12s %s%n", grant.getKey(), list(grant.getValue())));
            shares(lmr.path("shares"), "share at", out);
            shares(lmr.path("movingTo"), "moves to", out);
        }

        private static void shares(JsonNode shares, String what, PrintWriter out) {
            for (JsonNode share : shares) {
                out.printf(
                        "%-12s %s: %s in %s%n",
                        what,
                        nodeName(share),
                        Table.size(share.path("bytes").asLong()),
                        Table.count(share.path("runs").asInt(), "piece", "pieces"));
            }
        }

        private static String list(JsonNode permissions) {
            String joined = join(permissions);
            return joined.isEmpty() ? "nothing" : joined;
        }
    }

    /** {@code lite locks}. */
    @Command(
            name = "locks",
            description =
                    "Lists the locks in the order of their names, their home nodes, and the applications that hold them.",
            mixinStandardHelpOptions = true)
    static final class Locks extends Read {
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
            return pages(manager, "/api/locks?state=true&", prefix, limit);
        }

        @Override
        void print(ManagerClient manager, JsonNode locks, PrintWriter out) {
            Table table = new Table("NAME", "HOME", "HOLDER", "WAITERS");
            for (JsonNode lock : locks) {
                table.row(
                        lock.path("name").asString(),
                        nodeName(lock),
                        holder(lock),
                        lock.has("waiters") ? lock.path("waiters").asString() : "?");
            }
            table.print(out);
        }

        private static String holder(JsonNode lock) {
            if (lock.has("holder")) {
                JsonNode holder = lock.path("holder");
                return "%s at %s"
                        .formatted(
                                holder.path("application").asString(),
                                holder.path("node").asString());
            }
            return lock.path("taken").asBoolean() || !lock.has("taken") ? "?" : "";
        }
    }

    /** {@code lite epochs}. */
    @Command(
            name = "epochs",
            description =
                    "Shows the cluster's epoch: its members, and removed nodes. A removal is fenced when every node has cut its links to it.",
            mixinStandardHelpOptions = true)
    static final class Epochs extends Read {
        @Override
        JsonNode ask(ManagerClient manager) {
            return manager.get("/api/epochs");
        }

        @Override
        void print(ManagerClient manager, JsonNode epoch, PrintWriter out) {
            out.printf("epoch %s%n", epoch.path("number").asString());
            Table table = new Table("NODE", "ID", "INCARNATION", "STATE");
            rows(table, epoch.path("members"), member -> "member");
            rows(
                    table,
                    epoch.path("removals"),
                    removal -> removal.path("fenced").asBoolean() ? "removed, fenced" : "removed, NOT FENCED YET");
            table.print(out);
        }

        private static void rows(Table table, JsonNode nodes, Function<JsonNode, String> state) {
            for (JsonNode node : nodes) {
                table.row(
                        node.path("name").asString(),
                        node.path("id").asString(),
                        node.path("incarnation").asString(),
                        state.apply(node));
            }
        }
    }

    /** Reads a listing page by page. */
    private static JsonNode pages(ManagerClient manager, String path, String prefix, int limit) {
        if (limit < 1 || limit > LIMIT_MAX) {
            throw new IllegalArgumentException("--limit is %d; it must be 1 to %d".formatted(limit, LIMIT_MAX));
        }
        ArrayNode all = ManagerClient.JSON.createArrayNode();
        String after = "";
        while (all.size() < limit) {
            JsonNode page = manager.get(path
                    + "prefix=%s&after=%s&limit=%d"
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

    /** The name of a node; a node that is not registered is shown by its id. */
    private static String nodeName(JsonNode place) {
        return place.has("node")
                ? place.path("node").asString()
                : "(%s, away)".formatted(place.path("nodeId").asString());
    }

    private static java.util.stream.Stream<JsonNode> stream(JsonNode array) {
        return array.valueStream();
    }

    private static String join(JsonNode array) {
        return stream(array).map(JsonNode::asString).collect(Collectors.joining(", "));
    }
}
