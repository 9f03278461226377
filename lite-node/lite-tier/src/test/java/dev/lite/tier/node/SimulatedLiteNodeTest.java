package dev.lite.tier.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lifetime;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.fabric.FabricProvider;
import dev.lite.fabric.simulated.SimulatedNetwork;
import dev.lite.fabric.simulated.SimulatedOptions;
import dev.lite.testing.Waits;
import dev.lite.tier.onesided.PostedMemory;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestWatcher;

/** A node over the simulated network: nothing is mapped, everything is posted, delayed and reordered. */
@ExtendWith(SimulatedLiteNodeTest.TellSeed.class)
class SimulatedLiteNodeTest extends LiteNodeContract {
    private static final Permission[] DATA = {Permission.READ, Permission.WRITE, Permission.ATOMIC};

    private final SimulatedNetwork network =
            new SimulatedNetwork(SimulatedOptions.seeded(Long.getLong("lite.test.seed", System.nanoTime())));

    /** Prints the seed of a failed test. */
    static final class TellSeed implements TestWatcher {
        @Override
        @SuppressWarnings("SystemOut")
        public void testFailed(ExtensionContext context, @Nullable Throwable cause) {
            context.getTestInstance()
                    .ifPresent(test -> System.err.println(
                            context.getDisplayName() + ": " + ((SimulatedLiteNodeTest) test).network));
        }
    }

    @Override
    FabricProvider provider() {
        return network.provider();
    }

    private static LmrSpec on(String node, String name) {
        return LmrSpec.of(200_000)
                .withName(name)
                .withPlacement(Placement.on(node))
                .withDefaultPermissions(DATA);
    }

    @Test
    void freeWithAPausedMapperReturnsAtItsDeadlineAndFinishesInTheBackground() {
        TestCluster cluster = cluster(2);
        LiteNode master = cluster.start(cluster.withDeadline("n2", Waits.seconds(0.3)));
        cluster.awaitConnections();
        long rest = cluster.node(0).figures().usage().allocatedBytes();
        LmrHandle handle = master.attach("app").memory().malloc(on("n0", "x"), Waits.seconds(5));
        LmrHandle paused = cluster.attach(1).memory().map("x", DATA[0], DATA);
        network.pause("n1");
        handle.free();
        assertThatThrownBy(() -> handle.read(0, new byte[1])).isInstanceOf(LmrFreedException.class);
        // The paused node may still write, so the memory must not be allocated to another LMR.
        assertThat(cluster.node(0).figures().usage().allocatedBytes()).isGreaterThan(rest);
        assertThat(master.figures().usage().reclaiming()).isEqualTo(1);
        network.resume("n1");
        Waits.until(
                "the memory is free", () -> cluster.node(0).figures().usage().allocatedBytes() == rest);
        assertThatThrownBy(() -> paused.write(0, new byte[1])).isInstanceOf(LmrFreedException.class);
        Waits.until(
                "nothing waits to be reclaimed", () -> master.figures().usage().reclaiming() == 0);
    }

    @Test
    void aPausedMapperDelaysTheReuseOfNoMemoryThatItDoesNotMap() {
        TestCluster cluster = cluster(2);
        LiteNode master = cluster.start(cluster.withDeadline("n2", Waits.seconds(0.3)));
        cluster.awaitConnections();
        List<LmrHandle> mapped = new ArrayList<>();
        LtMemory mapper = cluster.attach(1).memory();
        LtMemory memory = master.attach("app").memory();
        for (int count = 0; count < 8; count++) {
            LmrHandle handle = memory.malloc(LmrSpec.of(64).withDefaultPermissions(DATA), Waits.seconds(5));
            mapper.map(handle.id(), DATA[0]);
            mapped.add(handle);
        }
        long rest = master.figures().usage().allocatedBytes();
        Lite other = master.attach("app");
        other.memory().malloc(LmrSpec.of(100_000).withLifetime(Lifetime.SESSION), Waits.seconds(5));

        network.pause("n1");
        mapped.forEach(LmrHandle::free); // continues in the background
        assertThat(master.figures().usage().reclaiming()).isEqualTo(8);
        other.close();

        Waits.until("its memory is free", () -> master.figures().usage().allocatedBytes() == rest);
        Waits.until(
                "only the mapped ones wait",
                () -> master.figures().usage().reclaiming() <= 8); // counted after it is free
        assertThat(master.figures().usage().reclaiming()).isEqualTo(8);
        network.resume("n1");
        Waits.until(
                "nothing waits to be reclaimed", () -> master.figures().usage().reclaiming() == 0);
    }

    @Test
    void anOperationOnAPausedNodeEndsAtItsDeadline() {
        TestCluster cluster = cluster(1);
        LiteNode caller = cluster.start(cluster.withDeadline("n1", Waits.seconds(0.2)));
        cluster.awaitConnections();
        LmrHandle handle = caller.attach("app").memory().malloc(on("n0", "x"), Waits.seconds(5));
        network.pause("n1");
        for (int count = 0; count < 10; count++) {
            assertThatThrownBy(() -> handle.fetchAdd(0, 1)).isInstanceOf(LiteTimeoutException.class);
        }
        assertThatThrownBy(() -> handle.read(0, new byte[200_000])).isInstanceOf(LiteTimeoutException.class);
        network.resume("n1");
        awaitItWorks(() -> handle.write(0, new byte[200_000]));
        handle.free();
    }

