package dev.lite.cli;

import java.io.PrintWriter;
import java.util.List;
import java.util.TreeSet;
import picocli.CommandLine.Command;
import tools.jackson.databind.JsonNode;

/** Commands about the nodes and what they report about themselves. */
final class NodeCommands {
    private NodeCommands() {}

    /** {@code lite nodes}. */
    @Command(
            name = "nodes",
            description = "Lists the nodes with their used and free memory. A node that does not answer is named.",
            mixinStandardHelpOptions = true)
    static final class Nodes extends ReadCommands.Read {
        @Override
        JsonNode ask(ManagerClient manager) {
            return manager.get("/api/nodes?state=true");
        }

        @Override
        void print(ManagerClient manager, JsonNode nodes, PrintWriter out) {
            Table table = new Table("NAME", "ID", "INCARNATION", "STATE", "ARENA", "USED", "FREE", "FABRICS", "HOST");
            for (JsonNode node : nodes) {
                JsonNode arena = node.path("state").path("arena");
                table.row(
                        node.path("name").asString(),
                        node.path("id").asString(),
                        node.path("incarnation").asString(),
                        node.path("draining").asBoolean() ? "draining" : "live",
                        Table.size(node.path("arenaBytes").asLong()),
                        size(arena.path("usedBytes")),
                        size(arena.path("freeBytes")),
                        String.join(",", new TreeSet<>(node.path("fabrics").propertyNames())),
                        node.path("host").asString().split("/", 2)[0]);
            }
            table.print(out);
            for (JsonNode node : nodes) {
                if (node.has("problem")) {
                    warn("%s: %s"
                            .formatted(
                                    node.path("name").asString(),
                                    node.path("problem").asString()));
                }
            }
        }

        static String size(JsonNode bytes) {
            return bytes.isNumber() ? Table.size(bytes.asLong()) : "?";
        }
    }

    /** {@code lite sessions}. */
    @Command(
            name = "sessions",
            description =
                    "Lists the applications that are attached to the nodes. A node that does not answer is named.",
            mixinStandardHelpOptions = true)
    static final class Sessions extends ReadCommands.Read {
        private static final List<String> FIELDS = List.of("node", "id", "application", "principal", "pid", "since");

        @Override
        JsonNode ask(ManagerClient manager) {
            return manager.get("/api/sessions");
        }

        @Override
        void print(ManagerClient manager, JsonNode view, PrintWriter out) {
            Table table = new Table("NODE", "ID", "APPLICATION", "PRINCIPAL", "PROCESS", "SINCE");
            for (JsonNode session : view.path("sessions")) {
                table.row(FIELDS.stream()
                        .map(field -> session.path(field).asString(""))
                        .toArray(String[]::new));
            }
            table.print(out);
            for (JsonNode silent : view.path("silent")) {
                warn("%s: %s"
                        .formatted(
                                silent.path("node").asString(),
                                silent.path("problem").asString()));
            }
        }
    }
}
