package dev.lite.stress.word;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.memory.ArenaConfig;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.session.SessionServer;
import dev.lite.tier.session.SessionServerConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Two nodes of this JVM for all iterations, connected by shared memory: each has the other's arena mapped. The LMRs are on the first
 * node. Each state takes the next piece of them, and clears it, so that no two states in use share one.
 */
final class WordNodes {
    /** The bytes of a state in each LMR. */
    static final int PIECE_BYTES = 64;

    /** Added to a word, it adds 1 to the {@code int} at the offset + 4. */
    static final long ONE_IN_SECOND_HALF = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? 1L << Integer.SIZE : 1;

    /** A word whose {@code int} at its offset is 2, and the other one 0. */
    static final long TWO_IN_FIRST_HALF = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? 2 : 2L << Integer.SIZE;

    /** Many more than jcstress uses at a time. */
    private static final int PIECES = 1 << 16;

    private static final long BYTES = (long) PIECES * PIECE_BYTES;
    private static final InMemoryDirectory.Store STORE = new InMemoryDirectory.Store();
    private static final Path ROOT = temporary();
    private static final LiteNode FIRST = start("node-1");
    private static final LiteNode SECOND = start("node-2");
    private static final SessionServer SERVER = serve();

    /** Of an application with an embedded node, which stores the LMRs. */
    static final Handles HERE = make();
    /** Of an application with an embedded node, which has the LMRs of the other node mapped. */
    static final Handles THERE = map(SECOND.attach("there"));

    /** Of an application that is attached to the first node, which carries out what it does. */
    static final Handles ATTACHED = map(Lite.attach(AttachOptions.to(SERVER.socket(), "attached")));

    private static final AtomicLong NEXT = new AtomicLong();

    static {
        deleteFiles();
    }

    private WordNodes() {}

    /** The handles of one application. */
    record Handles(LmrHandle words, LmrHandle data) {}

    /** The offset of a piece in each LMR; it is zero there. */
    static long nextPiece() {
        long offset = (NEXT.getAndIncrement() & (PIECES - 1)) * PIECE_BYTES;
        HERE.words.memset(offset, PIECE_BYTES, (byte) 0);
        HERE.data.memset(offset, PIECE_BYTES, (byte) 0);
        return offset;
    }

    private static Handles make() {
        Waits.until(
                "the nodes are connected",
                () -> SECOND.nodes().stream().map(NodeInfo::fabric).noneMatch("none"::equals));
        Lite lite = FIRST.attach("here");
        return new Handles(malloc(lite, "words"), malloc(lite, "data"));
    }

    private static LmrHandle malloc(Lite lite, String name) {
        return lite.memory()
                .malloc(LmrSpec.of(BYTES)
                        .withName(name)
                        .withPlacement(Placement.on("node-1"))
                        .withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC));
    }

    private static Handles map(Lite lite) {
        return new Handles(map(lite, "words"), map(lite, "data"));
    }

    private static LmrHandle map(Lite lite, String name) {
        return lite.memory().map(name, Permission.READ, Permission.WRITE, Permission.ATOMIC);
    }

    private static LiteNode start(String name) {
        return LiteNode.start(
                LiteNodeConfig.builder("words", name, 4 * BYTES, ROOT.resolve(name))
                        .arena(ROOT, ArenaConfig.Kept.NEVER)
                        .build(),
                STORE.open(),
                List.of(new ShmFabricProvider()));
    }

    private static Path temporary() {
        try {
            return Files.createTempDirectory(Path.of("/dev/shm"), "lite-stress");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static SessionServer serve() {
        SessionServer server = new SessionServer(SessionServerConfig.of(ROOT.resolve("s")), FIRST);
        server.start();
        return server;
    }

    /** At once, because jcstress ends its processes without shutdown hooks. All connections exist, and use no file any more. */
    private static void deleteFiles() {
        for (String name : List.of("s", "node-1/shm.sock", "node-1", "node-2/shm.sock", "node-2", ".")) {
            boolean unused = ROOT.resolve(name).normalize().toFile().delete();
        }
    }
}
