package dev.lite.fabric.tcp;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.testing.Certificates;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Somebody between two nodes changes what they say, in their handshake and after it. */
class ManInTheMiddleTest {
    private static final long PATTERN = 0x1122334455667788L;

    @TempDir
    static Path directory;

    private static SSLContext tls;

    @BeforeAll
    static void makeCertificate() {
        tls = Certificates.make(directory, "both");
    }

    private record Attack(String name, Supplier<Function<byte[], List<byte[]>>> change) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Arguments> attacks() {
        List<Attack> attacks = List.of(
                new Attack("flips the first bit", () -> Interceptor.flip(0, 0)),
                new Attack("flips a bit of the content", () -> Interceptor.flip(20, 3)),
                new Attack("flips a bit of the tag", () -> Interceptor.flip(50, 7)),
                new Attack("repeats", Interceptor::repeat),
                new Attack("drops", Interceptor::drop),
                new Attack("reorders", Interceptor::swap));
        return Stream.of(false, true)
                .flatMap(encrypted -> attacks.stream().map(attack -> Arguments.of(encrypted ? "TLS" : "keys", attack)));
    }

    private static TestNode node(String name, @Nullable SSLContext context, String... options) {
        return new TestNode(name, context, options);
    }

    private static FabricEndpoint connect(TestNode from, TestNode to, Interceptor between) {
        FabricEndpoint endpoint = from.fabric.connect(between.address());
        TestNode.until("connected", () -> from.connected.contains(endpoint) && to.accepted.size() == 1, from, to);
        return endpoint;
    }

    @ParameterizedTest(name = "{0}: {1}")
    @MethodSource("attacks")
    void whatSomebodyChangedOnItsWayEndsTheConnectionAndIsNotExecuted(String protection, Attack attack)
            throws IOException {
        SSLContext context = protection.equals("TLS") ? tls : null;
        // A silent peer gets a ping after a second, which shows that something before it is missing.
        try (var a = node("a", context, "lanes", "1", "peer-timeout-ms", "3000");
                var b = node("b", context, "lanes", "1", "peer-timeout-ms", "3000");
                var between = new Interceptor(a.port())) {
            FabricEndpoint toA = connect(b, a, between);
            toA.fetchAdd(64, 1, b.address(), 1);
            TestNode.until("added", () -> b.completed.contains(1L), b, a);
            b.memory.set(JAVA_LONG, 8, PATTERN);

            between.there(attack.change().get());
            int additions = 1;
            for (int i = 0; i < 4 && a.disconnected.isEmpty(); i++) {
                toA.fetchAdd(64, 1, b.address(), 2);
                additions++;
                toA.write(128, b.address() + 8, 8, 3);
                poll(b, a);
            }
            TestNode.until("ended", () -> !a.disconnected.isEmpty() && !b.disconnected.isEmpty(), a, b);

            assertThat(a.disconnected.get(a.accepted.getFirst())).containsAnyOf("a record ", "TLS: ");
            assertThat(a.memory.get(JAVA_LONG, 64))
                    .as("each addition was executed at most once")
                    .isBetween(1L, (long) additions);
            assertThat(a.memory.get(JAVA_LONG, 128)).isIn(0L, PATTERN);
        }
    }

