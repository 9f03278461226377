package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Extent;
import dev.lite.api.HeldLock;
import dev.lite.api.Lifetime;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeInfo;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.Priority;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.cluster.InMemoryDirectory;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.cluster.qos.QosPolicy.Quota;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.fabric.tcp.TcpFabricProvider;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.LiteNodeConfig;
import dev.lite.tier.qos.QosService;
import dev.lite.tier.testing.Effort;
import dev.lite.tier.testing.HasChannels;
import dev.lite.tier.testing.TestCluster;
import dev.lite.tier.testing.WordChecks;
import dev.lite.tier.testing.WordChecks.Publication;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two applications attached to two real nodes that are connected by shared memory. */
@HasChannels
class RealTierSessionTest {
    private static final int BYTES = 9 * 1024 * 1024 + 5;

    @TempDir
    Path directory;

    private final InMemoryDirectory.Store store = new InMemoryDirectory.Store();
    private final Deque<Runnable> opened = new ArrayDeque<>();
    private final List<LiteNode> nodes = new ArrayList<>();
    private final List<SessionServer> servers = new ArrayList<>();
    private Path arenas;
    private Lite first;
    private Lite second;

    @BeforeEach
    void start() throws IOException {
        arenas = Files.createTempDirectory(Path.of("/dev/shm"), "lite-session-test");
        first = attach("node-1");
        second = attach("node-2");
        Waits.until(
                "the nodes are connected",
                () -> first.nodes().stream().map(NodeInfo::fabric).toList().equals(List.of("local", "shm"))
                        && second.nodes().stream()
                                .map(NodeInfo::fabric)
                                .toList()
                                .equals(List.of("shm", "local")));
    }

    private Lite attach(String name) {
        return attach(name, store.open(), new ShmFabricProvider());
    }

    private Lite attach(String name, InMemoryDirectory view, FabricProvider fabric) {
        LiteNode node = startNode(name, view, fabric);
        SessionServer server = new SessionServer(SessionServerConfig.of(directory.resolve(name + ".sock")), node);
        opened.push(server::close);
        server.start();
        nodes.add(node);
        servers.add(server);
        Lite lite = Lite.attach(AttachOptions.to(server.socket(), "app-at-" + name));
        opened.push(lite::close);
        return lite;
    }

    private LiteNode startNode(String name, InMemoryDirectory view, FabricProvider fabric) {
        opened.push(view::close);
        LiteNode node = LiteNode.start(
                LiteNodeConfig.builder("session-test", name, 64L << 20, directory.resolve(name))
                        .arena(arenas, false)
                        .fabricOptions("tcp", TestCluster.TCP)
                        .build(),
                view,
                List.of(fabric));
        opened.push(node::close);
        return node;
    }

    @AfterEach
    void stop() {
        while (!opened.isEmpty()) {
            opened.pop().run();
        }
        // A node that shuts down cleanly and retains nothing removes its directory; the last one also removes the root.
        assertThat(arenas).doesNotExist();
    }

    @Test
    void theLocksOfASessionAndTheWaitersAtTheirHomeAreShown() {
        HeldLock held = first.sync().lock("l").acquire(Waits.seconds(20));
        assertThat(servers.get(0).sessions().getFirst().locks()).containsExactly("l");
        Thread waiting = Thread.ofPlatform()
                .start(() -> second.sync().lock("l").acquire(Waits.seconds(20)).close());
        Waits.until(
                "the other session waits",
                () -> List.copyOf(nodes.get(0).figures().lockWaiters().values()).equals(List.of(1)));
        held.close();
        Waits.join(waiting);
        assertThat(servers.get(0).sessions().getFirst().locks()).isEmpty();
        Waits.until("nobody waits", () -> nodes.get(0).figures().lockWaiters().isEmpty());
    }

