package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Seeds;
import dev.lite.tier.testing.TestCluster;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Applications on two nodes call each other, while their threads are interrupted, their servers and sessions end and begin, policies
 * change, and a node goes. Each history is random, from a seed that is printed.
 */
@ParameterizedClass
@EnumSource(names = {"ONE_HOST", "TCP"})
@Isolated("it counts the threads, mappings and descriptors of its process")
class ChannelHistoriesTest {
    private static final int HISTORIES = Integer.getInteger("lite.test.histories", 4);
    private static final int LOSSES = Integer.getInteger("lite.test.losses", 2);
    private static final Duration WINDOW = Duration.ofMillis(20);
    /** What a thread that spins uses at least, beside others. */
    private static final double SPINS = 0.3;

    /** The bits of a slot's word at a node that are 0 in a free one. */
    private static final int SLOT_STATES = 0xf;

    private static final List<String> APPLICATION_THREADS = List.of("lite-client", "lite-channel", "lite-waits");

    private final Between between;

    @TempDir(factory = InDevShm.class)
    Path directory;

    private @Nullable Nodes nodes;
    private int clusters;

    ChannelHistoriesTest(Between between) {
        this.between = between;
    }

    @AfterEach
    void stop() {
        if (nodes != null) {
            nodes.close();
        }
    }

    /** Two nodes, and their sockets for applications. */
    private final class Nodes implements AutoCloseable {
        final TestCluster cluster;
        final Map<String, SessionServer> sessions = new HashMap<>();
        final Map<String, Path> sockets = new HashMap<>();

        Nodes() {
            Path its = directory.resolve("cluster-" + clusters++);
            cluster = new TestCluster(its, between.fabric(directory));
            cluster.start(2);
            for (String name : List.of("n0", "n1")) {
                Path socket = its.resolve(name + ".sock");
                SessionServer server = new SessionServer(SessionServerConfig.of(socket), cluster.node(name));
                server.start();
                sessions.put(name, server);
                sockets.put(name, socket);
            }
        }

        void passNodes(String name, boolean all) {
            cluster.node(name).channels().passNodes((principal, betweenHosts) -> all);
        }

        @Override
        public void close() {
            sessions.values().forEach(SessionServer::close);
            cluster.close();
        }

        void awaitNothingAt(String name) {
            LiteNode node = cluster.node(name);
            Object channels = Inside.field(node, "channels", Object.class);
            Map<?, ?> ends = Inside.field(Inside.field(channels, "ends", Object.class), "ends", Map.class);
            Waits.until("%s has no channel: %s".formatted(name, ends), ends::isEmpty);
            SessionServer server = sessions.get(name);
            Waits.until(
                    name + " has no session",
                    () -> server == null || server.sessions().isEmpty());
            Waits.until(name + " has no call", () -> node.figures().queuedCalls() == 0);
            Waits.until(name + " has no slot with a call", () -> callSlots(node) == 0);
            Waits.until(name + " has no handle", () -> node.figures().usage().handles() == 0);
        }
    }

    @Test
    void inEveryHistoryEachCallIsExecutedAtMostOnceAndEndsAsPromisedAndNothingIsLeft() {
        Nodes its = new Nodes();
        nodes = its;
        long[] channelCalls = new long[1];
        Seeds.forEach(HISTORIES, random -> {
            long descriptors = ChannelCases.channelDescriptors();
            ChannelHistory history = new ChannelHistory(random, its.sockets, its::passNodes);
            history.run(false, () -> {});
            System.out.println(between + ": " + history);
            channelCalls[0] += history.channelCalls();
            its.awaitNothingAt("n0");
            its.awaitNothingAt("n1");
            awaitNothingInApplications();
            Waits.until("no descriptor is left", () -> ChannelCases.channelDescriptors() <= descriptors);
            assertNewApplicationsGetAChannel(its);
        });
        assertThat(channelCalls[0]).isPositive();
    }

    @Test
    void inEveryHistoryThatEndsWithTheLossOfANodeEachCallEndsAsPromisedAndNothingIsLeft() {
        Seeds.forEach(LOSSES, random -> {
            Nodes its = new Nodes();
            nodes = its;
            boolean[] stops = new boolean[1];
            ChannelHistory history = new ChannelHistory(random, its.sockets, its::passNodes);
            history.run(true, () -> {
                stops[0] = random.nextBoolean();
                if (stops[0]) {
                    its.cluster.stop("n1");
                } else {
                    its.cluster.directory(1).expireSession();
                }
            });
            System.out.println(between + ", n1 " + (stops[0] ? "stopped: " : "expired: ") + history);
            its.awaitNothingAt("n0");
            its.close();
            awaitNothingInApplications();
        });
    }

    /** Slots at a node that are in use, also by calls whose callers have stopped waiting. */
    private static long callSlots(LiteNode node) {
        Object slots = Inside.field(Inside.field(node, "rpc", Object.class), "slots", Object.class);
        AtomicReferenceArray<?> all = Inside.field(slots, "slots", AtomicReferenceArray.class);
        return IntStream.range(0, all.length())
                .mapToObj(all::get)
                .filter(slot -> slot != null && (Inside.field(slot, "state", Integer.class) & SLOT_STATES) != 0)
                .count();
    }

    private static void assertNewApplicationsGetAChannel(Nodes nodes) {
        Path atN1 = nodes.sockets.get("n1");
        Path atN0 = nodes.sockets.get("n0");
        if (atN0 == null || atN1 == null) {
            throw new AssertionError("no sockets");
        }
        try (HistoryApp serving = new HistoryApp("new-server", "n1", atN1);
                HistoryApp calling = new HistoryApp("new-caller", "n0", atN0);
                RpcServer served = serving.lite.rpc().register("new", 1, RpcCall::request)) {
            Waits.until("there is a channel", () -> {
                assertThat(calling.lite.rpc().call("n1", served.function(), new byte[] {5}, CallBook.LONG))
                        .containsExactly(5);
                return calling.channelCalls() > 0;
            });
        }
    }

    /** All applications have ended. */
    private static void awaitNothingInApplications() {
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
        Waits.until(
                "no application has a thread any more",
                () -> applicationThreads().isEmpty());
        Waits.until("no thread spins", () -> spinning().isEmpty());
    }

    private static Set<String> applicationThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> APPLICATION_THREADS.stream().anyMatch(name::startsWith))
                .collect(Collectors.toSet());
    }

    /** The threads that use a processor during a while: carriers of virtual threads, and LITE's. */
    private static Set<String> spinning() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        Map<Thread, Long> before = Thread.getAllStackTraces().keySet().stream()
                .filter(thread ->
                        thread.getName().startsWith("lite-") || thread.getName().startsWith("ForkJoinPool"))
                .collect(Collectors.toMap(thread -> thread, thread -> threads.getThreadCpuTime(thread.threadId())));
        long beganNs = System.nanoTime();
        Waits.pass(WINDOW);
        double windowNs = System.nanoTime() - beganNs;
        return before.entrySet().stream()
                .filter(entry ->
                        (threads.getThreadCpuTime(entry.getKey().threadId()) - entry.getValue()) / windowNs > SPINS)
                .map(entry -> entry.getKey().getName())
                .collect(Collectors.toSet());
    }
}
