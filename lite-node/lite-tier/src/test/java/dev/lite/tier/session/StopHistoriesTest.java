package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcServer;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.testing.HasChannels;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.Seeds;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Embedded and attached applications perform every operation while their nodes stop one after the other, also those to which attached
 * applications still have sessions. A thread that touched the memory of a stopped node would end the process. Each history is random, from
 * a seed that is printed.
 */
@ParameterizedClass
@EnumSource(names = {"ONE_HOST", "TCP"})
@HasChannels
class StopHistoriesTest {
    private static final int HISTORIES = Integer.getInteger("lite.test.histories", 3);
    private static final int NODES = 3;
    private static final int EMBEDDED = 2;
    private static final int LMR_BYTES = 1 << 20;
    private static final int LONG_BYTES = 200 << 10;
    private static final int ASYNC_MAX = 8;
    private static final String DONE = "done";
    /** After a failure. */
    private static final Duration PAUSE = Duration.ofMillis(1);

    /** An operation, or the stop of a node, may take so long. */
    private static final Duration LONG = Waits.seconds(40);

    private static final Permission[] DATA = {Permission.READ, Permission.WRITE, Permission.ATOMIC};

    private final Between between;

    @TempDir(factory = InDevShm.class)
    Path directory;

    StopHistoriesTest(Between between) {
        this.between = between;
    }

    @Test
    void whateverApplicationsDoEveryNodeStopsAndUnmapsItsMemoryAndEveryOperationEnds() {
        Seeds.forEach(HISTORIES, random -> {
            History history = new History(directory.resolve(Long.toHexString(random.nextLong())), random);
            history.run();
            System.out.println(between + ": " + history.outcomes);
        });
    }

    /** One run with one seed. */
    private final class History {
        private final Random random;
        private final TestCluster cluster;
        private final List<SessionServer> sessions = new ArrayList<>();
        private final List<Lite> applications = new ArrayList<>();
        private final List<RpcServer> servers = new ArrayList<>();
        private final List<Thread> threads = new ArrayList<>();
        private final Map<String, AtomicInteger> outcomes = new ConcurrentHashMap<>();
        private final Queue<String> wrong = new ConcurrentLinkedQueue<>();
        private volatile boolean over;

        History(Path its, Random random) {
            this.random = random;
            cluster = new TestCluster(its, between.fabric(directory), Waits.seconds(2)).start(NODES);
            for (int node = 0; node < NODES; node++) {
                Path socket = its.resolve("n%d.sock".formatted(node));
                SessionServer server = new SessionServer(SessionServerConfig.of(socket), cluster.node(node));
                server.start();
                sessions.add(server);
                for (int i = 0; i < EMBEDDED; i++) {
                    applications.add(cluster.attach(node));
                }
                applications.add(Lite.attach(AttachOptions.to(socket, "app")));
            }
        }

        void run() {
            LmrHandle unused = applications
                    .getFirst()
                    .memory()
                    .malloc(LmrSpec.of(LMR_BYTES)
                            .withName("lmr")
                            .withPlacement(Placement.spread())
                            .withDefaultPermissions(DATA));
            applications.forEach(this::begin);
            Waits.pass(Duration.ofMillis(20 + random.nextInt(150)));
            List<Integer> order = new ArrayList<>(List.of(0, 1, 2));
            Collections.shuffle(order, random);
            try {
                order.forEach(this::stop);
            } finally {
                over = true;
            }
            if (random.nextBoolean()) {
                servers.forEach(RpcServer::close);
            }
            applications.forEach(Lite::close);
            for (Thread thread : threads) {
                Waits.until("every operation ends", LONG, () -> !thread.isAlive());
            }
            sessions.forEach(SessionServer::close);
            assertThat(wrong).isEmpty();
            assertThat(outcomes).as("what operations did before the end").containsKey(DONE);
        }

        private void stop(int number) {
            LiteNode node = cluster.node(number);
            if (random.nextBoolean()) { // as a process does
                sessions.get(number).close();
            }
            long beganNs = System.nanoTime();
            cluster.stop("n" + number);
            Duration took = Duration.ofNanos(System.nanoTime() - beganNs);
            if (took.compareTo(LONG) > 0) {
                wrong.add("the stop of n%d took %s".formatted(number, took));
            }
            if (!Inside.field(Inside.field(node, "arena", Object.class), "closed", Boolean.class)) {
                wrong.add("the arena of n%d stays mapped".formatted(number));
            }
            Waits.pass(Duration.ofMillis(random.nextInt(20)));
        }

