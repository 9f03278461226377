package dev.lite.cli;

import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;

/** Commands that submit an order and wait until it is done. */
final class OrderCommands {
    private static final int DEADLINE_SECONDS_MAX = 7 * 24 * 3600;

    private OrderCommands() {}

    /** The common part. */
    abstract static class Act implements Callable<Integer> {
        @Mixin
        private final ManagerOptions options = new ManagerOptions();

        @Option(names = "--no-wait", description = "Submits the order without waiting until it is done")
        private boolean noWait;

        @Option(
                names = "--deadline",
                paramLabel = "SECONDS",
                defaultValue = "600",
                description = "How long to wait; the order continues afterwards. Default: ${DEFAULT-VALUE}")
        private int deadlineSeconds = 600;

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            if (spec == null) {
                throw new IllegalStateException("picocli did not set the command spec");
            }
            if (deadlineSeconds < 0 || deadlineSeconds > DEADLINE_SECONDS_MAX) {
                throw new IllegalArgumentException(
                        "--deadline is %d; it must be 0 to %d".formatted(deadlineSeconds, DEADLINE_SECONDS_MAX));
            }
            PrintWriter out = spec.commandLine().getOut();
            PrintWriter err = spec.commandLine().getErr();
            try (ManagerClient manager = options.open()) {
                JsonNode order = manager.order(path(), ManagerClient.JSON.writeValueAsString(body()));
                if (!noWait) {
                    order = manager.follow(
                            order, Duration.ofSeconds(deadlineSeconds), line -> print(out, line), err::println);
                } else if (!options.json()) {
                    out.printf(
                            "order %s %s%n",
                            order.path("id").asString(), order.path("state").asString());
                }
                if (options.json()) {
                    out.println(order.toPrettyString());
                }
                out.flush();
            }
            return ExitStatus.OK;
        }

        private void print(PrintWriter out, String line) {
            if (!options.json()) {
                out.println(line);
                out.flush();
            }
        }

        abstract String path();

        Map<String, Object> body() {
            return Map.of();
        }
    }

    /** {@code lite drain}. */
    @Command(
            name = "drain",
            description = "Moves everything away from a node and places nothing new there.",
            mixinStandardHelpOptions = true)
    static final class Drain extends Act {
        @Parameters(paramLabel = "NODE", description = "The node's name")
        private String node = "";

        @Option(names = "--leave", description = "Ends the node's process when it is empty")
        private boolean leave;

        @Override
        String path() {
            NodeInfo.checkName(node);
            return "/api/nodes/%s/drain".formatted(ManagerClient.encoded(node));
        }

        @Override
        Map<String, Object> body() {
            return Map.of("leave", leave);
        }
    }

    /** {@code lite undrain}. */
    @Command(name = "undrain", description = "Uses a drained node again.", mixinStandardHelpOptions = true)
    static final class Undrain extends Act {
        @Parameters(paramLabel = "NODE", description = "The node's name")
        private String node = "";

        @Override
        String path() {
            NodeInfo.checkName(node);
            return "/api/nodes/%s/undrain".formatted(ManagerClient.encoded(node));
        }
    }

    /** {@code lite move}. */
    @Command(name = "move", description = "Moves a named LMR to a node.", mixinStandardHelpOptions = true)
    static final class Move extends Act {
        @Parameters(index = "0", paramLabel = "LMR", description = "The LMR's name")
        private String lmr = "";

        @Parameters(index = "1", paramLabel = "NODE", description = "The name of the node to go to")
        private String node = "";

        @Override
        String path() {
            LmrSpec.checkName(lmr);
            NodeInfo.checkName(node);
            return "/api/lmrs/%s/move".formatted(ManagerClient.encoded(lmr));
        }

        @Override
        Map<String, Object> body() {
            return Map.of("node", node);
        }
    }

    /** {@code lite rebalance}. */
    @Command(
            name = "rebalance",
            description =
                    "Spreads LMRs again whose shares drains merged, and then moves LMRs from fuller to emptier nodes.",
            mixinStandardHelpOptions = true)
    static final class Rebalance extends Act {
        @Override
        String path() {
            return "/api/rebalance";
        }
    }
}
