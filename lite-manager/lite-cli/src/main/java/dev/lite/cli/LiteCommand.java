package dev.lite.cli;

import org.jspecify.annotations.Nullable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code lite}. */
@Command(
        name = "lite",
        description = "Looks at a LITE cluster and gives it orders.",
        mixinStandardHelpOptions = true,
        versionProvider = LiteCommand.Version.class,
        subcommands = {
            LocalCommands.Up.class,
            ReadCommands.Status.class,
            ReadCommands.Nodes.class,
            ReadCommands.Lmrs.class,
            ReadCommands.OrdersList.class,
            OrderCommands.Drain.class,
            OrderCommands.Undrain.class,
            OrderCommands.Move.class,
            OrderCommands.Rebalance.class,
            LocalCommands.Down.class,
            LiteCommand.Completion.class,
        },
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            "0:done",
            "1:refused or failed; the message says why",
            "2:the command line is wrong",
            "3:no manager could be reached",
            "4:the manager asks for another token",
            "5:the order goes on, but was not done by the deadline"
        },
        footerHeading = "%nEnvironment:%n",
        footer = {
            "  LITE_MANAGER     URLs of the managers, separated by commas",
            "  LITE_TOKEN       the manager's token; or LITE_TOKEN_FILE, a file that holds it",
            "  LITE_HOME        where \"up\" notes its clusters; default: ~/.lite",
            "  LITE_JAVA        the java executable of the wrapper"
        })
final class LiteCommand implements Runnable {
    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public void run() {
        if (spec != null) {
            throw new ParameterException(spec.commandLine(), "a command is needed");
        }
    }

    /** The version of the jar. */
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
            description = "Prints a script for bash and zsh that completes this command: source <(lite completion)",
            mixinStandardHelpOptions = true)
    static final class Completion implements Runnable {
        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public void run() {
            if (spec != null) {
                CommandLine root = spec.root().commandLine();
                spec.commandLine().getOut().println(AutoComplete.bash("lite", root));
                spec.commandLine().getOut().flush();
            }
        }
    }
}
