package dev.lite.tier.session;

import static dev.lite.api.Permission.ATOMIC;
import static dev.lite.api.Permission.READ;
import static dev.lite.api.Permission.WRITE;

import dev.lite.api.ForwardingLmrHandle;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Placement;
import dev.lite.fabric.FabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;

/** Two nodes, an application at each, and handles of each kind on LMRs of the first node. One thread. */
final class MappedWords implements AutoCloseable {
    /** Whose handle. */
    enum Kind {
        /** An application with an embedded node, which stores the LMR. */
        EMBEDDED,
        /** An application with an embedded node, which has the other node's LMR mapped. */
        EMBEDDED_ELSEWHERE,
        ATTACHED,
        /** Attached again after a loss, as the starter does. */
        REATTACHING,
        /** Behind a handle that forwards, as those of the starter's regions do. */
        FORWARDED
    }

    private final TestCluster cluster;
    private final SessionServer server;
    private final Deque<Lite> sessions = new ArrayDeque<>();
    private int made;

    MappedWords(Path root, FabricProvider fabric) {
        cluster = new TestCluster(root, fabric);
        LiteNode node = cluster.start("n0");
        cluster.start("n1");
        Waits.until(
                "the nodes are connected",
                () -> cluster.node(1).nodes().stream().map(NodeInfo::fabric).noneMatch("none"::equals));
        server = new SessionServer(SessionServerConfig.of(root.resolve("s")), node);
        server.start();
    }

    /** A handle on a new LMR. */
    LmrHandle handle(Kind kind, long bytes) {
        String name = "words-" + made++;
        LmrHandle first = cluster.attach(0)
                .memory()
                .malloc(LmrSpec.of(bytes)
                        .withName(name)
                        .withPlacement(Placement.on("n0"))
                        .withDefaultPermissions(READ, WRITE, ATOMIC));
        return switch (kind) {
            case EMBEDDED -> first;
            case EMBEDDED_ELSEWHERE -> map(cluster.attach(1), name);
            case ATTACHED -> map(attach(false), name);
            case REATTACHING -> map(attach(true), name);
            case FORWARDED -> forwarding(first);
        };
    }

    private static LmrHandle forwarding(LmrHandle handle) {
        return new ForwardingLmrHandle() {
            @Override
            public LmrHandle unwrap() {
                return handle;
            }
        };
    }

    private static LmrHandle map(Lite lite, String name) {
        return lite.memory().map(name, READ, WRITE, ATOMIC);
    }

    private Lite attach(boolean reattach) {
        Lite lite = Lite.attach(AttachOptions.to(server.socket(), "application").withReattach(reattach));
        sessions.push(lite);
        return lite;
    }

    @Override
    public void close() {
        while (!sessions.isEmpty()) {
            sessions.pop().close();
        }
        server.close();
        cluster.close();
    }
}
