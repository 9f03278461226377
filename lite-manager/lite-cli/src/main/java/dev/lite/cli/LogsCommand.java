package dev.lite.cli;

import dev.lite.local.DetachedCluster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code lite logs}. */
@Command(
        name = "logs",
        description = "Prints the end of the log of a process of a cluster started by \"up\".",
        mixinStandardHelpOptions = true)
final class LogsCommand extends LocalCommand.OfProcess {
    private static final int LINES_MAX = 1_000_000;

    @Option(
            names = "--lines",
            paramLabel = "N",
            defaultValue = "100",
            description = "The number of lines. Default: ${DEFAULT-VALUE}")
    private int lines = 100;

    @Option(names = "--follow", description = "Continues with new lines until interrupted")
    private boolean follow;

    @Override
    public Integer call() {
        if (lines < 0 || lines > LINES_MAX) {
            throw new IllegalArgumentException("--lines is %d; it must be 0 to %d".formatted(lines, LINES_MAX));
        }
        String process = process();
        DetachedCluster cluster = LocalClusters.here().detached(name());
        Path log = cluster.log(process);
        Path output = cluster.output(process);
        try {
            if (Files.exists(output) && Files.size(output) > 0) {
                print(err(), "%s also printed something outside of its log: %s".formatted(process, output));
            }
            new LogTail(log, lines, follow, out(), note -> print(err(), note)).print();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read %s: %s".formatted(log, e.getMessage()), e);
        }
        return ExitStatus.OK;
    }
}
