package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.Placement;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A step of a move or a free fails with what nobody expects, such as an error for want of memory. */
class FailingStepTest {
    private static final int BYTES = 2 << 20;

    @TempDir(factory = InDevShm.class)
    Path root;

    private static LmrRecord record(TestCluster cluster) {
        return LmrRecord.decode(cluster.directory(0)
                .read("moving", Waits.seconds(5))
                .orElseThrow()
                .bytes());
    }

    private static List<LmrHandle> takeAll(LtMemory memory) {
        List<LmrHandle> all = new ArrayList<>();
        for (int bytes = 1 << 20; bytes >= 1 << 16; ) {
            try {
                all.add(memory.malloc(LmrSpec.of(bytes).withPlacement(Placement.on("n2"))));
            } catch (LimitExceededException full) {
                bytes /= 2;
            }
        }
        return all;
    }

    /** One node's part fails at once. Another node's part is still copied when the memory at the target has a new owner. */
    @Test
    void noPartOfAFailedMoveIsCopiedToMemoryThatHasANewOwner() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(3)) {
            LmrHandle made = cluster.attach(0)
                    .memory()
                    .malloc(LmrSpec.of(BYTES).withName("moving").withPlacement(Placement.on(List.of("n0", "n1"))));
            byte[] ones = new byte[BYTES];
            Arrays.fill(ones, (byte) 1);
            made.write(0, ones);
            long before = cluster.node(2).figures().usage().allocatedBytes();
            Moves moves =
                    Inside.field(cluster.node(0), "lmrs", LmrServices.class).moves();
            List<LmrHandle> next = new CopyOnWriteArrayList<>();
            AtomicInteger parts = new AtomicInteger();
            AtomicBoolean waited = new AtomicBoolean();

            assertThatThrownBy(() -> moves.move(
                            "moving",
                            made.id(),
                            "n2",
                            () -> {
                                if (parts.getAndIncrement() == 0) {
                                    throw new OutOfMemoryError("by a test");
                                }
                                Deadline tries = Deadline.in(Waits.seconds(3));
                                while (!waited.get() && !tries.passed()) {
                                    if (record(cluster).state() == LmrRecord.State.LIVE
                                            && cluster.node(2).figures().usage().allocatedBytes() == before) {
                                        next.addAll(takeAll(cluster.attach(2).memory()));
                                        waited.set(true);
                                    }
                                    Waits.pass(Duration.ofMillis(5));
                                }
                                waited.set(true);
                                return true;
                            },
                            Deadline.in(Waits.seconds(20))))
                    .isNotNull();

            Waits.pass(Waits.seconds(0.3)); // for the other part, which may begin or not
            Waits.until("it has waited", () -> parts.get() < 2 || waited.get());
            Waits.pass(Waits.seconds(0.3)); // for its copy
            for (LmrHandle handle : next) {
                byte[] content = new byte[(int) handle.size()];
                handle.read(0, content);
                assertThat(Arrays.mismatch(content, new byte[content.length]))
                        .as("the first byte of the moved LMR in another one")
                        .isEqualTo(-1);
            }
        }
    }

    @Test
    void anLmrIsFreedInTheBackgroundWhateverAStepOfItsFreeThrows() {
        AtomicBoolean fails = new AtomicBoolean();
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider())) {
            cluster.start(cluster.config("n0"), real -> (ClusterDirectory) Proxy.newProxyInstance(
                    ClusterDirectory.class.getClassLoader(),
                    new Class<?>[] {ClusterDirectory.class},
                    (proxy, method, arguments) -> {
                        if (method.getName().equals("incarnationsNow") && fails.getAndSet(false)) {
                            throw new IllegalStateException("by a test");
                        }
                        try {
                            return method.invoke(real, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    }));
            LmrHandle made = cluster.attach(0)
                    .memory()
                    .malloc(LmrSpec.of(64).withName("x").withPlacement(Placement.local()));
            fails.set(true);

            made.free();

            assertThat(fails).isFalse();
            Waits.until(
                    "it is freed",
                    () -> cluster.directory(0).read("x", Waits.seconds(5)).isEmpty());
        }
    }
}
