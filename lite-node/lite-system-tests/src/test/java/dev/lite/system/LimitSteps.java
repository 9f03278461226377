package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtLock;
import dev.lite.api.Permission;
import dev.lite.api.RpcServer;
import dev.lite.local.LocalCluster;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What applications at each node do to pass the limits of ids, tickets, generations and rings. Nothing breaks meanwhile, so every
 * operation must succeed. Named LMRs stay from one pass to the next, and nodes may restart between two passes. One thread.
 */
final class LimitSteps {
    private static final int BYTES = 512;
    private static final int ANONYMOUS_MAX = 16;
    private static final int NAMED_EVERY = 6;
    private static final int MALLOCS = 40;
    /** A process draws few ids, has few left in its block, and must then draw from another one. */
    private static final int MALLOCS_MAX = 16 + NearLimits.IDS_LEFT + 4 * MALLOCS;

    private static final int FUNCTIONS = 4;
    /** Together several times the bytes of a ring. */
    private static final int CALLS = 80;

    private static final int HOLDS = 40;

    private final Random seeds;
    private final LocalCluster cluster;
    private final int nodes;
    private final Duration deadline;

    /** Every id of an LMR so far, and what had it. */
    private final Map<Long, String> ids = new ConcurrentHashMap<>();

    private final List<Named> named = new CopyOnWriteArrayList<>();
    private final Map<String, Guard> guards = new ConcurrentHashMap<>();
    private int pass;

    private record Named(String name, long id) {}

    /** What a lock guards: the number of its holders, and the newest token. */
    private static final class Guard {
        final AtomicInteger holders = new AtomicInteger();
        final AtomicLong newest = new AtomicLong();
    }

    LimitSteps(long seed, LocalCluster cluster, int nodes, Duration deadline) {
        this.seeds = new Random(seed);
        this.cluster = cluster;
        this.nodes = nodes;
        this.deadline = deadline;
    }

    /** A step at one node. */
    interface Step {
        void run(int node, Lite lite);
    }

    /** Runs a step at all nodes at once, each in a session of its own. */
    void atEachNode(Step step) {
        List<Lite> sessions = new ArrayList<>();
        try (ExecutorService threads = Executors.newThreadPerTaskExecutor(
                Thread.ofPlatform().name("limits-", 1).factory())) {
            List<Future<?>> running = new ArrayList<>();
            for (int node = 1; node <= nodes; node++) {
                Lite lite = Clusters.attach(cluster, node);
                sessions.add(lite);
                int at = node;
                running.add(threads.submit(() -> step.run(at, lite)));
            }
            running.forEach(LimitSteps::join);
        } finally {
            sessions.forEach(Lite::close);
        }
    }

    static void join(Future<?> running) {
        try {
            var unused = running.get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        } catch (ExecutionException e) {
            throw new AssertionError(e.getCause());
        }
    }

    /**
     * Mallocs and frees at each node.
     *
     * @param started the nodes whose process has not passed the end of its first block of ids yet; it passes it now
     */
    void passIds(List<Integer> started) {
        pass++;
        List<Named> before = List.copyOf(named);
        long seed = seeds.nextLong();
        atEachNode((node, lite) -> {
            Random random = new Random(seed + node);
            for (int i = node - 1; i < before.size(); i += nodes) {
                checkNamed(lite, before.get(i), random.nextBoolean());
            }
            malloc(node, lite, random, started.contains(node));
        });
    }

    private void checkNamed(Lite lite, Named expected, boolean free) {
        LmrHandle handle = lite.memory().map(expected.name, Permission.READ, Permission.WRITE, Permission.MASTER);
        assertThat(handle.id()).as("id of %s", expected.name).isEqualTo(expected.id);
        check(handle, expected.id);
        if (free) {
            handle.free();
            named.remove(expected);
        } else {
            handle.unmap();
        }
    }

