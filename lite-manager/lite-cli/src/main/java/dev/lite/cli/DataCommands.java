package dev.lite.cli;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Commands that read and change LMRs as an application attached to a node of this machine. */
final class DataCommands {
    private static final int PIECE_BYTES = 1 << 20;

    private DataCommands() {}

    private static String bytes(long count) {
        return Table.count(count, "byte", "bytes");
    }

    /** The common part: attach, act, close. */
    abstract static class Data implements Callable<Integer> {
        @Mixin
        private final SessionOptions options = new SessionOptions();

        @Spec
        private @Nullable CommandSpec spec;

        @Override
        public Integer call() {
            validate();
            try (Lite lite = options.attach()) {
                act(lite);
            } catch (IOException e) {
                throw new UncheckedIOException(message(e), e);
            }
            return ExitStatus.OK;
        }

        private static String message(IOException e) {
            return e.getMessage() == null ? e.toString() : e.getMessage();
        }

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

        final SessionOptions session() {
            return options;
        }

        final Streams streams() {
            return ((LiteCommand) spec().root().userObject()).streams();
        }

        /** Checks the arguments before anything is opened. */
        abstract void validate();

        abstract void act(Lite lite) throws IOException;
    }

    /** A part of an LMR's bytes. */
    abstract static class OfRange extends Data {
        @Parameters(index = "0", paramLabel = "NAME", description = "The LMR's name")
        private String name = "";

        @Option(
                names = "--offset",
                paramLabel = "N",
                defaultValue = "0",
                description = "The first byte; B, KB, MB or GB may follow the number. Default: ${DEFAULT-VALUE}")
        private String offset = "0";

        final String name() {
            return name;
        }

        final long offset() {
            return ByteSizes.parse("--offset", offset);
        }

        @Override
        void validate() {
            LmrSpec.checkName(name);
            long unused = offset();
        }
    }

    /** Reads a part of an LMR's bytes. */
    abstract static class Reads extends OfRange {
        @Option(
                names = "--length",
                paramLabel = "N",
                description = "The number of bytes; B, KB, MB or GB may follow the number. Default: up to the end")
        private @Nullable String length;

        @Override
        void validate() {
            super.validate();
            long unused = length == null ? 0 : ByteSizes.parse("--length", length);
        }

        @Override
        void act(Lite lite) throws IOException {
            try (LmrHandle handle = lite.memory().map(name(), Permission.READ)) {
                long from = offset();
                long bytes = length == null ? handle.size() - from : ByteSizes.parse("--length", length);
                if (from > handle.size() || bytes > handle.size() - from) {
                    throw new IllegalArgumentException("--offset is %d and --length %d; LMR \"%s\" has %d bytes"
                            .formatted(from, Math.max(0, bytes), name(), handle.size()));
                }
                byte[] piece = new byte[PIECE_BYTES];
                for (long at = 0; at < bytes; at += PIECE_BYTES) {
                    int part = (int) Math.min(PIECE_BYTES, bytes - at);
                    handle.read(from + at, MemorySegment.ofArray(piece).asSlice(0, part));
                    show(piece, part, from + at);
                }
                end(from + bytes);
            }
        }

        /** @throws OutputLostException if it cannot be written */
        abstract void show(byte[] piece, int length, long offset);

        void end(long offset) throws IOException {}
    }

    /** {@code lite get}. */
    @Command(
            name = "get",
            description = "Writes the bytes of an LMR to standard output.",
            mixinStandardHelpOptions = true)
    static final class Get extends Reads {
        @Override
        void show(byte[] piece, int length, long offset) {
            try {
                streams().out().write(piece, 0, length);
            } catch (IOException e) { // which the stream noted
                throw new OutputLostException();
            }
        }

        @Override
        void end(long offset) throws IOException {
            streams().out().flush();
        }
    }

    /** {@code lite dump}. */
    @Command(
            name = "dump",
            description =
                    "Prints the bytes of an LMR as hexadecimal numbers and characters. \"*\" stands for repeated lines.",
            mixinStandardHelpOptions = true)
    static final class Dump extends Reads {
        private final HexDump dump = new HexDump();

        @Override
        void show(byte[] piece, int length, long offset) {
            dump.print(piece, length, offset, out());
            if (out().checkError()) {
                throw new OutputLostException();
            }
        }

        @Override
        void end(long offset) {
            dump.end(offset, out());
        }
    }

    /** {@code lite put}. */
    @Command(
            name = "put",
            description = "Writes bytes of a file or of standard input into an LMR.",
            mixinStandardHelpOptions = true)
    static final class Put extends OfRange {
        @Parameters(
                index = "1",
                arity = "0..1",
                paramLabel = "FILE",
                defaultValue = "-",
                description = "The file; - is standard input. Default: ${DEFAULT-VALUE}")
        private String file = "-";

        @Override
        void validate() {
            super.validate();
            if (!file.equals("-") && (!Files.isReadable(Path.of(file)) || Files.isDirectory(Path.of(file)))) {
                throw new IllegalArgumentException("cannot read the file %s".formatted(file));
            }
        }

