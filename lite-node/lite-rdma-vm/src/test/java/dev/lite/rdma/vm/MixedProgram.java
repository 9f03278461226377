package dev.lite.rdma.vm;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * Applications at a node, one after the other in one process, because a JVM starts slowly on an emulated
 * processor. Each has a role, and begins when the test lets it. Some meet the application of another node at a
 * barrier, so that both can begin at the same time.
 */
final class MixedProgram {
    /** Creates an LMR over all three nodes. */
    static final String WRITER = "writer";

    /** Reads it at another node. */
    static final String READER = "reader";

    static final String LOG_WRITER = "log writer";
    static final String LOG_READER = "log reader";
    static final String WORDS = "words";

    /** One application, which stays attached to the end of the process. */
    static final String ONE = "one application";

    /** 49 more. */
    static final String FIFTY = "fifty applications";

    private static final String END = "end";
    private static final int APPLICATIONS = 50;
    private static final Duration TURN = Duration.ofMinutes(20);
    private static final Duration DEADLINE = Waits.seconds(30);
    private static final String NAME = "mixed";
    private static final String OTHER_NODE = "b";
    private static final int NODES = 3;
    private static final int BYTES = 300_000;
    private static final int ADDED = 7;

    private MixedProgram() {}

    /**
     * Takes the roles one after the other. Prints a line at the end of each, with its name and the result.
     *
     * @param arguments the node's socket; the roles
     */
    public static void main(String[] arguments) {
        Path socket = Path.of(arguments[0]);
        for (String role : List.of(arguments).subList(1, arguments.length)) {
            awaitTurn(role);
            System.out.println(role + ": " + take(role, socket));
        }
        awaitTurn(END);
        System.exit(0);
    }

    /** Lets the program in this machine begin with a role. */
    static void begin(Machine machine, String role) {
        try {
            Files.createFile(machine.directory().resolve(role));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Lets the program in this machine end after its last role. */
    static void end(Machine machine) {
        begin(machine, END);
    }

    private static void awaitTurn(String role) {
        Waits.until("the turn of: " + role, TURN, () -> Files.exists(Path.of(role)));
    }

    private static String take(String role, Path socket) {
        if (role.equals(ONE)) {
            return ManyApplications.attach(socket, OTHER_NODE, 1);
        }
        if (role.equals(FIFTY)) {
            return ManyApplications.attach(socket, OTHER_NODE, APPLICATIONS);
        }
        try (Lite lite = Lite.attach(AttachOptions.to(socket, "mixed"))) {
            return switch (role) {
                case WRITER -> write(lite);
                case READER -> read(lite);
                case LOG_WRITER -> LogAndWords.write(lite);
                case LOG_READER -> LogAndWords.read(lite);
                case WORDS -> LogAndWords.countWords(lite);
                default -> throw new IllegalArgumentException(role);
            };
        }
    }

    private static byte[] content() {
        byte[] bytes = new byte[BYTES];
        new Random(BYTES).nextBytes(bytes);
        Arrays.fill(bytes, 0, Long.BYTES, (byte) 0);
        return bytes;
    }

    private static String write(Lite lite) {
        byte[] bytes = content();
        LmrHandle handle = lite.memory()
                .malloc(LmrSpec.of(BYTES)
                        .withName(NAME)
                        .withPlacement(Placement.spread())
                        .withDefaultPermissions(Permission.READ, Permission.ATOMIC));
        List<String> nodes =
                handle.extents().stream().map(Extent::node).distinct().sorted().toList();
        require(nodes.size() == NODES, "the extents are on " + nodes);
        handle.write(0, bytes);
        require(handle.fetchAdd(0, ADDED) == 0, "the counter did not start at 0");
        meet(lite, NAME);
        return "wrote " + BYTES + " bytes to " + nodes;
    }

    /** Waits for the other one of a writer and its reader. */
    static void meet(Lite lite, String name) {
        long unused = lite.sync().barrier(name, 2).await(DEADLINE);
    }

    private static String read(Lite lite) {
        byte[] bytes = content();
        meet(lite, NAME);
        try (LmrHandle handle = lite.memory().map(NAME, Permission.READ, Permission.ATOMIC)) {
            require(handle.fetchAdd(0, 1) == ADDED, "the counter does not have the writer's value");
            byte[] seen = new byte[BYTES];
            handle.read(0, seen);
            int from = Long.BYTES;
            int wrong = Arrays.mismatch(seen, from, BYTES, bytes, from, BYTES);
            require(wrong == -1, "wrong byte at " + (from + wrong));
            return "read " + BYTES + " bytes";
        }
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalStateException(otherwise);
        }
    }
}
