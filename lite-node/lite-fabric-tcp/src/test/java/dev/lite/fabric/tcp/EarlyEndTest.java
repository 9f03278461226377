package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import dev.lite.os.wire.WireException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A peer that ends operations which it has not got. */
class EarlyEndTest {
    private static final int LONG_BYTES = 4096;

    /** The poster of an ended operation may release its memory, from which the rest of the payload would still be sent. */
    @ParameterizedTest
    @ValueSource(ints = {Frame.ACKNOWLEDGEMENT, Frame.REFUSED})
    void aPeerThatEndsAWriteBeforeItHasItsPayloadIsDisconnected(int how) {
        try (var arena = Arena.ofConfined()) {
            var wire = new SlowWire(arena);
            wire.room = Frame.HEADER_BYTES + LONG_BYTES / 2;
            var outbound = new Outbound(wire, new CombiningTest.Left(false), arena);
            var inbound = inbound(wire, outbound, arena);
            var payload = arena.allocate(LONG_BYTES, 8);
            assertThat(write(outbound, payload, LONG_BYTES)).isEqualTo(Post.ACCEPTED);

            wire.receives(how, how == Frame.ACKNOWLEDGEMENT ? 1 : 0);

            assertThatExceptionOfType(WireException.class)
                    .isThrownBy(() -> untilIdle(inbound))
                    .withMessageContaining("before it had got its payload");
            assertThat(outbound.operations.isEmpty()).as("the poster was told").isFalse();
        }
    }

    @Test
    void aWriteEndsOnceItsPayloadIsSent() {
        try (var arena = Arena.ofConfined()) {
            var wire = new SlowWire(arena);
            wire.room = LONG_BYTES / 2;
            var outbound = new Outbound(wire, new CombiningTest.Left(false), arena);
            var inbound = inbound(wire, outbound, arena);
            assertThat(write(outbound, arena.allocate(LONG_BYTES, 8), LONG_BYTES))
                    .isEqualTo(Post.ACCEPTED);
            wire.room = LONG_BYTES;
            outbound.writable();

            wire.receives(Frame.ACKNOWLEDGEMENT, 1);
            untilIdle(inbound);

            assertThat(outbound.operations.isEmpty()).isTrue();
        }
    }

    /** The peer may answer before the sending thread has counted what it sent. */
    @ParameterizedTest
    @ValueSource(ints = {Frame.ACKNOWLEDGEMENT, Frame.REFUSED})
    void anAnswerThatComesWhileItsOperationIsBeingSentIsTakenLater(int how) {
        try (var arena = Arena.ofConfined()) {
            var wire = new SlowWire(arena);
            wire.room = 2 * LONG_BYTES;
            var outbound = new Outbound(wire, new CombiningTest.Left(false), arena);
            var inbound = inbound(wire, outbound, arena);
            var steps = new ArrayList<Inbound.Step>();
            wire.afterSend = () -> {
                wire.receives(how, how == Frame.ACKNOWLEDGEMENT ? 1 : 0);
                for (int i = 0; i < 4; i++) {
                    steps.add(inbound.step());
                }
            };
            assertThat(write(outbound, arena.allocate(LONG_BYTES, 8), LONG_BYTES))
                    .isEqualTo(Post.ACCEPTED);
            assertThat(steps).endsWith(Inbound.Step.LATER, Inbound.Step.LATER);
            assertThat(inbound.step())
                    .isEqualTo(how == Frame.ACKNOWLEDGEMENT ? Inbound.Step.COMPLETED : Inbound.Step.REFUSED);
            untilIdle(inbound);
            assertThat(outbound.operations.isEmpty()).isTrue();
        }
    }

    /** Else further frames would replace those in the queue. */
    @Test
    void aPeerThatEndsShortWritesWhichItDoesNotTakeDoesNotMakeTheQueueOverflow() {
        try (var arena = Arena.ofConfined()) {
            var wire = new SlowWire(arena);
            var outbound = new Outbound(wire, new CombiningTest.Left(false), arena);
            var inbound = inbound(wire, outbound, arena);
            int posted = 0;
            while (posted <= Outbound.FRAMES_MAX && write(outbound, MemorySegment.NULL, 0) == Post.ACCEPTED) {
                posted++;
                wire.receives(Frame.ACKNOWLEDGEMENT, posted);
                untilIdle(inbound);
            }
            assertThat(posted).as("posts").isBetween(2 * Operations.MAX, Outbound.FRAMES_MAX);
        }
    }

    private static Inbound inbound(SlowWire wire, Outbound outbound, Arena arena) {
        return new Inbound(wire, outbound, new Memory(arena.allocate(8, 8).address(), 8), arena);
    }

    private static Post write(Outbound outbound, MemorySegment payload, int bytes) {
        return outbound.post(Frame.WRITE, 0, payload.address(), bytes, 0, 0, 0, 1, false);
    }

    private static void untilIdle(Inbound inbound) {
        while (inbound.step() != Inbound.Step.IDLE) {
            // Every step consumes input, or ends an operation.
        }
    }

    /** Takes as many bytes as the test says, and receives one frame at a time. */
    private static final class SlowWire extends QuietWire {
        private final MemorySegment frame;
        private boolean received = true;
        private Runnable afterSend = () -> {};
        long room;

        SlowWire(Arena arena) {
            frame = arena.allocate(Frame.HEADER_BYTES, 8);
        }

        void receives(int kind, int acknowledged) {
            Frame.encode(frame.address(), kind, acknowledged, 0, 0, 0, 0, 0);
            received = false;
        }

        private long take(long bytes) {
            long taken = Math.min(bytes, room);
            room -= taken;
            afterSend.run();
            return taken;
        }

        @Override
        public long send(long address, long length) {
            return take(length);
        }

        @Override
        public long sendVector(long iovec, int count) {
            long bytes = 0;
            for (int i = 0; i < count; i++) {
                bytes += RawMemory.getLong(iovec + 16L * i + 8);
            }
            return take(bytes);
        }

        @Override
        public long receive(long address, long length) {
            if (received) {
                return 0;
            }
            received = true;
            RawMemory.copyFrom(frame, 0, address, Frame.HEADER_BYTES);
            return Frame.HEADER_BYTES;
        }
    }
}