    /** A short memset is a command of the data path; the others are requests. */
    @Test
    void copiesAndLongMemsetsHaveThePriorityOfTheirHandles() {
        LmrHandle handle = first.memory().malloc(LmrSpec.of(1 << 20));
        LmrHandle low = handle.withPriority(Priority.LOW);
        QosService qos = nodes.get(0).qos();
        QosPolicy unused = qos.set(QosPolicy.OFF.withQuotas(
                Map.of(servers.get(0).sessions().getFirst().principal(), new Quota(null, 1L))));
        List<Runnable> operations = List.of(
                () -> first.memory().memcpy(low, 0, handle, 64, 64),
                () -> first.memory().memmove(handle, 0, low, 64, 64),
                () -> low.memset(0, low.size(), (byte) 1));
        for (Runnable operation : operations) {
            long before = qos.status().low().queued();
            for (int count = 0; count < 100 && qos.status().low().queued() == before; count++) {
                operation.run();
            }
            assertThat(qos.status().low().queued()).isGreaterThan(before);
        }
        assertThat(qos.status().high().queued()).isZero();
    }

    @Test
    void bytesWrittenByOneApplicationAreReadByAnotherAcrossNodes() {
        byte[] source = new byte[BYTES];
        new Random(7).nextBytes(source);
        LmrHandle made =
                first.memory().malloc(LmrSpec.of(BYTES).withName("file").withPlacement(Placement.spread()));
        made.write(0, source);
        assertThat(made.extents()).extracting(Extent::node).contains("node-1", "node-2");
        try (LmrHandle mapped = second.memory().map("file", Permission.READ, Permission.ATOMIC, Permission.WRITE)) {
            byte[] read = new byte[BYTES];
            mapped.read(0, read);
            assertThat(read).isEqualTo(source);
            made.write(0, new byte[16]);
            for (int i = 0; i < 1000; i++) {
                mapped.fetchAdd(0, 2);
                made.fetchAdd(0, 1);
            }
            assertThat(mapped.testSet(0, 3000, 5)).isEqualTo(3000);
            assertThat(made.fetchAdd(0, 0)).isEqualTo(5);
            assertThatExceptionOfType(LmrBoundsException.class).isThrownBy(() -> mapped.read(BYTES, new byte[1]));
        }
        made.free();
    }

    @ParameterizedTest
    @ValueSource(strings = {"node-1", "node-2"})
    void wordsOfAttachedApplicationsAreAtomicAndPublish(String where) {
        LmrHandle words = malloc(64, "words", where);
        LmrHandle data = malloc(4096, "data", where);
        LmrHandle others = map("words");
        WordChecks.checkLongs(words, others);
        WordChecks.checkInts(others, words);
        for (Publication publication : Publication.values()) {
            words.putLong(0, 0);
            data.memset(0, data.size(), (byte) 0);
            WordChecks.checkPublication(publication, words, data, others, map("data"), Effort.times(300));
        }
        words.free();
        data.free();
    }