    private static void poll(TestNode... nodes) {
        for (int i = 0; i < 100; i++) {
            for (TestNode node : nodes) {
                int unused = node.fabric.poll(16);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1 << 10, 60 << 10, 1 << 20})
    void noByteOfALongWriteIsChangedUnnoticed(int bytes) throws IOException {
        try (var a = node("a", null, "lanes", "1");
                var b = node("b", null, "lanes", "1");
                var between = new Interceptor(a.port())) {
            FabricEndpoint toA = connect(b, a, between);
            b.memory.asSlice(0, bytes).fill((byte) 7);
            between.there(Interceptor.flip(900, 5));

            toA.write(0, b.address(), bytes, 1);

            TestNode.until("ended", () -> !a.disconnected.isEmpty() && !b.disconnected.isEmpty(), a, b);
            assertThat(a.disconnected.get(a.accepted.getFirst())).contains("a record is not authentic");
            for (byte got : a.memory.asSlice(0, bytes).toArray(JAVA_BYTE)) {
                assertThat(got).isIn((byte) 0, (byte) 7);
            }
        }
    }

    @Test
    void withoutProtectionAChangeIsNotNoticed() throws IOException {
        try (var a = node("a", null, "lanes", "1", "protection", "none");
                var b = node("b", null, "lanes", "1", "protection", "none");
                var between = new Interceptor(a.port())) {
            FabricEndpoint toA = connect(b, a, between);
            b.memory.set(JAVA_LONG, 0, PATTERN);
            between.there(Interceptor.flip(Frame.HEADER_BYTES, 0));

            toA.write(0, b.address(), 8, 1);

            TestNode.until("written", () -> b.completed.contains(1L), b, a);
            assertThat(a.memory.get(JAVA_LONG, 0)).isEqualTo(PATTERN ^ 1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"encrypted none", "none encrypted"})
    void oneOfTheNodesSufficesForProtection(String protections) throws IOException {
        String[] protection = protections.split(" ", 2);
        try (var a = node("a", null, "lanes", "1", "protection", protection[0]);
                var b = node("b", null, "lanes", "1", "protection", protection[1]);
                var between = new Interceptor(a.port())) {
            FabricEndpoint toA = connect(b, a, between);
            between.there(Interceptor.flip(Frame.HEADER_BYTES, 0));

            toA.write(0, b.address(), 8, 1);

            TestNode.until("ended", () -> !a.disconnected.isEmpty(), a, b);
        }
    }

    /** Offsets in the opening: version, flags (of which bit 1 asks for keys), nonce, exchange; in the claim: lane, hello, signature, proof. */
    @ParameterizedTest
    @ValueSource(ints = {0, 8, 20, 60, 79})
    void noByteOfAnOpeningOrAChallengeCanBeChanged(int at) throws IOException {
        for (boolean forth : new boolean[] {true, false}) {
            assertRefused(forth, Interceptor.flip(at, 1));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {80 + 4, 100, 300, 380, 400})
    void noByteOfAClaimOrAVerdictCanBeChanged(int at) throws IOException {
        for (boolean forth : new boolean[] {true, false}) {
            assertRefused(forth, inTheSecondMessage(at - 80));
        }
    }

    /** Changes a byte of what follows the opening. */
    private static Function<byte[], List<byte[]>> inTheSecondMessage(int at) {
        int[] passed = new int[1];
        return chunk -> {
            int index = 80 + at - passed[0];
            if (index >= 0 && index < chunk.length) {
                chunk[index] ^= 1;
            }
            passed[0] += chunk.length;
            return List.of(chunk);
        };
    }

    @Test
    void nobodyCanTakeTheWishForKeysOutOfBothOpenings() throws IOException {
        try (var a = node("a", null, "lanes", "1", "handshake-timeout-ms", "3000");
                var b = node("b", null, "lanes", "1", "handshake-timeout-ms", "3000");
                var between = new Interceptor(a.port())) {
            between.there(Interceptor.flip(8, 1));
            between.back(Interceptor.flip(8, 1));
            FabricEndpoint toA = b.fabric.connect(between.address());
            TestNode.until("refused", () -> b.disconnected.containsKey(toA), b, a);
            assertThat(a.accepted).isEmpty();
            assertThat(b.disconnected.get(toA)).contains("the cluster secret differs");
        }
    }

    private static void assertRefused(boolean forth, Function<byte[], List<byte[]>> change) throws IOException {
        try (var a = node("a", null, "lanes", "1", "handshake-timeout-ms", "1500");
                var b = node("b", null, "lanes", "1", "handshake-timeout-ms", "1500");
                var between = new Interceptor(a.port())) {
            if (forth) {
                between.there(change);
            } else {
                between.back(change);
            }
            FabricEndpoint toA = b.fabric.connect(between.address());
            TestNode.until("refused", () -> b.disconnected.containsKey(toA), b, a);
            assertThat(b.connected).isEmpty();
            assertThat(a.connected).isEmpty();
        }
    }
}