    /** Repeats an operation with a short deadline until it succeeds. */
    private static void awaitItWorks(Runnable operation) {
        Waits.until("it works again", () -> {
            try {
                operation.run();
                return true;
            } catch (LiteTimeoutException e) {
                return false;
            }
        });
    }

    /** Abandons more posts than there are buffers. Further operations wait for a buffer until their deadlines; no buffer is lost. */
    @Test
    void buffersOfAbandonedOperationsAreReturned() {
        TestCluster cluster = cluster(1);
        LiteNode caller = cluster.start(cluster.withDeadline("n1", Waits.seconds(0.05)));
        cluster.awaitConnections();
        LmrHandle handle = caller.attach("app").memory().malloc(on("n0", "x"), Waits.seconds(5));
        network.pause("n1");
        for (int count = 0; count < 40; count++) {
            assertThatThrownBy(() -> handle.fetchAdd(0, 1)).isInstanceOf(LiteTimeoutException.class);
        }
        network.resume("n1");
        awaitItWorks(() -> handle.fetchAdd(8, 1));
        byte[] data = new byte[200_000];
        new Random(1).nextBytes(data);
        LmrHandle longDeadline = cluster.attach(0).memory().map("x", DATA[0], DATA);
        longDeadline.write(0, data);
        byte[] back = new byte[200_000];
        longDeadline.read(0, back);
        assertThat(Arrays.equals(back, data)).isTrue();
    }

    /** Includes operations that find no buffer and run on their own thread. */
    @Test
    void anAsynchronousOperationOnAPausedNodeEndsAtItsDeadline() {
        TestCluster cluster = cluster(1);
        LiteNode caller = cluster.start(cluster.withDeadline("n1", Waits.seconds(0.2)));
        cluster.awaitConnections();
        LmrHandle handle = caller.attach("app").memory().malloc(on("n0", "x"), Waits.seconds(5));
        network.pause("n1");
        List<CompletableFuture<@Nullable Void>> futures = new ArrayList<>();
        for (int count = 0; count < PostedMemory.BUFFERS_MAX + 8; count++) {
            MemorySegment piece = MemorySegment.ofArray(new byte[100]);
            futures.add(count % 2 == 0 ? handle.writeAsync(0, piece) : handle.readAsync(0, piece));
        }
        for (CompletableFuture<@Nullable Void> future : futures) {
            assertThat(future)
                    .failsWithin(Waits.seconds(10))
                    .withThrowableThat()
                    .withCauseInstanceOf(LiteTimeoutException.class);
        }
        network.resume("n1");
        Waits.until("it works again", () -> {
            try {
                handle.writeAsync(0, MemorySegment.ofArray(new byte[100])).join();
                return true;
            } catch (CompletionException e) {
                return false;
            }
        });
        handle.free();
    }

    @Test
    void anAsynchronousReadIsRepeatedWhenItsConnectionIsLost() {
        TestCluster cluster = cluster(3);
        LmrHandle handle = cluster.attach(0).memory().malloc(on("n2", "x"));
        byte[] data = new byte[200_000];
        new Random(3).nextBytes(data);
        handle.write(0, data);
        for (int round = 0; round < 10; round++) {
            byte[][] found = new byte[8][1000];
            List<CompletableFuture<@Nullable Void>> futures = new ArrayList<>();
            for (byte[] piece : found) {
                futures.add(handle.readAsync(1000, MemorySegment.ofArray(piece)));
            }
            network.drop("n0", "n2");
            futures.forEach(future -> assertThat(future).succeedsWithin(Waits.seconds(10)));
            byte[] expected = Arrays.copyOfRange(data, 1000, 2000);
            for (byte[] piece : found) {
                assertThat(piece).isEqualTo(expected);
            }
        }
        handle.free();
    }

    @Test
    void aLostConnectionEndsItsOperationsAndLaterOnesUseTheNewConnection() {
        TestCluster cluster = cluster(3);
        LmrHandle handle = cluster.attach(0).memory().malloc(on("n2", "x"));
        byte[] data = new byte[200_000];
        new Random(2).nextBytes(data);
        int lost = 0;
        for (int count = 0; count < 20; count++) {
            network.drop("n0", "n2");
            try {
                handle.write(0, data);
            } catch (LmrUnavailableException e) {
                assertThat(e).hasMessageContaining("n2");
                lost++;
            } catch (LiteException e) {
                throw new AssertionError("an unexpected error", e);
            }
        }
        assertThat(lost).isPositive();
        Waits.until("it works again", () -> {
            try {
                handle.write(0, data);
                return true;
            } catch (LmrUnavailableException e) {
                return false;
            }
        });
        byte[] back = new byte[200_000];
        handle.read(0, back);
        assertThat(Arrays.equals(back, data)).isTrue();
        handle.free();
    }
}