    private LmrHandle malloc(long size, String name, String where) {
        return first.memory()
                .malloc(LmrSpec.of(size)
                        .withName(name)
                        .withPlacement(Placement.on(where))
                        .withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC));
    }

    private LmrHandle map(String name) {
        return second.memory().map(name, Permission.READ, Permission.WRITE, Permission.ATOMIC);
    }

    @Test
    void anApplicationMovesToAnotherNodeOfItsHostWhenItsOwnIsLost() {
        SessionServer spare = new SessionServer(
                SessionServerConfig.of(directory.resolve("spare.sock")),
                startNode("spare", store.open(), new ShmFabricProvider()));
        opened.push(spare::close);
        spare.start();
        AttachOptions options = AttachOptions.to(directory.resolve("missing.sock"), "moving")
                .withAlternatives(List.of(spare.socket(), directory.resolve("node-1.sock")));
        try (Lite once = Lite.attach(options);
                Lite moving = Lite.attach(options.withReattach(true))) {
            assertThat(once.nodeName()).isEqualTo("spare");
            assertThat(moving.nodeName()).isEqualTo("spare");
            RpcServer server = moving.rpc().register("moving/echo", 1, RpcCall::request);
            spare.close();
            try (LmrHandle handle = first.memory().malloc(LmrSpec.of(64).withName("moving"))) {
                handle.write(0, new byte[] {7});
                byte[] read = new byte[1];
                moving.memory().map("moving", Permission.READ).read(0, read);
                assertThat(read).containsExactly(7);
            }
            assertThat(moving.nodeName()).isEqualTo("node-1");
            Waits.until("the function is served at the other node", () -> {
                try {
                    return second.rpc().call("node-1", "moving/echo", new byte[] {1}, Waits.seconds(20)).length == 1;
                } catch (RpcFailedException notYet) {
                    return false;
                }
            });
            server.close();
        }
        assertThatThrownBy(() -> Lite.attach(AttachOptions.to(directory.resolve("missing.sock"), "x")
                        .withAlternatives(List.of(directory.resolve("gone.sock")))))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessageContaining("missing.sock")
                .hasMessageContaining("gone.sock");
    }

    @Test
    void theStatisticsTellWhatASessionDidAndHolds() {
        LiteNode node = startNode("counted", store.open(), new ShmFabricProvider());
        SessionServer server = new SessionServer(SessionServerConfig.of(directory.resolve("counted.sock")), node);
        opened.push(server::close);
        server.start();
        List<LiteStatistics.Kind> sampled = new CopyOnWriteArrayList<>();
        Lite lite = Lite.attach(AttachOptions.to(server.socket(), "counted"));
        lite.setSampler((kind, nanos) -> sampled.add(kind));
        LmrHandle handle = lite.memory().malloc(LmrSpec.of(1 << 20));
        handle.write(0, new byte[100]);
        handle.write(0, new byte[28]);
        handle.read(0, new byte[8]);
        handle.fetchAdd(8, 1);
        handle.memset(0, 16, (byte) 1);
        handle.memset(0, 1 << 20, (byte) 1); // longer than a window: a control request
        lite.memory().memcpy(handle, 0, handle, 4096, 1000);
        lite.memory().memmove(handle, 0, handle, 8, 24);
        RpcServer echo = lite.rpc().register("echo", 1, RpcCall::request);
        lite.rpc().call("counted", "echo", new byte[5], Waits.seconds(20));
        HeldLock lock = lite.sync().lock("mine").acquire(Waits.seconds(20));

        LiteStatistics now = lite.statistics();
        assertThat(now.operations())
                .containsEntry(LiteStatistics.Kind.WRITE, new LiteStatistics.Count(2, 128))
                .containsEntry(LiteStatistics.Kind.READ, new LiteStatistics.Count(1, 8))
                .containsEntry(LiteStatistics.Kind.ATOMIC, new LiteStatistics.Count(1, 8))
                .containsEntry(LiteStatistics.Kind.MEMSET, new LiteStatistics.Count(2, 16 + (1 << 20)))
                .containsEntry(LiteStatistics.Kind.MEMCPY, new LiteStatistics.Count(2, 1024))
                .containsEntry(LiteStatistics.Kind.CALL, new LiteStatistics.Count(1, 5))
                .containsKey(LiteStatistics.Kind.ANSWER)
                .containsKey(LiteStatistics.Kind.LOCK);
        assertThat(now.handles()).isEqualTo(1);
        assertThat(now.functions()).containsExactly("echo");
        assertThat(now.locks()).containsExactly("mine");
        assertThat(server.sessions().getFirst().operations())
                .containsEntry(LiteStatistics.Kind.MEMSET, new LiteStatistics.Count(2, 16 + (1 << 20)))
                .containsEntry(LiteStatistics.Kind.MEMCPY, new LiteStatistics.Count(2, 1024))
                .containsEntry(LiteStatistics.Kind.WRITE, new LiteStatistics.Count(2, 128));
        assertThat(sampled).contains(LiteStatistics.Kind.WRITE, LiteStatistics.Kind.READ, LiteStatistics.Kind.CALL);

        lock.close();
        echo.close();
        handle.free();
        assertThat(lite.statistics().locks()).isEmpty();
        assertThat(lite.statistics().functions()).isEmpty();
        assertThat(lite.statistics().handles()).isZero();
        lite.close();
        Waits.until("the session has ended", () -> server.sessions().isEmpty());
        assertThat(server.operations()).containsEntry(LiteStatistics.Kind.WRITE, new LiteStatistics.Count(2, 128));
        assertThat(lite.statistics().operations())
                .containsEntry(LiteStatistics.Kind.WRITE, new LiteStatistics.Count(2, 128));
    }

    @Test
    void aReadOfTheMemoryOfALostNodeNamesThatNodeAndTheTimeWaited() {
        InMemoryDirectory.Store others = new InMemoryDirectory.Store();
        attach("near", others.open(), new TcpFabricProvider());
        AttachOptions options = AttachOptions.to(directory.resolve("near.sock"), "hurried");
        try (Lite hurried = Lite.attach(options.withDeadline(Waits.seconds(2)))) {
            attach("far", others.open(), new TcpFabricProvider());
            Waits.until("the nodes are connected", () -> hurried.nodes().size() == 2);
            LmrHandle words = hurried.memory().malloc(LmrSpec.of(64).withPlacement(Placement.on("far")));
            words.putLong(0, 1);
            for (int closed = 0;
                    closed < 4;
                    closed++) { // what belongs to the far node: session, server, node, directory
                opened.pop().run();
            }
            assertThatThrownBy(() -> words.getLong(0))
                    .isInstanceOf(LmrUnavailableException.class)
                    .hasMessageContaining("node far is lost")
                    .hasMessageContaining("waited for ");
        }
    }

    @Test
    void aFreeEndsTheHandleOfAnotherApplication() {
        LmrHandle made = first.memory().malloc(LmrSpec.of(BYTES).withName("gone"));
        LmrHandle mapped = second.memory().map("gone", Permission.READ);
        mapped.read(0, new byte[100]);
        made.free();
        Waits.until("the mapper is notified", () -> {
            try {
                mapped.read(0, new byte[8]);
                return false;
            } catch (LmrFreedException e) {
                return true;
            }
        });
        mapped.unmap();
        assertThatExceptionOfType(LmrNotFoundException.class)
                .isThrownBy(() -> second.memory().map("gone", Permission.READ));
    }

    @Test
    void theEndOfASessionFreesItsSessionLmrsAndKeepsTheOthers() {
        first.memory().malloc(LmrSpec.of(BYTES).withName("kept")).write(5, new byte[] {9});
        first.memory().malloc(LmrSpec.of(BYTES).withName("session").withLifetime(Lifetime.SESSION));
        assertThatExceptionOfType(LmrExistsException.class)
                .isThrownBy(() -> second.memory().malloc(LmrSpec.of(8).withName("session")));
        first.close();
        byte[] read = new byte[1];
        LmrHandle kept = second.memory().map("kept", Permission.READ, Permission.MASTER);
        kept.read(5, read);
        assertThat(read).containsExactly(9);
        Waits.until("the session's LMR is freed", () -> {
            try (LmrHandle still = second.memory().map("session", Permission.READ)) {
                return still.size() < 0;
            } catch (LmrNotFoundException freed) {
                return true;
            }
        });
        kept.free();
    }

    @Test
    void theNodeEnforcesTheHandlesPermissions() {
        try (LmrHandle made = first.memory().malloc(LmrSpec.of(64).withName("guarded"));
                LmrHandle readable = second.memory().map("guarded", Permission.READ)) {
            assertThatExceptionOfType(LmrPermissionException.class).isThrownBy(() -> readable.write(0, new byte[1]));
            assertThatExceptionOfType(LmrPermissionException.class).isThrownBy(readable::free);
            assertThatExceptionOfType(LmrPermissionException.class).isThrownBy(readable::extents);
            readable.read(0, new byte[64]);
            made.free();
        }
    }
}
