package dev.lite.cli;

import dev.lite.api.LiteException;
import dev.lite.local.ProcessFailedException;
import dev.lite.mr.MrException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Runs one command; the exit status is one of {@link ExitStatus}. */
public final class LiteMain {
    private LiteMain() {}

    /** Arguments as in {@code lite --help}. */
    public static void main(String[] arguments) {
        System.setProperty("slf4j.internal.verbosity", "ERROR"); // this command has no log
        Streams streams = Streams.ofProcess();
        System.exit(execute(streams, writer(new FileOutputStream(FileDescriptor.err)), arguments));
    }

    /** Executes a command line. One whose output could not be written, such as to a full disk, has failed. */
    static int execute(Streams streams, PrintWriter err, String... arguments) {
        NotedFailures written = new NotedFailures(streams.out());
        PrintWriter out = writer(written);
        int status = commandLine(out, err, new Streams(streams.in(), written)).execute(arguments);
        out.flush();
        IOException failure = written.failure;
        if (failure == null || status != ExitStatus.OK || isOfReader(failure)) {
            return status;
        }
        err.println("lite: cannot write to standard output: " + IoReasons.of(failure));
        return ExitStatus.FAILED;
    }

    /** Whether nobody reads any more, such as "head", which has what it needs. */
    private static boolean isOfReader(IOException failure) {
        return String.valueOf(failure.getMessage()).toLowerCase(Locale.ROOT).contains("broken pipe");
    }

    /** A writer of text does not tell why it failed. */
    private static final class NotedFailures extends FilterOutputStream {
        private @Nullable IOException failure;

        NotedFailures(OutputStream out) {
            super(out);
        }

        @Override
        public void write(int value) throws IOException {
            write(new byte[] {(byte) value}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            try {
                out.write(bytes, offset, length);
            } catch (IOException e) {
                failure = failure == null ? e : failure;
                throw e;
            }
        }
    }

    /** The complete command line interface, writing to these writers. */
    static CommandLine commandLine(PrintWriter out, PrintWriter err) {
        return commandLine(out, err, Streams.ofProcess());
    }

    static CommandLine commandLine(PrintWriter out, PrintWriter err, Streams streams) {
        CommandLine commandLine = new CommandLine(new LiteCommand(streams));
        return commandLine
                .setOut(out)
                .setErr(err)
                .setCaseInsensitiveEnumValuesAllowed(true)
                .setExecutionStrategy(LiteCommand::execute)
                .setParameterExceptionHandler(LiteMain::wrong)
                .setExecutionExceptionHandler((failure, failed, parsed) -> failed(failure, failed));
    }

    /** One message, the nearest names if there are any, and where the help is, instead of the help itself. */
    private static int wrong(ParameterException e, String[] arguments) {
        CommandLine command = e.getCommandLine();
        PrintWriter err = command.getErr();
        err.println("lite: " + String.valueOf(e.getMessage()).replaceAll("\\R", " "));
        UnmatchedArgumentException.printSuggestions(e, err);
        err.println("For help: " + command.getCommandSpec().qualifiedName() + " --help");
        err.flush();
        return ExitStatus.USAGE;
    }

    private static int failed(Exception failure, CommandLine command) {
        int status;
        switch (failure) {
            case OutputLostException known -> {
                return ExitStatus.OK; // so far: see execute
            }
            case CommandFailedException known -> status = known.exitStatus();
            case IllegalArgumentException known -> status = ExitStatus.USAGE;
            case ProcessFailedException known -> status = ExitStatus.FAILED;
            case LiteException known -> status = ExitStatus.FAILED;
            case MrException known -> status = ExitStatus.FAILED;
            case UncheckedIOException known -> status = ExitStatus.FAILED;
            default -> {
                command.getErr().println("lite: this is a defect of LITE; please report it with these lines");
                failure.printStackTrace(command.getErr());
                return ExitStatus.FAILED;
            }
        }
        command.getErr().println("lite: " + message(failure));
        return status;
    }

    /** With the reason, which the message of a failure of a file may lack. */
    static String message(Exception failure) {
        String message = String.valueOf(failure.getMessage());
        if (failure.getCause() instanceof IOException ofFile && failure instanceof UncheckedIOException) {
            String reason = IoReasons.of(ofFile);
            return message.contains(reason) ? message : message + ": " + reason;
        }
        return message;
    }

    private static PrintWriter writer(OutputStream stream) {
        return new PrintWriter(stream, true, StandardCharsets.UTF_8);
    }
}
