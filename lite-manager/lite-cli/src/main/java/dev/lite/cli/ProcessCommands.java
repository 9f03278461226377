package dev.lite.cli;

import dev.lite.local.DetachedCluster;
import dev.lite.local.LocalProcess;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import tools.jackson.databind.node.ObjectNode;

/** Commands for the processes of a cluster that {@code up} started. */
final class ProcessCommands {

    private ProcessCommands() {}

    /** The steps of these commands. */
    abstract static class Steps extends LocalCommand.OfProcess {
        private static final String MANAGER = "manager";
        private static final String PORT = "server.port";
        private static final String ZOOKEEPER_PORT = "lite.manager.zookeeper.port";

        private DetachedCluster cluster() {
            String unused = process(); // checks it first
            return LocalClusters.here().detached(name());
        }

        final void startProcess() {
            DetachedCluster cluster = cluster();
            Optional<String> portBefore = cluster.option(process(), PORT);
            Optional<String> zooKeeperBefore = cluster.option(process(), ZOOKEEPER_PORT);
            LocalProcess started;
            try {
                started = cluster.start(process());
            } finally { // the next start would not tell it
                printChange(process(), portBefore, cluster.option(process(), PORT));
                boolean moved =
                        printChange("its ZooKeeper", zooKeeperBefore, cluster.option(process(), ZOOKEEPER_PORT));
                if (moved) {
                    print("Applications with embedded nodes need the new address of ZooKeeper: see \"lite env\"");
                }
            }
            if (process().equals(MANAGER)) {
                started.property("url").ifPresent(url -> LocalClusters.here().moved(name(), url));
            }
            String socket =
                    started.property("socket").map(path -> ", socket " + path).orElse("");
            print("%s is ready: process %d%s".formatted(process(), started.pid(), socket));
        }

        private boolean printChange(String who, Optional<String> before, Optional<String> now) {
            if (now.equals(before)) {
                return false;
            }
            print("Another process has port %s; %s has port %s now"
                    .formatted(before.orElse("?"), who, now.orElse("?")));
            return true;
        }

        final void stopProcess() {
            print(process() + (cluster().stop(process()) ? " is stopped." : " was not running."));
        }
    }

    /** {@code lite start}. */
    @Command(
            name = "start",
            description = "Starts a stopped process of a cluster started by \"up\", as \"up\" did.",
            mixinStandardHelpOptions = true)
    static final class Start extends Steps {
        @Override
        public Integer call() {
            startProcess();
            return ExitStatus.OK;
        }
    }

    /** {@code lite stop}. */
    @Command(
            name = "stop",
            description =
                    "Stops one process of a cluster started by \"up\". A node keeps its memory for its next start.",
            mixinStandardHelpOptions = true)
    static final class Stop extends Steps {
        @Override
        public Integer call() {
            stopProcess();
            return ExitStatus.OK;
        }
    }

    /** {@code lite restart}. */
    @Command(
            name = "restart",
            description = "Stops and starts one process of a cluster started by \"up\".",
            mixinStandardHelpOptions = true)
    static final class Restart extends Steps {
        @Override
        public Integer call() {
            stopProcess();
            startProcess();
            return ExitStatus.OK;
        }
    }

    /** {@code lite env}. */
    @Command(
            name = "env",
            description =
                    "Prints the environment of an application that uses a cluster started by \"up\", for a shell: eval \"$(lite env)\"",
            mixinStandardHelpOptions = true)
    static final class Env extends LocalCommand.OfCluster {
        private static final Pattern PLAIN = Pattern.compile("[\\w%+,./:=@-]+");

        @Option(
                names = "--node",
                paramLabel = "NODE",
                defaultValue = "node-1",
                description = "The node that the application attaches to. Default: ${DEFAULT-VALUE}")
        private String node = "node-1";

        @Option(names = "--json", description = "Prints JSON")
        private boolean json;

        @Override
        public Integer call() {
            DetachedCluster cluster = LocalClusters.here().detached(name());
            Properties manager = cluster.addresses("manager");
            Map<String, String> values = new LinkedHashMap<>();
            // For an application that attaches, for one with an embedded node, and for the other commands.
            values.put("LITE_CLIENT_SOCKET", required(cluster.addresses(node), "socket", node));
            values.put("LITE_EMBEDDED_CLUSTER", name());
            values.put("LITE_EMBEDDED_ZOOKEEPER", required(manager, "zookeeper", "manager"));
            cluster.option("manager", "lite.cluster.secret-file")
                    .ifPresent(file -> values.put("LITE_EMBEDDED_SECRET_FILE", file));
            values.put("LITE_MANAGER", required(manager, "url", "manager"));
            if (json) {
                ObjectNode object = ManagerClient.JSON.createObjectNode();
                values.forEach(object::put);
                print(object.toPrettyString());
            } else {
                values.forEach((key, value) -> print(line(key, value)));
            }
            return ExitStatus.OK;
        }

        /** A command of a POSIX shell. No quotes if the value needs none: then "export $(lite env)" works, too. */
        static String line(String variable, String value) {
            String quoted = PLAIN.matcher(value).matches() ? value : "'" + value.replace("'", "'\\''") + "'";
            return "export %s=%s".formatted(variable, quoted);
        }

        private String required(Properties addresses, String key, String process) {
            String value = addresses.getProperty(key);
            if (value == null) {
                throw new CommandFailedException(
                        ExitStatus.FAILED,
                        "%s does not run or is not ready; start it with: lite start %s%s"
                                .formatted(process, process, nameOption()));
            }
            return value;
        }
    }
}
