package dev.lite.cli;

import java.io.PrintWriter;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;

/** {@code lite orders}. */
@Command(
        name = "orders",
        description = "Lists the open orders and the last ended ones.",
        mixinStandardHelpOptions = true,
        subcommands = OrdersCommand.Cancel.class)
final class OrdersCommand extends ReadCommands.Read {
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

    /** {@code lite orders cancel}. */
    @Command(
            name = "cancel",
            description = {
                "Cancels an open order.",
                "What was moved stays moved, and every LMR is whole at its old or its new place. After a cancelled drain the node is used again."
            },
            mixinStandardHelpOptions = true)
    static final class Cancel extends ReadCommands.Read {
        @Parameters(paramLabel = "ID", description = "The order's id")
        private long id;

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            CommandSpec orders = spec == null ? null : spec.parent();
            if (orders != null
                    && !orders.commandLine().getParseResult().matchedOptions().isEmpty()) {
                throw new ParameterException(orders.commandLine(), "write the options after \"cancel\"");
            }
            return super.call();
        }

        @Override
        JsonNode ask(ManagerClient manager) {
            if (id < 0) {
                throw new IllegalArgumentException("ID is %d; it must be 0 or more".formatted(id));
            }
            return manager.delete("/api/orders/" + id);
        }

        @Override
        void print(ManagerClient manager, JsonNode order, PrintWriter out) {
            out.println(ManagerClient.describe(order));
        }
    }
}
