package dev.lite.fabric.conformance;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricStream;
import dev.lite.fabric.Post;
import dev.lite.fabric.conformance.TestFabrics.Pair;
import dev.lite.os.Linux;
import dev.lite.os.SharedMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Opening, registering and connecting. */
interface ConnectionCases extends ConformanceCases {

    @Test
    default void theDriverIsAvailableAndItsFabricsHaveItsName() {
        TestNode node = fabrics().open("alpha");

        assertThat(fabrics().provider().unavailable()).isEmpty();
        assertThat(node.fabric.name()).isEqualTo(fabrics().provider().name()).isNotBlank();
        assertThat(node.fabric.localAddress()).isNotBlank();
        assertThat(node.fabric.capabilities().operationBytesMax()).isPositive();
    }

    @Test
    default void anUnknownOptionIsRefused() {
        FabricConfig good = fabrics().config("alpha", new byte[0]);
        FabricConfig bad = new FabricConfig("alpha", new byte[0], good.runDirectory(), Map.of("no-such-option", "1"));

        assertThatIllegalArgumentException()
                .isThrownBy(() -> fabrics().provider().open(bad, new Recorder("alpha", new AtomicLong())))
                .withMessageContaining("no-such-option");
    }

    @Test
    default void heapMemoryIsRefused() {
        MemorySegment heap = MemorySegment.ofArray(new byte[4096]);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> new FabricMemory(heap, FabricMemory.NO_DESCRIPTOR))
                .withMessageContaining("heap");
    }

    @Test
    default void descriptorsArePassedToTheirTagOrNotAtAll() {
        Pair pair = fabrics().pair();
        try (SharedMemory memory = SharedMemory.createMemfd("passed", 4096)) {
            boolean passes = pair.out().passesDescriptors();
            assertThat(pair.in().passesDescriptors()).isEqualTo(passes);
            assertThat(pair.out().passDescriptor(5, memory.descriptor())).isEqualTo(passes);
            if (passes) {
                int taken = pair.in().takeDescriptor(5, TimeUnit.SECONDS.toNanos(20));
                assertThat(taken).isNotNegative().isNotEqualTo(memory.descriptor());
                Linux.closeDescriptor(taken);
            }
            assertThat(pair.in().takeDescriptor(5, 0)).isEqualTo(-1);
            pair.out().close();
            assertThat(pair.out().passDescriptor(6, memory.descriptor())).isFalse();
            assertThat(pair.out().takeDescriptor(6, TimeUnit.SECONDS.toNanos(20)))
                    .isEqualTo(-1);
        }
    }

    @Test
    default void aStreamCarriesBytesBothWaysOrThereIsNone() {
        Pair pair = fabrics().pair();
        long timeoutNs = TimeUnit.SECONDS.toNanos(20);
        boolean opens = pair.out().opensStreams();
        assertThat(pair.in().opensStreams()).isEqualTo(opens);
        if (opens) {
            var opening = CompletableFuture.supplyAsync(() -> pair.out().openStream(5, timeoutNs));
            FabricStream in = pair.in().openStream(5, timeoutNs);
            FabricStream out = opening.join();
            try (var far = new StreamEnd(in);
                    var near = new StreamEnd(out)) {
                assertThat(keys(out, true)).isEqualTo(keys(in, false));
                assertThat(keys(out, false)).isEqualTo(keys(in, true));
                near.send(new byte[] {1, 2, 3});
                assertThat(far.receive(3)).containsExactly(1, 2, 3);
                far.send(new byte[] {4, 5});
                assertThat(near.receive(2)).containsExactly(4, 5);
            }
        } else {
            assertThat(pair.out().openStream(5, timeoutNs)).isNull();
        }
        assertThat(pair.in().openStream(5, 0)).isNull();
        pair.out().close();
        assertThat(pair.out().openStream(6, timeoutNs)).isNull();
    }

    private static byte @Nullable [] keys(@Nullable FabricStream stream, boolean send) {
        var keys = stream == null ? null : stream.keys();
        return keys == null ? null : send ? keys.send() : keys.receive();
    }

    @Test
    default void memoryCanBeRegisteredOnlyOnce() {
        TestNode node = fabrics().open("alpha");

        assertThatIllegalStateException().isThrownBy(() -> node.fabric.register(node.memory));
    }

    @Test
    default void connectingBeforeMemoryIsRegisteredIsRefused() {
        TestNode beta = fabrics().open("beta");
        Recorder recorder = new Recorder("alpha", new AtomicLong());
        try (Fabric fabric = fabrics().provider().open(fabrics().config("alpha", new byte[0]), recorder)) {
            assertThatIllegalStateException().isThrownBy(() -> fabric.connect(beta.fabric.localAddress()));
        }
    }

    @Test
    default void aHelloOverTheLimitIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> fabrics().open("alpha", new byte[FabricConfig.HELLO_BYTES_MAX + 1]))
                .withMessageContaining("257")
                .withMessageContaining("256");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 37, FabricConfig.HELLO_BYTES_MAX})
    default void bothSidesSeeConnectedWithTheOthersHelloAndSize(int helloBytes) {
        byte[] helloOfAlpha = new byte[helloBytes];
        byte[] helloOfBeta = new byte[helloBytes];
        fabrics().random().nextBytes(helloOfAlpha);
        fabrics().random().nextBytes(helloOfBeta);
        TestNode alpha = fabrics().open("alpha", helloOfAlpha);
        TestNode beta = fabrics().open("beta", helloOfBeta);

        Pair pair = fabrics().connect(alpha, beta);

        assertThat(alpha.log(pair.out()).accepted).isFalse();
        assertThat(beta.log(pair.in()).accepted).isTrue();
        assertThat(pair.out().hello()).isEqualTo(helloOfBeta);
        assertThat(pair.in().hello()).isEqualTo(helloOfAlpha);
        assertThat(pair.out().remoteSize()).isEqualTo(beta.memory.segment().byteSize());
        assertThat(pair.in().remoteSize()).isEqualTo(alpha.memory.segment().byteSize());
    }

    @Test
    default void changingTheReturnedHelloHasNoEffect() {
        Pair pair = fabrics().pair();
        byte[] hello = pair.out().hello();
        byte[] before = hello.clone();

        hello[0]++;

        assertThat(pair.out().hello()).isEqualTo(before);
    }

    @Test
    default void beforeConnectedAnEndpointIsEmptyAndPostsAnswerClosed() {
        TestNode alpha = fabrics().open("alpha");
        TestNode beta = fabrics().open("beta");
        MemorySegment local = alpha.local(8);

        FabricEndpoint endpoint = alpha.connect(beta);

        // This node does not poll, so its handler's connected() cannot have been called, whatever the peer has done.
        for (int turn = 0; turn < 50; turn++) {
            assertThat(endpoint.hello()).isEmpty();
            assertThat(endpoint.remoteSize()).isZero();
            for (Posted posted : Posts.oneOfEach(alpha, endpoint, local)) {
                assertThat(posted.answer()).isEqualTo(Post.CLOSED);
            }
            if (beta.step() == 0) {
                Deadline.pause();
            }
        }
        fabrics().until(() -> alpha.isConnected(endpoint), "connected");
        fabrics().run(alpha, endpoint, (to, context) -> to.write(0, local.address(), 8, context));
    }

    @Test
    default void connectingToAnUnusedAddressFailsWithAReason() {
        TestNode alpha = fabrics().open("alpha");
        TestNode gone = fabrics().open("gone");
        String nowhere = gone.fabric.localAddress();
        gone.close();

        FabricEndpoint endpoint = alpha.connect(nowhere);

        fabrics().until(() -> alpha.isDisconnected(endpoint), "disconnected");
        assertThat(alpha.isConnected(endpoint)).isFalse();
        assertThat(alpha.log(endpoint).reason).isNotBlank();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "no such place", "/", ":", "::::-1", "\u0000", "unix:///nonsense/\uD83D\uDE00"})
    default void connectingToAnInvalidAddressFailsWithAReason(String address) {
        TestNode alpha = fabrics().open("alpha");

        FabricEndpoint endpoint = alpha.connect(address);

        fabrics().until(() -> alpha.isDisconnected(endpoint), "disconnected");
        assertThat(alpha.isConnected(endpoint)).isFalse();
        assertThat(alpha.log(endpoint).reason).isNotBlank();
    }

    @Test
    default void aNodeConnectsToItself() {
        TestNode alpha = fabrics().open("alpha");
        Pair pair = fabrics().connect(alpha, alpha);
        MemorySegment local = alpha.local(100);
        byte[] bytes = Posts.randomBytes(fabrics(), 100);
        Posts.fill(local, bytes);

        fabrics().run(alpha, pair.out(), (to, context) -> to.writeImm(5, local.address(), 100, 77, context));
        fabrics().until(() -> !alpha.log(pair.in()).immediates.isEmpty(), "its own immediate");

        assertThat(pair.out()).isNotSameAs(pair.in());
        assertThat(alpha.log(pair.in()).immediates).containsExactly(77);
        assertThat(alpha.log(pair.out()).immediates).isEmpty();
        assertThat(alpha.bytes(5, 100)).isEqualTo(bytes);
    }

    @Test
    default void twoConnectionsBetweenTheSameNodesAreIndependent() {
        Pair first = fabrics().pair();
        Pair second = fabrics().connect(first.from(), first.to());
        MemorySegment local = first.from().local(8);

        first.out().close();
        fabrics()
                .until(
                        () -> first.from().isDisconnected(first.out())
                                && first.to().isDisconnected(first.in()),
                        "the first connection to be disconnected");
        fabrics().run(second.from(), second.out(), (to, context) -> to.writeImm(0, local.address(), 8, 3, context));
        fabrics()
                .until(
                        () -> !second.to().log(second.in()).immediates.isEmpty(),
                        "the immediate on the second connection");

        assertThat(second.from().isDisconnected(second.out())).isFalse();
        assertThat(second.to().isDisconnected(second.in())).isFalse();
    }

    @Test
    default void twoNodesMayConnectToEachOtherAtOnce() {
        TestNode alpha = fabrics().open("alpha");
        TestNode beta = fabrics().open("beta");

        FabricEndpoint there = alpha.connect(beta);
        FabricEndpoint back = beta.connect(alpha);

        fabrics()
                .until(
                        () -> alpha.isConnected(there)
                                && beta.isConnected(back)
                                && alpha.recorder.acceptedEndpoints().size() == 1
                                && beta.recorder.acceptedEndpoints().size() == 1,
                        "four endpoints");
    }

    @Test
    default void threeNodesReachEachOthersMemoryAndNoOther() {
        List<TestNode> nodes = List.of(
                fabrics().open("alpha"), fabrics().open("beta"), fabrics().open("gamma"));
        List<Pair> pairs = new ArrayList<>();
        for (TestNode from : nodes) {
            for (TestNode to : nodes) {
                pairs.add(fabrics().connect(from, to));
            }
        }
        for (int i = 0; i < pairs.size(); i++) {
            Pair pair = pairs.get(i);
            MemorySegment local = pair.from().local(1);
            local.set(JAVA_BYTE, 0, (byte) (i + 1));
            int at = i;
            fabrics().run(pair.from(), pair.out(), (to, context) -> to.write(at, local.address(), 1, context));
        }
        for (int n = 0; n < nodes.size(); n++) {
            byte[] expected = new byte[pairs.size()];
            for (int i = 0; i < expected.length; i++) {
                expected[i] = pairs.get(i).to() == nodes.get(n) ? (byte) (i + 1) : 0;
            }
            assertThat(nodes.get(n).bytes(0, expected.length))
                    .as(nodes.get(n).name)
                    .isEqualTo(expected);
        }
    }

    @Test
    default void thePeersCanReconnectAfterADisconnect() {
        Pair pair = fabrics().pair();
        for (int i = 0; i < 5; i++) {
            Pair old = pair;
            (i % 2 == 0 ? old.out() : old.in()).close();
            fabrics()
                    .until(
                            () -> old.from().isDisconnected(old.out())
                                    && old.to().isDisconnected(old.in()),
                            "both to be disconnected");
            Pair again = fabrics().connect(old.from(), old.to());
            MemorySegment local = again.from().local(8);
            fabrics().run(again.from(), again.out(), (to, context) -> to.write(0, local.address(), 8, context));
            pair = again;
        }
    }

    @Test
    default void aRestartedNodeWithTheSameNameIsReachable() {
        Pair pair = fabrics().pair();
        pair.to().close();
        fabrics().until(() -> pair.from().isDisconnected(pair.out()), "disconnected");

        TestNode again = fabrics().open("beta");
        Pair second = fabrics().connect(pair.from(), again);

        MemorySegment local = pair.from().local(8);
        fabrics().run(second.from(), second.out(), (to, context) -> to.write(0, local.address(), 8, context));
    }

    @Test
    default void anEndpointIsUsableInsideItsConnectedCallback() {
        TestNode alpha = fabrics().open("alpha");
        TestNode beta = fabrics().open("beta");
        MemorySegment local = alpha.local(8);
        local.set(JAVA_BYTE, 0, (byte) 9);
        AtomicReference<Posted> posted = new AtomicReference<>();
        alpha.recorder.hooks(Recorder.Hooks.onConnected(endpoint -> posted.set(
                alpha.recorder.post(endpoint, (to, context) -> to.writeImm(0, local.address(), 8, 4, context)))));

        Pair pair = fabrics().connect(alpha, beta);
        fabrics().until(() -> !beta.log(pair.in()).immediates.isEmpty(), "the immediate");

        assertThat(posted.get().wasTaken()).isTrue();
        assertThat(beta.bytes(0, 1)).containsExactly(9);
    }

    @Test
    default void anEndpointKeepsItsAttachment() {
        Pair pair = fabrics().pair();
        Object mine = new Object();

        assertThat(pair.out().attachment()).isNull();
        pair.out().attach(mine);
        assertThat(pair.out().attachment()).isSameAs(mine);
        assertThat(pair.in().attachment()).isNull();
        pair.out().attach(null);
        assertThat(pair.out().attachment()).isNull();
    }

    @Test
    default void connectingAfterCloseIsRefused() {
        Pair pair = fabrics().pair();
        pair.from().close();

        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> pair.from().fabric.connect(pair.to().fabric.localAddress()));
    }
}