    private void malloc(int node, Lite lite, Random random, boolean passes) {
        List<LmrHandle> anonymous = new ArrayList<>();
        long last = 0;
        int left = passes ? MALLOCS_MAX : MALLOCS;
        for (int i = 0; left > 0; i++, left--) {
            LmrSpec spec = LmrSpec.of(BYTES);
            String name = "limits/%d-%d-%d".formatted(pass, node, i);
            boolean isNamed = i % NAMED_EVERY == 0;
            LmrHandle handle = lite.memory()
                    .malloc(
                            isNamed
                                    ? spec.withName(name)
                                            .withDefaultPermissions(
                                                    Permission.READ, Permission.WRITE, Permission.ATOMIC)
                                    : spec,
                            deadline);
            String other = ids.putIfAbsent(handle.id(), name);
            assertThat(other)
                    .as("another LMR with the id %d of %s", handle.id(), name)
                    .isNull();
            assertThat(read(handle)).as("%s is new", name).isEqualTo(new byte[BYTES]);
            handle.write(0, content(handle.id()));
            if (isNamed) {
                named.add(new Named(name, handle.id()));
                handle.unmap();
            } else {
                anonymous.add(handle);
            }
            if (anonymous.size() > ANONYMOUS_MAX) {
                checkAndFree(anonymous.remove(random.nextInt(anonymous.size())));
            }
            long count = handle.id() & (NearLimits.IDS_PER_BLOCK - 1);
            if (passes && last >= NearLimits.IDS_PER_BLOCK - NearLimits.IDS_LEFT && count < last) {
                passes = false;
                left = MALLOCS;
            }
            last = count;
        }
        assertThat(passes)
                .as("node-%d has ids left after id count %d", node, last)
                .isFalse();
        anonymous.forEach(LimitSteps::checkAndFree);
    }

    private static void checkAndFree(LmrHandle handle) {
        check(handle, handle.id());
        handle.free();
    }

    private static void check(LmrHandle handle, long id) {
        assertThat(Arrays.equals(read(handle), content(id)))
                .as("the content of the LMR %d", id)
                .isTrue();
    }

    private static byte[] read(LmrHandle handle) {
        byte[] bytes = new byte[BYTES];
        handle.read(0, bytes);
        return bytes;
    }

    private static byte[] content(long id) {
        byte[] bytes = new byte[BYTES];
        new Random(id).nextBytes(bytes);
        return bytes;
    }

    /** Calls new functions from each node to the next one, more bytes than a ring has. */
    void passRings() {
        List<Lite> servers = new ArrayList<>();
        List<RpcServer> functions = new ArrayList<>();
        try {
            for (int node = 1; node <= nodes; node++) {
                Lite server = Clusters.attach(cluster, node);
                servers.add(server);
                for (int function = 0; function < FUNCTIONS; function++) {
                    functions.add(server.rpc()
                            .register(
                                    function(node, function),
                                    1,
                                    call -> MemorySegment.ofArray(
                                            invert(call.request().toArray(ValueLayout.JAVA_BYTE)))));
                }
            }
            atEachNode((node, lite) -> {
                int other = node % nodes + 1;
                for (int call = 0; call < CALLS; call++) {
                    for (int function = 0; function < FUNCTIONS; function++) {
                        byte[] request = content(((long) node << 32) + call * (long) FUNCTIONS + function);
                        byte[] reply = lite.rpc().call("node-" + other, function(other, function), request, deadline);
                        assertThat(Arrays.equals(reply, invert(request)))
                                .as("the answer to call %d of node-%d", call, node)
                                .isTrue();
                    }
                }
            });
        } finally {
            functions.forEach(RpcServer::close);
            servers.forEach(Lite::close);
        }
    }

    private String function(int node, int function) {
        return "limits/invert-%d-%d-%d".formatted(pass, node, function);
    }

    private static byte[] invert(byte[] bytes) {
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) ~bytes[i];
        }
        return bytes;
    }

    /** Takes some locks at each node many times. */
    void passTickets(List<String> locks) {
        atEachNode((node, lite) -> {
            for (int hold = 0; hold < HOLDS; hold++) {
                for (String lock : locks) {
                    hold(lite.sync().lock(lock));
                }
            }
        });
    }

    /** Takes a lock once, and checks that nobody else has it and that its tokens grow. */
    void hold(LtLock lock) {
        Guard guard = guards.computeIfAbsent(lock.name(), name -> new Guard());
        try (HeldLock held = lock.acquire(deadline)) {
            assertThat(guard.holders.incrementAndGet())
                    .as("holders of %s", lock.name())
                    .isOne();
            assertThat(held.fencingToken())
                    .as("the token of %s", lock.name())
                    .isGreaterThan(guard.newest.getAndSet(held.fencingToken()));
            guard.holders.decrementAndGet();
        }
    }

    /** The newest token of a lock. */
    long newestToken(String lock) {
        return guards.getOrDefault(lock, new Guard()).newest.get();
    }
}
