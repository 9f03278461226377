package dev.lite.system;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.local.LocalCluster;
import dev.lite.testing.Waits;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A node process is paused for longer than its session timeout. It is removed, and its locks are passed on. Then it resumes, with
 * operations that its applications started meanwhile. Its links would survive the pause, so only fencing prevents these operations.
 */
@Tag("faults")
class FencedNodeTest {
    private static final String WORD = "fenced/word";
    private static final String LOCK = "fenced/lock";
    private static final long COUNTER = 8;

    @Test
    void aPausedNodeTouchesNothingThatWasPassedOnMeanwhile() {
        try (LocalCluster cluster = Clusters.builder("FencedNodeTest")
                .property("lite.cluster.session-timeout", Waits.seconds(2).toMillis() + "ms")
                .nodes(2)
                .fabrics("tcp")
                .nodeProperty("lite.node.tcp.peer-timeout", Waits.seconds(120).toMillis() + "ms")
                .build()) {
            cluster.startManager();
            cluster.startNodes();
            // One session per waiting operation, so that none waits for another.
            try (Lite other = Clusters.attach(cluster, 1);
                    Lite writer = Clusters.attach(cluster, 2);
                    Lite adder = Clusters.attach(cluster, 2)) {
                Waits.until("the nodes are connected", Waits.seconds(60), () -> isConnected(other));
                LmrHandle word = other.memory()
                        .malloc(LmrSpec.of(4096)
                                .withName(WORD)
                                .withPlacement(Placement.on("node-1"))
                                .withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC));
                other.sync().lock(LOCK).acquire(Waits.seconds(10)).close(); // node-1 is the home of its word
                LmrHandle write = map(writer);
                LmrHandle add = map(adder);
                HeldLock lost = writer.sync().lock(LOCK).acquire(Waits.seconds(10));
                write.write(0, number(1));

                cluster.node(2).pause();
                CompletableFuture<Boolean> written = attempt(() -> write.write(0, number(99)));
                CompletableFuture<Boolean> added = attempt(() -> {
                    long unused = add.fetchAdd(COUNTER, 1);
                });
                HeldLock held = other.sync().lock(LOCK).acquire(Waits.seconds(60));
                assertThat(held.fencingToken()).isGreaterThan(lost.fencingToken());
                word.write(0, number(2));
                cluster.node(2).resume();

                assertThat(List.of(succeeded(written), succeeded(added)))
                        .as("an operation requested before the removal succeeded")
                        .containsOnly(false);
                Waits.until("it is connected again", Waits.seconds(60), () -> isConnected(other));
                byte[] found = new byte[8];
                word.read(0, found);
                assertThat(found).as("the value of the current holder").isEqualTo(number(2));
                assertThat(word.fetchAdd(COUNTER, 0)).isZero();
                lost.close();
                assertThat(writer.sync().lock(LOCK).tryAcquire())
                        .as("a lock that has another holder")
                        .isEmpty();
                held.close();
                writer.sync().lock(LOCK).acquire(Waits.seconds(10)).close();
                assertThat(add.fetchAdd(COUNTER, 1)).isZero();
            }
        }
    }

    private static LmrHandle map(Lite lite) {
        return lite.memory().map(WORD, Permission.READ, Permission.WRITE, Permission.ATOMIC);
    }

    private static byte[] number(long number) {
        return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
    }

    /** Runs an operation on its own thread; completes with whether it succeeded. */
    private static CompletableFuture<Boolean> attempt(Runnable operation) {
        CompletableFuture<Boolean> succeeded = new CompletableFuture<>();
        Thread.ofPlatform().daemon().start(() -> {
            try {
                operation.run();
                succeeded.complete(true);
            } catch (LiteException e) {
                succeeded.complete(false);
            } catch (RuntimeException | Error e) {
                succeeded.completeExceptionally(e);
            }
        });
        return succeeded;
    }

    private static boolean succeeded(CompletableFuture<Boolean> attempt) {
        try {
            return attempt.get(Waits.seconds(60).toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        } catch (ExecutionException | TimeoutException e) {
            throw new AssertionError("an operation waited for the node", e);
        }
    }

    private static boolean isConnected(Lite lite) {
        return lite.nodes().stream()
                .anyMatch(node -> node.name().equals("node-2") && node.fabric().equals("tcp"));
    }
}
