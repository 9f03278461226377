package dev.lite.cli;

import dev.lite.api.LiteException;
import dev.lite.local.ProcessFailedException;
import dev.lite.mr.MrException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Runs one command; the exit status is one of {@link ExitStatus}. */
public final class LiteMain {
    private LiteMain() {}

    /** Arguments as in {@code lite --help}. */
    public static void main(String[] arguments) {
        System.setProperty("slf4j.internal.verbosity", "ERROR"); // this command has no log
        System.exit(commandLine(writer(FileDescriptor.out), writer(FileDescriptor.err))
                .execute(arguments));
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

    private static PrintWriter writer(FileDescriptor descriptor) {
        return new PrintWriter(new FileOutputStream(descriptor), true, StandardCharsets.UTF_8);
    }
}
