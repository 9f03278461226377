package dev.lite.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;

/** {@code lite}. */
@Command(
        name = "lite",
        description = "Shows and controls a LITE cluster.",
        mixinStandardHelpOptions = true,
        versionProvider = LiteCommand.Version.class,
        subcommands = {
            LocalCommands.Up.class,
            ReadCommands.Status.class,
            NodeCommands.Nodes.class,
            NodeCommands.Sessions.class,
            ReadCommands.Lmrs.class,
            ReadCommands.Lmr.class,
            ReadCommands.Locks.class,
            ReadCommands.Epochs.class,
            OrdersCommand.class,
            QosCommand.class,
            WatchCommand.class,
            OrderCommands.Drain.class,
            OrderCommands.Undrain.class,
            OrderCommands.Move.class,
            OrderCommands.Rebalance.class,
            ProcessCommands.Start.class,
            ProcessCommands.Stop.class,
            ProcessCommands.Restart.class,
            ProcessCommands.Env.class,
            LogsCommand.class,
            DataCommands.Get.class,
            DataCommands.Put.class,
            DataCommands.Dump.class,
            DataCommands.Create.class,
            DataCommands.Free.class,
            DataCommands.Grant.class,
            TopCommand.class,
            BenchCommand.class,
            MrCommand.class,
            LocalCommands.Down.class,
            LocalCommands.Prepare.class,
            LiteCommand.Completion.class,
            NamesCommand.class,
        },
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            "0:done",
            "1:rejected or failed; the message says why",
            "2:the command line is wrong",
            "3:no manager or node could be reached",
            "4:the manager rejected the token",
            "5:the order is still running at the deadline"
        },
        footerHeading = "%nEnvironment:%n",
        footer = {
            "  LITE_MANAGER        URLs of the managers, separated by commas",
            "  LITE_TOKEN          the manager's token; LITE_TOKEN_FILE: a file with it",
            "  LITE_CLIENT_SOCKET  the socket of a node, to read and change LMRs",
            "  LITE_CLIENT_TOKEN   the token of an application, likewise",
            "  LITE_HOME           where \"up\" records its clusters; default: ~/.lite",
            "  LITE_JAVA           the java executable that the wrapper script uses",
            "  LITE_MR_OPTIONS     options of Java for \"mr\"; default: -Xmx512m"
        })
final class LiteCommand implements Runnable {
    private final Streams streams;

    @Option(
            names = ManagerOptions.MANAGER,
            paramLabel = "URL",
            description = "The managers, for a command that asks them; the option may also follow the command")
    private @Nullable String managers;

    @Spec
    private @Nullable CommandSpec spec;

    LiteCommand(Streams streams) {
        this.streams = streams;
    }

    /** Standard input and output as bytes. */
    Streams streams() {
        return streams;
    }

    /** The managers that were named before the command. */
    @Nullable
    String managers() {
        return managers;
    }

    /** Executes the last command of the line. */
    static int execute(ParseResult line) {
        ParseResult last = line;
        while (last.hasSubcommand()) {
            last = last.subcommand();
        }
        CommandSpec command = last.commandSpec();
        boolean asksManager = command.findOption(ManagerOptions.MANAGER) != null;
        if (line.hasMatchedOption(ManagerOptions.MANAGER) && !asksManager && !last.isUsageHelpRequested()) {
            throw new ParameterException(
                    command.commandLine(), "\"%s\" asks no manager; leave out --manager".formatted(command.name()));
        }
        return new CommandLine.RunLast().execute(line);
    }

    @Override
    public void run() {
        if (spec != null) {
            throw new ParameterException(spec.commandLine(), "missing command");
        }
    }

    /** Prints the version of the jar. */
    static final class Version implements CommandLine.IVersionProvider {
        @Override
        public String[] getVersion() {
            String version = LiteCommand.class.getPackage().getImplementationVersion();
            return new String[] {"lite " + (version == null ? "(not packaged)" : version)};
        }
    }

    /** {@code lite completion}. */
    @Command(
            name = "completion",
            description = "Prints a completion script for bash and zsh: source <(lite completion)",
            mixinStandardHelpOptions = true)
    static final class Completion implements Runnable {
        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public void run() {
            if (spec != null) {
                CommandLine root = spec.root().commandLine();
                spec.commandLine().getOut().println(AutoComplete.bash("lite", root) + names());
                spec.commandLine().getOut().flush();
            }
        }

        /** The part of the script that completes names of the cluster. */
        private static String names() {
            try (InputStream script = LiteCommand.class.getResourceAsStream("completion.bash")) {
                return new String(Objects.requireNonNull(script).readAllBytes(), StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException("cannot read the completion script in this command's jar", e);
            }
        }
    }
}