        @Override
        void act(Lite lite) throws IOException {
            try (LmrHandle handle = lite.memory().map(name(), Permission.WRITE)) {
                long room = handle.size() - offset();
                // A file is refused as a whole; how much standard input has is known only at its end.
                if (!file.equals("-") && Files.size(Path.of(file)) > room) {
                    throw tooLong(handle, bytes(Files.size(Path.of(file))));
                }
                long written = 0;
                try (InputStream in = file.equals("-") ? streams().in() : Files.newInputStream(Path.of(file))) {
                    byte[] piece = new byte[PIECE_BYTES];
                    for (int part = in.readNBytes(piece, 0, piece.length);
                            part > 0;
                            part = in.readNBytes(piece, 0, piece.length)) {
                        if (part > room - written) {
                            throw tooLong(handle, "more; %d were written".formatted(written));
                        }
                        handle.write(
                                offset() + written, MemorySegment.ofArray(piece).asSlice(0, part));
                        written += part;
                    }
                }
                out().printf("%s written%n", bytes(written));
                out().flush();
            } catch (IOException e) {
                throw new IOException("cannot read %s: %s".formatted(source(), IoReasons.of(e)), e);
            }
        }

        private String source() {
            return file.equals("-") ? "standard input" : "the file " + file;
        }

        private CommandFailedException tooLong(LmrHandle handle, String given) {
            return new CommandFailedException(
                    ExitStatus.FAILED,
                    "LMR \"%s\" has %s, %d of them from offset %d; the input has %s"
                            .formatted(
                                    name(),
                                    bytes(handle.size()),
                                    Math.max(0, handle.size() - offset()),
                                    offset(),
                                    given));
        }
    }

    /** {@code lite create}. */
    @Command(
            name = "create",
            description = "Creates an LMR, filled with zeros. It stays until it is freed.",
            mixinStandardHelpOptions = true)
    static final class Create extends Data {
        @Parameters(index = "0", paramLabel = "NAME", description = "The LMR's name")
        private String name = "";

        @Parameters(index = "1", paramLabel = "SIZE", description = "Its size, for example 64MB")
        private String size = "";

        @Option(
                names = "--nodes",
                paramLabel = "NODE[,NODE]",
                description =
                        "The nodes that store it in turn, or \"all\". Default: the node that this command attaches to")
        private @Nullable String nodes;

        @Option(
                names = "--others-may",
                paramLabel = "PERMISSION[,PERMISSION]",
                defaultValue = "none",
                description =
                        "What every principal may do: read, write, atomic, or none. Default: ${DEFAULT-VALUE}; the creator may do everything")
        private String defaults = "none";

        @Override
        void validate() {
            LmrSpec unused = spec();
        }

        private Placement placement() {
            if (nodes == null) {
                return Placement.local();
            }
            if (nodes.equals("all")) {
                return Placement.spread();
            }
            try {
                return Placement.on(
                        Arrays.stream(nodes.split(",", -1)).map(String::strip).toList());
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException("--nodes is \"%s\": %s".formatted(nodes, e.getMessage()), e);
            }
        }

        private LmrSpec spec() {
            return LmrSpec.of(ByteSizes.parse("SIZE", size))
                    .withName(name)
                    .withPlacement(placement())
                    .withDefaultPermissions(
                            permissions("--others-may", defaults).toArray(Permission[]::new));
        }

        @Override
        void act(Lite lite) {
            try (LmrHandle handle = lite.memory().malloc(spec())) {
                List<String> places = handle.extents().stream()
                        .map(extent -> extent.node())
                        .distinct()
                        .toList();
                out().printf("LMR \"%s\" has %s at %s%n", name, bytes(handle.size()), String.join(", ", places));
                out().flush();
            }
        }
    }

    /** {@code lite free}. */
    @Command(
            name = "free",
            description = "Frees an LMR for all applications. Only its masters may.",
            mixinStandardHelpOptions = true)
    static final class Free extends Data {
        @Parameters(paramLabel = "NAME", description = "The LMR's name")
        private String name = "";

        @Override
        void validate() {
            LmrSpec.checkName(name);
        }

        @Override
        void act(Lite lite) {
            lite.memory().map(name, Permission.MASTER).free();
            out().printf("LMR \"%s\" is freed%n", name);
            out().flush();
        }
    }

    /** {@code lite grant}. */
    @Command(
            name = "grant",
            description = {
                "Sets what a principal may do with an LMR, in place of all that it was granted before. Only masters may.",
                "Without configured principals, applications are named uid:NUMBER after their user."
            },
            mixinStandardHelpOptions = true)
    static final class Grant extends Data {
        @Parameters(index = "0", paramLabel = "NAME", description = "The LMR's name")
        private String name = "";

        @Parameters(index = "1", paramLabel = "PRINCIPAL", description = "The principal")
        private String principal = "";

        @Parameters(
                index = "2",
                paramLabel = "PERMISSION[,PERMISSION]",
                description = "read, write, atomic, master, or none")
        private String permissions = "";

        @Override
        void validate() {
            LmrSpec.checkName(name);
            Set<Permission> unused = LmrHandle.checkGrant(principal, permissions("PERMISSION", permissions));
        }

        @Override
        void act(Lite lite) {
            try (LmrHandle handle = lite.memory().map(name, Permission.MASTER)) {
                handle.grant(principal, permissions("PERMISSION", permissions));
            }
            out().printf("%s may now: %s%n", principal, permissions.toLowerCase(Locale.ROOT));
            out().flush();
        }
    }

    private static Set<Permission> permissions(String option, String list) {
        EnumSet<Permission> parsed = EnumSet.noneOf(Permission.class);
        if (list.equalsIgnoreCase("none")) {
            return parsed;
        }
        for (String name : list.split(",", -1)) {
            parsed.add(Arrays.stream(Permission.values())
                    .filter(permission -> permission.name().equalsIgnoreCase(name.strip()))
                    .findFirst()
                    .orElseThrow(() -> new IllegalArgumentException(
                            "%s is \"%s\"; the permissions are read, write, atomic, master, or none alone"
                                    .formatted(option, list))));
        }
        return parsed;
    }
}
