package dev.lite.rdma.vm;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * An application on one of three nodes: the writer creates an LMR over all of them, the reader reads it on another node. They meet at a
 * barrier when everything is written, so that both can start at the same time.
 */
final class MixedProgram {
    static final String WRITER = "writer";
    static final String READER = "reader";

    private static final Duration DEADLINE = Duration.ofSeconds(60);
    private static final String NAME = "mixed";
    private static final int NODES = 3;
    private static final int BYTES = 300_000;
    private static final int ADDED = 7;

    private MixedProgram() {}

    /**
     * Runs a role and prints the result.
     *
     * @param arguments the role; the node's socket
     */
    public static void main(String[] arguments) {
        try (Lite lite = Lite.attach(AttachOptions.to(Path.of(arguments[1]), "mixed"))) {
            byte[] bytes = new byte[BYTES];
            new Random(BYTES).nextBytes(bytes);
            Arrays.fill(bytes, 0, Long.BYTES, (byte) 0);
            if (arguments[0].equals(WRITER)) {
                write(lite, bytes);
            } else {
                read(lite, bytes);
            }
        }
        System.exit(0);
    }

    private static void write(Lite lite, byte[] bytes) {
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
        System.out.println(WRITER + " wrote " + BYTES + " bytes to " + nodes);
        meet(lite, NAME);
    }

    /** Waits for the other one of a writer and its reader. */
    static void meet(Lite lite, String name) {
        long unused = lite.sync().barrier(name, 2).await(DEADLINE);
    }

    private static void read(Lite lite, byte[] bytes) {
        meet(lite, NAME);
        try (LmrHandle handle = lite.memory().map(NAME, Permission.READ, Permission.ATOMIC)) {
            require(handle.fetchAdd(0, 1) == ADDED, "the counter does not have the writer's value");
            byte[] seen = new byte[BYTES];
            handle.read(0, seen);
            int from = Long.BYTES;
            int wrong = Arrays.mismatch(seen, from, BYTES, bytes, from, BYTES);
            require(wrong == -1, "wrong byte at " + (from + wrong));
            System.out.println(READER + " read " + BYTES + " bytes");
        }
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalStateException(otherwise);
        }
    }
}
