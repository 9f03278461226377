package dev.lite.cli;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;

/** Runs the command {@code lite} in this process, which is faster than a process for each. */
public final class CommandLineHere {
    private CommandLineHere() {}

    /**
     * What a command did.
     *
     * @param status its exit status
     * @param out the text that it printed
     * @param bytes the bytes that it wrote to standard output
     * @param err its messages
     */
    public record Result(int status, String out, byte[] bytes, String err) {}

    /** Runs a command.
     *
     * @param input standard input
     */
    public static Result run(byte[] input, String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int status = LiteMain.commandLine(
                        new PrintWriter(out, true),
                        new PrintWriter(err, true),
                        new Streams(new ByteArrayInputStream(input), bytes))
                .execute(arguments);
        return new Result(status, out.toString(), bytes.toByteArray(), err.toString());
    }

    /**
     * Runs a command whose output goes elsewhere.
     *
     * @param out standard output
     */
    public static Result runInto(OutputStream out, String... arguments) {
        StringWriter err = new StringWriter();
        int status = LiteMain.execute(
                new Streams(InputStream.nullInputStream(), out), new PrintWriter(err, true), arguments);
        return new Result(status, "", new byte[0], err.toString());
    }

    /** Runs a command without input. */
    public static Result run(String... arguments) {
        return run("".getBytes(StandardCharsets.UTF_8), arguments);
    }
}
