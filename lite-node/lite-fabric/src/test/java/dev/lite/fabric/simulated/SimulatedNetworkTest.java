package dev.lite.fabric.simulated;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class SimulatedNetworkTest {
    private static final int TURNS_MAX = 100_000;

    private final long seed = Long.getLong("lite.test.seed", System.nanoTime());

    @Test
    void theSameSeedGivesTheSameTrace() {
        SimulatedNetwork first = turmoil(seed);
        SimulatedNetwork second = turmoil(seed);

        assertThat(first.trace()).as("seed %d", seed).hasSizeGreaterThan(1_000).isEqualTo(second.trace());
        assertThat(first.traceHash()).as("seed %d", seed).isEqualTo(second.traceHash());
        assertThat(first.nowNs()).isEqualTo(second.nowNs());
    }

    @Test
    void anotherSeedGivesAnotherTrace() {
        SimulatedNetwork first = turmoil(seed);
        SimulatedNetwork second = turmoil(seed + 1);

        assertThat(first.traceHash()).as("seeds %d and one more", seed).isNotEqualTo(second.traceHash());
    }

    @Test
    void faultsViolateNoGuaranteeWithAnySeed() {
        for (int i = 0; i < 100; i++) {
            turmoil(seed + i);
        }
    }

    /** Posts with drops, pauses and reconnects; checks that every accepted post ended exactly once. */
    private static SimulatedNetwork turmoil(long seed) {
        SimulatedNetwork network = new SimulatedNetwork(SimulatedOptions.seeded(seed)
                .withSteps()
                .withQueueDepth(8)
                .withFaults(0.005, 0.01, Duration.ofMillis(1)));
        // The test's own choices are not part of the network, so they have a separate generator.
        RandomGenerator random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
        Set<Long> accepted = new HashSet<>();
        long context = 0;
        try (Arena arena = Arena.ofConfined()) {
            List<SimulatedNode> nodes = List.of(
                    new SimulatedNode(network, "a", arena),
                    new SimulatedNode(network, "b", arena),
                    new SimulatedNode(network, "c", arena));
            int endpoints = 0;
            for (int i = 0; i < 1_500; i++) {
                SimulatedNode from = nodes.get(random.nextInt(nodes.size()));
                if (from.connected.isEmpty() || random.nextInt(50) == 0) {
                    from.connect(nodes.get(random.nextInt(nodes.size())));
                    endpoints++;
                } else {
                    FabricEndpoint to = from.connected.get(random.nextInt(from.connected.size()));
                    if (random.nextInt(200) == 0) {
                        to.close();
                    } else if (post(random, from, to, ++context) == Post.ACCEPTED) {
                        accepted.add(context);
                    }
                }
                if (random.nextBoolean()) {
                    network.step();
                }
                nodes.get(random.nextInt(nodes.size())).fabric.poll(random.nextInt(4));
            }
            network.runUntilIdle(TURNS_MAX);
            nodes.forEach(node -> node.fabric.close());

            List<Long> ended = new ArrayList<>();
            nodes.forEach(node -> ended.addAll(node.ended));
            assertThat(ended).as("ended posts, %s", network).containsExactlyInAnyOrderElementsOf(accepted);
            int disconnected =
                    nodes.stream().mapToInt(node -> node.disconnected).sum();
            int connects =
                    nodes.stream().mapToInt(node -> node.connected.size()).sum();
            assertThat(disconnected).as("disconnected endpoints, %s", network).isBetween(connects, 2 * endpoints);
        }
        return network;
    }

    private static Post post(RandomGenerator random, SimulatedNode from, FabricEndpoint to, long context) {
        long remote = random.nextInt(64) * 8L;
        long local = from.at(2048 + random.nextInt(64) * 8L);
        return switch (random.nextInt(5)) {
            case 0 -> to.read(remote, local, 8, context);
            case 1 -> to.write(remote, local, 8, context);
            case 2 -> to.writeImm(remote, local, 8, (int) context, context);
            case 3 -> to.fetchAdd(remote, 1, local, context);
            default -> to.compareAndSwap(remote, 0, 1, local, context);
        };
    }

    /** Two connected nodes of a stepped network. */
    private static final class Two implements AutoCloseable {
        final Arena arena = Arena.ofConfined();
        final SimulatedNetwork network;
        final SimulatedNode a;
        final SimulatedNode b;
        final FabricEndpoint out;

        Two(SimulatedOptions options) {
            network = new SimulatedNetwork(options.withSteps());
            a = new SimulatedNode(network, "a", arena);
            b = new SimulatedNode(network, "b", arena);
            out = a.connect(b);
            network.runUntil(() -> a.isConnected(out), TURNS_MAX);
            network.runUntilIdle(TURNS_MAX);
        }

        @Override
        public void close() {
            a.fabric.close();
            b.fabric.close();
            arena.close();
        }
    }

    private SimulatedOptions options() {
        return SimulatedOptions.seeded(seed);
    }

    @Test
    void postsToOneEndpointOvertakeEachOther() {
        try (Two two = new Two(options())) {
            for (long context = 0; context < 50; context++) {
                assertThat(two.out.write(0, two.a.at(8), 8, context)).isEqualTo(Post.ACCEPTED);
            }
            two.network.runUntilIdle(TURNS_MAX);

            assertThat(two.a.ended)
                    .as("%s", two.network)
                    .hasSize(50)
                    .isNotEqualTo(LongStream.range(0, 50).boxed().toList());
        }
    }

    @Test
    void immediatesOfOneThreadDoNotOvertakeEachOther() {
        try (Two two = new Two(options())) {
            List<String> expected = new ArrayList<>(two.b.events);
            for (int i = 0; i < 50; i++) {
                assertThat(two.out.writeImm(0, 0, 0, i, i)).isEqualTo(Post.ACCEPTED);
                expected.add("immediate " + i);
                if (i == 20) {
                    two.network.pause("a");
                }
                if (i % 3 == 0) {
                    two.network.step();
                }
                if (i == 40) {
                    two.network.resume("a");
                }
            }
            two.network.runUntilIdle(TURNS_MAX);

            assertThat(two.b.events).as("%s", two.network).isEqualTo(expected);
        }
    }

    @Test
    void anEndpointIsBusyAtExactlyItsQueueDepthUntilItsNodePolls() {
        try (Two two = new Two(options().withQueueDepth(5))) {
            for (long context = 0; context < 5; context++) {
                assertThat(two.out.write(0, two.a.at(8), 8, context)).isEqualTo(Post.ACCEPTED);
            }
            assertThat(two.out.write(0, two.a.at(8), 8, 6)).isEqualTo(Post.BUSY);
            while (two.network.step()) {
                assertThat(two.out.write(0, two.a.at(8), 8, 6)).isEqualTo(Post.BUSY);
            }
            assertThat(two.a.fabric.poll(1)).isEqualTo(1);
            assertThat(two.out.write(0, two.a.at(8), 8, 6)).isEqualTo(Post.ACCEPTED);
        }
    }

    @Test
    void unpolledImmediatesMakeOnlyFurtherImmediatesBusy() {
        try (Two two = new Two(options().withQueueDepth(3))) {
            for (int i = 0; i < 3; i++) {
                assertThat(two.out.writeImm(0, 0, 0, i, i)).isEqualTo(Post.ACCEPTED);
            }
            while (two.network.step()) {
                two.a.fabric.poll(10);
            }
            assertThat(two.out.writeImm(0, 0, 0, 4, 4)).isEqualTo(Post.BUSY);
            assertThat(two.out.write(0, two.a.at(8), 8, 5)).isEqualTo(Post.ACCEPTED);
            assertThat(two.b.fabric.poll(1)).isEqualTo(1);
            assertThat(two.out.writeImm(0, 0, 0, 4, 4)).isEqualTo(Post.ACCEPTED);
        }
    }

    @Test
    void reusingLocalMemoryTooEarlySendsTheWrongBytes() {
        try (Two two = new Two(options())) {
            two.a.word(8, 1);
            two.out.write(0, two.a.at(8), 8, 1);
            two.a.word(8, 2);
            two.network.runUntilIdle(TURNS_MAX);

            assertThat(two.b.word(0)).as("%s", two.network).isEqualTo(2);
        }
    }

    @Test
    void theResultOfAReadIsVisibleOnlyAtItsCompletion() {
        try (Two two = new Two(options())) {
            two.b.word(0, 77);
            two.out.read(0, two.a.at(8), 8, 1);
            while (!two.network.trace().getLast().contains("executes")) {
                two.network.step();
            }
            assertThat(two.a.word(8)).isZero();
            two.network.runUntilIdle(TURNS_MAX);
            assertThat(two.a.word(8)).isEqualTo(77);
        }
    }

    @Test
    void aPausedNodeNeitherReceivesNorSendsUntilItResumes() {
        try (Two two = new Two(options())) {
            FabricEndpoint back = two.b.connected.getFirst();
            List<String> before = List.copyOf(two.a.events);
            two.a.word(8, 5);
            two.out.writeImm(0, two.a.at(8), 8, 1, 1);

            two.network.pause("a");
            back.writeImm(16, two.b.at(24), 8, 2, 2);
            two.b.word(24, 6);
            two.network.runUntilIdle(TURNS_MAX);

            // Its memory is still written, because that needs none of its CPU.
            assertThat(two.a.word(16)).isEqualTo(6);
            assertThat(two.b.ended).containsExactly(2L);
            assertThat(two.a.events).as("%s", two.network).isEqualTo(before);
            assertThat(two.b.word(0)).isZero();
            assertThat(two.b.events).doesNotContain("immediate 1");

            two.network.resume("a");
            two.network.runUntilIdle(TURNS_MAX);

            assertThat(two.a.events).contains("immediate 2", "completed 1");
            assertThat(two.b.events).contains("immediate 1");
            assertThat(two.b.word(0)).isEqualTo(5);
        }
    }

    @Test
    void aPausedNodeAcceptsNoConnectionUntilItResumes() {
        try (Two two = new Two(options())) {
            two.network.pause("b");
            FabricEndpoint late = two.a.connect(two.b);
            two.network.runUntilIdle(TURNS_MAX);
            assertThat(two.a.isConnected(late)).isFalse();

            two.network.resume("b");
            two.network.runUntilIdle(TURNS_MAX);
            assertThat(two.a.isConnected(late)).isTrue();
        }
    }

    @Test
    void connectingToAPausedNodeThatThenClosesFails() {
        try (Two two = new Two(options())) {
            two.network.pause("b");
            two.a.connect(two.b);
            two.network.runUntilIdle(TURNS_MAX);
            two.b.fabric.close();
            two.network.runUntilIdle(TURNS_MAX);

            assertThat(two.a.disconnected).as("%s", two.network).isEqualTo(2);
        }
    }

    @Test
    void bothSidesLearnOfADroppedConnectionAndCanReconnect() {
        try (Two two = new Two(options())) {
            for (long context = 0; context < 20; context++) {
                two.out.fetchAdd(0, 1, two.a.at(8), context);
            }
            two.network.drop("a", "b");
            two.network.runUntilIdle(TURNS_MAX);

            assertThat(two.a.events.getLast()).isEqualTo("disconnected: connection lost");
            assertThat(two.b.events.getLast()).isEqualTo("disconnected: connection lost");
            assertThat(two.a.ended).hasSize(20);
            assertThat(two.b.word(0)).isBetween(0L, 20L);
            FabricEndpoint again = two.a.connect(two.b);
            two.network.runUntil(() -> two.a.isConnected(again), TURNS_MAX);
        }
    }

    @Test
    void aSteppedClockMovesOnlyByStepping() {
        try (Two two = new Two(options().withDelay(Duration.ofMillis(1), Duration.ofMillis(1)))) {
            long startNs = two.network.nowNs();
            two.out.write(0, two.a.at(8), 8, 1);

            two.a.fabric.await(0);
            assertThat(two.a.fabric.poll(10)).isZero();
            assertThat(two.network.nowNs()).isEqualTo(startNs);
            two.network.runUntil(startNs + 1_999_999);
            assertThat(two.a.fabric.poll(10)).isZero();
            two.network.runUntil(startNs + 2_000_000);
            assertThat(two.a.fabric.poll(10)).isEqualTo(1);
            assertThat(two.network.nowNs()).isEqualTo(startNs + 2_000_000);
        }
    }

    @Test
    void aConditionThatIsNotReachedIsReportedWithTheSeed() {
        try (Two two = new Two(options())) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> two.network.runUntil(() -> false, TURNS_MAX))
                    .withMessageContaining("seed " + seed);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> two.network.pause("nobody"))
                    .withMessageContaining("nobody");
        }
    }

    @Test
    void optionsOutOfRangeAreRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> options().withQueueDepth(0));
        assertThatIllegalArgumentException().isThrownBy(() -> options().withDelay(Duration.ZERO, Duration.ofMillis(1)));
        assertThatIllegalArgumentException().isThrownBy(() -> options().withFaults(1.1, 0, Duration.ofMillis(1)));
        assertThatIllegalArgumentException().isThrownBy(() -> options().withFaults(0, -1, Duration.ofMillis(1)));
    }
}
