package dev.lite.fabric.tcp;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.Post;
import dev.lite.os.wire.WireException;
import dev.lite.testing.Waits;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Operations that their owner sees only after the other side closed the connection and stopped waiting for it. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LateChangeTest {
    private static final long VALUE = 7;
    private static final int MEMORY_BYTES = 64 << 10;

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void anOperationThatItsOwnerDidNotExecuteBeforeCloseReturnedIsNeverExecuted(int lanes) {
        var option = Integer.toString(lanes);
        try (var a = new TestNode("a", "lanes", option);
                var b = new TestNode("b", "lanes", option)) {
            var toA = b.connectTo(a);
            b.memory.set(JAVA_LONG, 0, VALUE);
            assertThat(toA.write(0, b.address(), Long.BYTES, 1)).isEqualTo(Post.ACCEPTED);
            assertThat(toA.fetchAdd(8, VALUE, b.address() + 8, 2)).isEqualTo(Post.ACCEPTED);
            assertThat(toA.writeImm(16, b.address(), Long.BYTES, 3, 3)).isEqualTo(Post.ACCEPTED);
            assertThat(toA.write(1024, b.address(), TcpEndpoint.LARGE_BYTES + 1, 4))
                    .isEqualTo(Post.ACCEPTED);

            // Nobody polls a meanwhile.
            toA.close();

            TestNode.until("disconnected", () -> !a.disconnected.isEmpty(), a);
            assertThat(a.memory.asSlice(0, 2048).toArray(JAVA_LONG)).containsOnly(0);
            assertThat(a.immediates).isEmpty();
            TestNode.until("all ended", () -> b.failures == 4, b);
        }
    }

    /** As after a failure of one of several lanes. */
    @Test
    void anOperationThatFailedWithItsConnectionIsNotExecutedLater() {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            b.memory.set(JAVA_LONG, 0, VALUE);
            for (int round = 1; round <= 5; round++) { // the first ones are slow, and a looks for a reset meanwhile
                int rounds = round;
                var toA = b.connectTo(a);
                pause();
                assertThat(toA.fetchAdd(64, 1, b.address() + 64, 1)).isEqualTo(Post.ACCEPTED);
                TestNode.until("a has just looked for a reset", () -> b.completed.size() == rounds, b, a);
                assertThat(toA.write(0, b.address(), Long.BYTES, 2)).isEqualTo(Post.ACCEPTED);
                assertThat(toA.fetchAdd(8, VALUE, b.address() + 8, 3)).isEqualTo(Post.ACCEPTED);
                int sent = b.fabric.poll(16);
                assertThat(sent).isZero();
                ((TcpEndpoint) toA).lost("the test breaks it", FabricError.FLUSHED);

                // Nobody polls a meanwhile.
                TestNode.until("all have failed", () -> b.failures == 2 * rounds, b);
                for (int i = 0; i < 4; i++) {
                    int unused = a.fabric.poll(16);
                }
                assertThat(a.memory.asSlice(0, 64).toArray(JAVA_LONG)).containsOnly(0);
                TestNode.until("disconnected", () -> a.disconnected.size() == rounds, a);
            }
        }
    }

    /** Else the thread that polls would use a processor until the peer has answered. */
    @Test
    void inputThatNobodyReadsAnyMoreEndsNoWaitWhileTheConnectionIsCut() {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            var toA = b.connectTo(a);
            assertThat(toA.write(0, b.address(), Long.BYTES, 1)).isEqualTo(Post.ACCEPTED);
            assertThat(a.accepted.getFirst().writeImm(0, a.address(), Long.BYTES, 2, 2))
                    .isEqualTo(Post.ACCEPTED);
            ((TcpEndpoint) toA).lost("the test breaks it", FabricError.FLUSHED);

            // Nobody polls a meanwhile.
            int waits = 0;
            while (b.failures == 0 && waits < 1000) {
                if (b.fabric.poll(16) == 0) {
                    b.fabric.await(TestNode.nanos(1));
                    waits++;
                }
            }
            assertThat(b.failures).isOne();
            assertThat(waits).isLessThan(100);
            TestNode.until("disconnected", () -> !a.disconnected.isEmpty(), a);
        }
    }

    @Test
    void anOperationIsNotExecutedAfterTheFirstOfTwoClosesReturned() {
        try (var a = new TestNode("a");
                var b = new TestNode("b")) {
            var toA = b.connectTo(a);
            b.memory.set(JAVA_LONG, 0, VALUE);
            assertThat(toA.write(0, b.address(), Long.BYTES, 1)).isEqualTo(Post.ACCEPTED);
            Thread second = Thread.ofPlatform().start(() -> {
                Waits.pass(TcpEndpoint.CLOSE_WAIT.dividedBy(2));
                toA.close();
            });

            toA.close();

            int unused = a.fabric.poll(16);
            assertThat(a.memory.get(JAVA_LONG, 0)).isZero();
            Waits.join(second);
            TestNode.until("disconnected", () -> !a.disconnected.isEmpty(), a);
            assertThat(a.memory.get(JAVA_LONG, 0)).isZero();
        }
    }

    @Test
    void anOwnerThatAlwaysHasSomethingToExecuteLooksForAResetAllTheSame() {
        try (var arena = Arena.ofConfined()) {
            var memory = arena.allocate(MEMORY_BYTES, 8);
            var wire = new CountingWire(arena);
            var inbound = inbound(wire, memory, arena);
            wire.reset = true;
            assertThatExceptionOfType(WireException.class)
                    .isThrownBy(() -> {
                        for (int i = 0; i < 100; i++) {
                            wire.input = frame(arena, Frame.FETCH_ADD, 0);
                            wire.read = false;
                            while (memory.get(JAVA_LONG, 0) == i * VALUE) {
                                inbound.step();
                            }
                            Waits.pass(Duration.ofNanos(Inbound.LOOK_NS / 4));
                        }
                    })
                    .withMessageContaining("reset");
        }
    }

    @Test
    void anOwnerThatIsInterruptedBetweenReceivingAnOperationAndExecutingItLooksForAReset() {
        for (boolean reset : new boolean[] {false, true}) {
            try (var arena = Arena.ofConfined()) {
                var memory = arena.allocate(MEMORY_BYTES, 8);
                var wire = new CountingWire(arena);
                var inbound = inbound(wire, memory, arena);
                wire.input = frame(arena, Frame.FETCH_ADD, 0);
                assertThat(inbound.step()).isEqualTo(Inbound.Step.PROGRESS);
                assertThat(memory.get(JAVA_LONG, 0)).as("only received").isZero();

                pause();
                wire.reset = reset;
                expectChange(inbound, !reset);
                assertThat(memory.get(JAVA_LONG, 0)).isEqualTo(reset ? 0 : VALUE);
            }
        }
    }

    @Test
    void anOwnerThatIsInterruptedInTheMiddleOfALongPayloadLooksForAReset() {
        for (boolean reset : new boolean[] {false, true}) {
            try (var arena = Arena.ofConfined()) {
                var memory = arena.allocate(MEMORY_BYTES, 8);
                var wire = new CountingWire(arena);
                var inbound = inbound(wire, memory, arena);
                wire.input = frame(arena, Frame.WRITE, MEMORY_BYTES);
                assertThat(inbound.step()).as("received the header").isEqualTo(Inbound.Step.PROGRESS);
                assertThat(inbound.step()).as("no payload yet").isEqualTo(Inbound.Step.IDLE);

                pause();
                wire.reset = reset;
                wire.input = arena.allocateFrom(JAVA_LONG, VALUE);
                wire.read = false;
                expectChange(inbound, !reset);
                assertThat(memory.get(JAVA_LONG, 0)).isEqualTo(reset ? 0 : VALUE);
            }
        }
    }

    private static Inbound inbound(CountingWire wire, MemorySegment memory, Arena arena) {
        var outbound = new Outbound(wire, new CombiningTest.Left(false), arena);
        return new Inbound(wire, outbound, new Memory(memory.address(), memory.byteSize()), arena);
    }

    private static MemorySegment frame(Arena arena, int kind, int length) {
        var frame = arena.allocate(Frame.HEADER_BYTES, 8);
        Frame.encode(frame.address(), kind, 0, length, 0, 0, VALUE, 0);
        return frame;
    }

    private static void expectChange(Inbound inbound, boolean allowed) {
        if (allowed) {
            assertThat(inbound.step()).isEqualTo(Inbound.Step.PROGRESS);
        } else {
            assertThatExceptionOfType(WireException.class)
                    .isThrownBy(inbound::step)
                    .withMessageContaining("reset");
        }
    }

    /** As if this thread had not run. */
    private static void pause() {
        long start = System.nanoTime();
        while (System.nanoTime() - start <= Inbound.LOOK_NS) {
            Thread.onSpinWait();
        }
    }
}
