package dev.lite.cli;

import dev.lite.local.DetachedCluster;
import dev.lite.local.LocalProcess;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.databind.node.ObjectNode;

/** Commands for the processes of a cluster that {@code up} started. */
final class ProcessCommands {

    private ProcessCommands() {}

    /** The cluster and one of its processes. */
    static final class ProcessOptions {
        @Parameters(paramLabel = "PROCESS", description = "A node, for example node-2, or manager")
        private String process = "";

        @Option(
                names = "--name",
                paramLabel = "NAME",
                defaultValue = LocalCommands.NAME_DEFAULT,
                description = "The cluster's name. Default: ${DEFAULT-VALUE}")
        private String name = LocalCommands.NAME_DEFAULT;

        @Spec(Spec.Target.MIXEE)
        private @Nullable CommandSpec spec;

        private DetachedCluster cluster() {
            return LocalClusters.here().detached(name);
        }

        private void start() {
            LocalProcess started = cluster().start(process);
            print("%s is ready: process %d%s"
                    .formatted(
                            process,
                            started.pid(),
                            started.property("socket")
                                    .map(socket -> ", socket " + socket)
                                    .orElse("")));
        }

        private void stop() {
            print(process + (cluster().stop(process) ? " is stopped." : " was not running."));
        }

        private void print(String line) {
            if (spec != null) {
                spec.commandLine().getOut().println(line);
                spec.commandLine().getOut().flush();
            }
        }
    }

    /** {@code lite start}. */
    @Command(
            name = "start",
            description = "Starts a stopped process of a cluster started by \"up\", as \"up\" did.",
            mixinStandardHelpOptions = true)
    static final class Start implements Callable<Integer> {
        @Mixin
        private ProcessOptions options = new ProcessOptions();

        @Override
        public Integer call() {
            options.start();
            return ExitStatus.OK;
        }
    }

    /** {@code lite stop}. */
    @Command(
            name = "stop",
            description =
                    "Stops one process of a cluster started by \"up\". A node keeps its memory for its next start.",
            mixinStandardHelpOptions = true)
    static final class Stop implements Callable<Integer> {
        @Mixin
        private ProcessOptions options = new ProcessOptions();

        @Override
        public Integer call() {
            options.stop();
            return ExitStatus.OK;
        }
    }

    /** {@code lite restart}. */
    @Command(
            name = "restart",
            description = "Stops and starts one process of a cluster started by \"up\".",
            mixinStandardHelpOptions = true)
    static final class Restart implements Callable<Integer> {
        @Mixin
        private ProcessOptions options = new ProcessOptions();

        @Override
        public Integer call() {
            options.stop();
            options.start();
            return ExitStatus.OK;
        }
    }

    /** {@code lite env}. */
    @Command(
            name = "env",
            description =
                    "Prints the environment of an application that uses a cluster started by \"up\": export $(lite env)",
            mixinStandardHelpOptions = true)
    static final class Env implements Callable<Integer> {
        @Option(
                names = "--name",
                paramLabel = "NAME",
                defaultValue = LocalCommands.NAME_DEFAULT,
                description = "The cluster's name. Default: ${DEFAULT-VALUE}")
        private String name = LocalCommands.NAME_DEFAULT;

        @Option(
                names = "--node",
                paramLabel = "NODE",
                defaultValue = "node-1",
                description = "The node that the application attaches to. Default: ${DEFAULT-VALUE}")
        private String node = "node-1";

        @Option(names = "--json", description = "Prints JSON")
        private boolean json;

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            if (spec == null) {
                throw new IllegalStateException("picocli did not set the command spec");
            }
            DetachedCluster cluster = LocalClusters.here().detached(name);
            Properties manager = cluster.addresses("manager");
            Map<String, String> values = new LinkedHashMap<>();
            // For an application that attaches, for one with an embedded node, and for the other commands.
            values.put("LITE_CLIENT_SOCKET", required(cluster.addresses(node), "socket", node));
            values.put("LITE_EMBEDDED_CLUSTER", name);
            values.put("LITE_EMBEDDED_ZOOKEEPER", required(manager, "zookeeper", "manager"));
            values.put("LITE_MANAGER", required(manager, "url", "manager"));
            PrintWriter out = spec.commandLine().getOut();
            if (json) {
                ObjectNode object = ManagerClient.JSON.createObjectNode();
                values.forEach(object::put);
                out.println(object.toPrettyString());
            } else {
                values.forEach((key, value) -> out.println(key + "=" + value));
            }
            out.flush();
            return ExitStatus.OK;
        }

        private String required(Properties addresses, String key, String process) {
            String value = addresses.getProperty(key);
            if (value == null) {
                throw new CommandFailedException(
                        ExitStatus.FAILED,
                        "%s does not run or is not ready; start it with: lite start %s --name %s"
                                .formatted(process, process, name));
            }
            return value;
        }
    }
}
