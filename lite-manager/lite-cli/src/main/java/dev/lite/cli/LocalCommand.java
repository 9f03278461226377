package dev.lite.cli;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** A command for this machine, which asks no manager. */
abstract class LocalCommand implements Callable<Integer> {
    @Spec
    private @Nullable CommandSpec spec;

    private CommandSpec spec() {
        if (spec == null) {
            throw new IllegalStateException("picocli did not set the command spec");
        }
        return spec;
    }

    final PrintWriter out() {
        return spec().commandLine().getOut();
    }

    final PrintWriter err() {
        return spec().commandLine().getErr();
    }

    final void print(String line) {
        print(out(), line);
    }

    static void print(PrintWriter to, String line) {
        to.println(line);
        to.flush();
    }

    /** A command for one cluster on this machine. */
    abstract static class OfCluster extends LocalCommand {
        static final String NAME_DEFAULT = "local";

        @Option(
                names = "--name",
                paramLabel = "NAME",
                defaultValue = NAME_DEFAULT,
                description = "The cluster's name. Default: ${DEFAULT-VALUE}")
        private String name = NAME_DEFAULT;

        final String name() {
            LocalClusters.checkName("--name", name);
            return name;
        }

        /** The option that names this cluster on another command line; empty for the default. */
        final String nameOption() {
            return name.equals(NAME_DEFAULT) ? "" : " --name " + name;
        }
    }

    /** A command for one process of a cluster that {@code up} started. */
    abstract static class OfProcess extends OfCluster {
        @Parameters(paramLabel = "PROCESS", description = "A node, for example node-2, or manager")
        private String process = "";

        final String process() {
            LocalClusters.checkName("PROCESS", process);
            return process;
        }
    }
}
