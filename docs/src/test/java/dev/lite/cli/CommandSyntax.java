package dev.lite.cli;

import java.io.PrintWriter;
import java.io.Writer;
import picocli.CommandLine.ParameterException;

/** Parses command lines of {@code lite} without executing them. In this package because its command classes are internal. */
public final class CommandSyntax {
    private CommandSyntax() {}

    /**
     * Parses the arguments after {@code lite}.
     *
     * @throws IllegalArgumentException if {@code lite} would reject them
     */
    public static void check(String... arguments) {
        PrintWriter nowhere = new PrintWriter(Writer.nullWriter());
        try {
            LiteMain.commandLine(nowhere, nowhere).parseArgs(arguments);
        } catch (ParameterException e) {
            throw new IllegalArgumentException("lite " + String.join(" ", arguments) + ": " + e.getMessage(), e);
        }
    }
}
