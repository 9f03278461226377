package dev.lite.tier.lmr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.NodeUnreachableException;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.os.waiting.Deadline;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.operator.OrderExecutor;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An allocation at a node whose drain begins meanwhile. */
class DrainedAllocationTest {
    private static final long ID = 7;

    @TempDir(factory = InDevShm.class)
    Path root;

    /** The drain may have found the arena empty before the allocation, and the node leaves. */
    @ParameterizedTest
    @ValueSource(longs = {ArenaAllocator.WORD_BYTES, 1 << 20})
    void anAllocationThatADrainOvertakesIsRefusedAndLeavesNothing(long bytes) {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(1)) {
            Inside.field(cluster.node(0), "orders", OrderExecutor.class).close(); // it would open the node again
            LmrServices lmrs = Inside.field(cluster.node(0), "lmrs", LmrServices.class);
            ArenaAllocator allocator = Inside.field(cluster.node(0), "allocator", ArenaAllocator.class);
            FutureTask<?> allocation = new FutureTask<>(() -> lmrs.extents()
                    .allocate(0, ID, bytes, 1, PrincipalBytes.Charge.NOBODY, Deadline.in(Waits.seconds(20))));
            Thread thread = Thread.ofPlatform().daemon().unstarted(allocation);
            synchronized (allocator) {
                thread.start();
                Waits.until(
                        "it has found the node open, and is about to allocate",
                        () -> thread.getState() == Thread.State.BLOCKED);
                lmrs.drainMarks().close();
            }
            Waits.join(thread);
            assertThatThrownBy(allocation::get)
                    .cause()
                    .isInstanceOf(NodeUnreachableException.class)
                    .hasMessageContaining("is being drained");
            List<Long> ids = new ArrayList<>();
            allocator.forEachExtent((id, run) -> ids.add(id));
            assertThat(ids).doesNotContain(ID);
        }
    }
}
