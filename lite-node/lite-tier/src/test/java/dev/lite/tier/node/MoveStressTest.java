package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.testing.Waits;
import dev.lite.tier.node.EveryOperationTest.OverFabric;
import dev.lite.tier.session.SessionServer;
import dev.lite.tier.session.SessionServerConfig;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The reclamation rule under load: an LMR moves from node to node while every node and an attached application read, write and add,
 * and while other LMRs get the memory that it leaves. No write may be lost, no LMR may show bytes of another one, and fetchAdd must
 * return every value exactly once.
 */
class MoveStressTest {
    private static final int WORKERS = 4;
    private static final int REGION_BYTES = 24_000;
    private static final int HEAD_BYTES = 4096;
    private static final int SIZE = HEAD_BYTES + WORKERS * REGION_BYTES;
    private static final int MOVES = 40;
    private static final Permission[] DATA = {Permission.READ, Permission.WRITE, Permission.ATOMIC};

    @TempDir(factory = InDevShm.class)
    Path root;

    private final AtomicBoolean over = new AtomicBoolean();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final Set<Long> sums = ConcurrentHashMap.newKeySet();
    private final AtomicLong additions = new AtomicLong();
    private final AtomicInteger reuses = new AtomicInteger();

    private Thread started(String name, Runnable body) {
        return Thread.ofPlatform().name(name).start(() -> {
            try {
                while (!over.get()) {
                    body.run();
                }
            } catch (RuntimeException | Error e) {
                failure.compareAndSet(null, e);
                over.set(true);
            }
        });
    }

    @ParameterizedTest
    @MethodSource("dev.lite.tier.node.EveryOperationTest#fabrics")
    void noByteIsLostOrMixedUpWhileAnLmrMoves(OverFabric fabric) {
        try (TestCluster cluster = new TestCluster(root, fabric.open(), Waits.seconds(20)).start(3);
                SessionServer server =
                        new SessionServer(SessionServerConfig.of(root.resolve("n1.sock")), cluster.node(1))) {
            server.start();
            try (Lite attached = Lite.attach(AttachOptions.to(server.socket(), "attached"))) {
                List<Lite> callers = List.of(cluster.attach(0), cluster.attach(1), cluster.attach(2), attached);
                LmrHandle made = callers.getFirst()
                        .memory()
                        .malloc(LmrSpec.of(SIZE)
                                .withName("moving")
                                .withPlacement(Placement.spread())
                                .withDefaultPermissions(DATA));
                List<Thread> threads = new ArrayList<>();
                for (int worker = 0; worker < WORKERS; worker++) {
                    threads.add(worker(worker, callers.get(worker).memory().map("moving", DATA[0], DATA)));
                }
                for (int node = 0; node < 3; node++) {
                    threads.add(reuser(callers.get(node).memory(), node));
                }
                long endNs = System.nanoTime() + Waits.seconds(20).toNanos();
                int moves = 0;
                while (moves < MOVES && !over.get() && System.nanoTime() < endNs) {
                    made.moveTo("n" + moves++ % 3);
                    Waits.pass(Duration.ofMillis(5));
                }
                over.set(true);
                threads.forEach(Waits::join);
                assertThat(failure.get()).as("after %d moves", moves).isNull();
                assertThat(sums).hasSize((int) additions.get());
                assertThat(made.fetchAdd(0, 0)).isEqualTo(additions.get());
                assertThat(moves).isGreaterThan(5);
                assertThat(additions.get()).isGreaterThan(100);
                assertThat(reuses.get()).isGreaterThan(3);
            }
        }
    }

    /** Adds, writes to its region, which no other thread writes, and reads the region back. */
    private Thread worker(int worker, LmrHandle handle) {
        Random random = new Random(worker);
        byte[] model = new byte[REGION_BYTES];
        byte[] read = new byte[REGION_BYTES];
        long region = HEAD_BYTES + (long) worker * REGION_BYTES;
        return started("worker-" + worker, () -> {
            additions.incrementAndGet();
            sums.add(handle.fetchAdd(0, 1));
            int from = random.nextInt(REGION_BYTES);
            byte[] some = new byte[random.nextInt(REGION_BYTES - from)];
            if (random.nextInt(4) == 0) {
                byte value = (byte) random.nextInt();
                handle.memset(region + from, some.length, value);
                Arrays.fill(some, value);
            } else {
                random.nextBytes(some);
                handle.write(region + from, some);
            }
            System.arraycopy(some, 0, model, from, some.length);
            handle.read(region, read);
            int mismatch = Arrays.mismatch(read, model);
            assertThat(mismatch)
                    .as("the first wrong byte in the region of worker %d", worker)
                    .isEqualTo(-1);
        });
    }

    /** Allocates memory of about the moving LMR's size on its node. The memory must be zero, and must not change. */
    private Thread reuser(LtMemory memory, int node) {
        byte value = (byte) (0xA0 + node);
        byte[] read = new byte[SIZE];
        byte[] zero = new byte[SIZE];
        byte[] own = new byte[SIZE];
        Arrays.fill(own, value);
        return started("reuser-" + node, () -> {
            LmrHandle handle = memory.malloc(LmrSpec.of(SIZE));
            handle.read(0, read);
            assertThat(Arrays.mismatch(read, zero))
                    .as("the first byte that is not zero")
                    .isEqualTo(-1);
            handle.memset(0, SIZE, value);
            for (int check = 0; check < 3; check++) {
                Waits.pass(Duration.ofMillis(1));
                handle.read(0, read);
                assertThat(Arrays.mismatch(read, own))
                        .as("the first foreign byte")
                        .isEqualTo(-1);
            }
            handle.free();
            reuses.incrementAndGet();
        });
    }
}