        private void begin(Lite lite) {
            int number = servers.size();
            Random its = new Random(random.nextLong());
            if (its.nextBoolean()) {
                servers.add(lite.rpc().register("f" + number, 2, RpcCall::request));
            } else {
                RpcServer server = lite.rpc().serve("f" + number);
                servers.add(server);
                start(() -> serve(server, new Random(its.nextLong())));
            }
            start(() -> operate(new Operator(lite, new Random(its.nextLong()))));
        }

        private void start(Runnable task) {
            threads.add(
                    random.nextInt(3) == 0
                            ? Thread.startVirtualThread(task)
                            : Thread.ofPlatform().start(task));
        }

        /** Answers late, or never. */
        private void serve(RpcServer server, Random its) {
            while (!over) {
                try {
                    RpcCall call = server.receive(Duration.ofMillis(1 + its.nextInt(30)));
                    Waits.pass(Duration.ofMillis(its.nextInt(4) == 0 ? its.nextInt(200) : 0));
                    if (its.nextInt(20) > 0) {
                        call.reply(new byte[its.nextInt(10) == 0 ? 20_000 : 8]);
                    }
                } catch (LiteException none) {
                    // A virtual thread that only tried again would leave no processor to those of the nodes.
                    Waits.pass(PAUSE);
                } catch (RuntimeException e) {
                    wrong.add("a server: %s %s".formatted(e, List.of(e.getStackTrace())));
                    return;
                }
            }
        }

        private void operate(Operator operator) {
            while (!over) {
                long beganNs = System.nanoTime();
                String name = DONE;
                try {
                    operator.next();
                } catch (LiteException expected) {
                    name = expected.getClass().getSimpleName();
                } catch (CompletionException e) {
                    name = String.valueOf(e.getCause());
                    if (e.getCause() instanceof LiteException expected) {
                        name = expected.getClass().getSimpleName();
                    } else {
                        wrong.add(name);
                    }
                } catch (RuntimeException | AssertionError e) {
                    name = String.valueOf(e);
                    wrong.add("%s %s".formatted(e, List.of(e.getStackTrace())));
                }
                outcomes.computeIfAbsent(name, any -> new AtomicInteger()).incrementAndGet();
                if (!name.equals(DONE)) {
                    Waits.pass(PAUSE);
                }
                Duration took = Duration.ofNanos(System.nanoTime() - beganNs);
                if (took.compareTo(LONG) > 0) {
                    wrong.add("an operation took %s: %s".formatted(took, name));
                }
            }
        }
    }

    /** One thread of an application. */
    private static final class Operator {
        private final Lite lite;
        private final Random random;
        private final List<CompletableFuture<?>> underWay = new ArrayList<>();
        private @Nullable LmrHandle mapped;

        Operator(Lite lite, Random random) {
            this.lite = lite;
            this.random = random;
        }

        void next() {
            LmrHandle handle = mapped;
            if (handle == null) {
                handle = lite.memory().map("lmr", DATA[0], DATA);
                mapped = handle;
            }
            byte[] bytes = new byte[random.nextInt(4) == 0 ? LONG_BYTES : 64];
            MemorySegment segment = MemorySegment.ofArray(bytes);
            long at = random.nextInt((LMR_BYTES - bytes.length) / 8) * 8L;
            Duration deadline = Duration.ofMillis(1 + random.nextInt(random.nextBoolean() ? 20 : 2_000));
            String node = "n" + random.nextInt(NODES);
            String function = "f" + random.nextInt(NODES * (EMBEDDED + 1));
            byte[] request = new byte[random.nextInt(4) == 0 ? 20_000 : 8];
            switch (random.nextInt(13)) {
                case 0, 1 -> handle.read(at, segment);
                case 2, 3 -> handle.write(at, segment);
                case 4 -> add(handle.readAsync(at, segment));
                case 5 -> add(handle.writeAsync(at, segment));
                case 6 -> handle.fetchAdd(at, 1);
                case 7 -> handle.memset(at, bytes.length, (byte) 1);
                case 8 -> {
                    try (HeldLock held = lite.sync().lock("lock").acquire(deadline)) {
                        assertThat(held.fencingToken()).isPositive();
                    }
                }
                case 9 -> lite.rpc().call(node, function, request, deadline);
                case 10, 11 -> add(lite.rpc().callAsync(node, function, request, deadline));
                default -> lite.memory().malloc(LmrSpec.of(4096)).free();
            }
        }

        private void add(CompletableFuture<?> future) {
            underWay.add(future);
            if (underWay.size() == ASYNC_MAX) {
                underWay.remove(random.nextInt(ASYNC_MAX)).join();
            }
        }
    }
}
