package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.wire.WireException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;

/**
 * Feeds valid, truncated and mutated frames and random bytes to a lane, in pieces of any size. The lane must execute them or report
 * the violation. It must not touch bytes around the registered memory, and must always terminate.
 */
class FrameFuzzTest {
    private static final int MEMORY = 64 << 10;
    private static final int GUARD = 4096;
    static final int INPUT = 48 << 10;
    private static final int ROUNDS = 400;

    private static final byte GUARD_BYTE = 0x5A;

    @RepeatedTest(5)
    void anyInputStaysInsideTheMemoryAndTerminates(RepetitionInfo repetition) {
        long seed = Long.getLong("lite.test.seed", System.nanoTime() + repetition.getCurrentRepetition());
        var random = new Random(seed);
        try {
            for (int round = 0; round < ROUNDS; round++) {
                feed(random);
            }
        } catch (AssertionError e) {
            throw new AssertionError("%s [-Dlite.test.seed=%d]".formatted(e.getMessage(), seed), e);
        }
    }

    private static void feed(Random random) {
        try (var arena = Arena.ofConfined()) {
            var input = arena.allocate(INPUT, 8);
            feed(input, random.nextInt(4) == 0 ? noise(random, input) : frames(random, input), random);
        }
    }

    /** Feeds the input of a peer, in pieces. */
    static void feed(MemorySegment input, int length, Random random) {
        try (var arena = Arena.ofConfined()) {
            var around = arena.allocate(MEMORY + 2 * GUARD, 4096).fill(GUARD_BYTE);
            var wire = new ScriptedWire(input, length, random);
            var outbound = new Outbound(wire, new CombiningTest.Left(false), arena);
            var local = arena.allocate(512, 8);
            for (int i = 0; i < 3; i++) {
                outbound.post(Frame.READ, 0, local.address(), 64 * i, 0, 0, 0, i, false);
                outbound.post(Frame.WRITE, 0, local.address(), 8, 0, 0, 0, i, false);
            }
            var inbound = new Inbound(wire, outbound, new Memory(around.address() + GUARD, MEMORY), arena);
            int steps = 0;
            try {
                // Every step consumes a byte or completes an operation, so the input bounds the number of steps.
                while (inbound.step() != Inbound.Step.IDLE || !wire.isEmpty()) {
                    assertThat(steps++).as("steps").isLessThan(4 * INPUT);
                }
            } catch (WireException e) {
                assertThat(e).hasMessageNotContaining("null");
            } catch (OsException e) {
                throw new AssertionError(e);
            }
            checkGuard(around, 0);
            checkGuard(around, GUARD + MEMORY);
        }
    }

    private static void checkGuard(MemorySegment around, long from) {
        for (long at = from; at < from + GUARD; at++) {
            assertThat(RawMemory.getByte(around.address() + at))
                    .as("guard at %d", at)
                    .isEqualTo(GUARD_BYTE);
        }
    }

    private static int noise(Random random, MemorySegment input) {
        int length = random.nextInt(200);
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        MemorySegment.copy(MemorySegment.ofArray(bytes), 0, input, 0, length);
        return length;
    }

    /** Writes mostly valid frames, some with an invalid field; the last one may be truncated. */
    static int frames(Random random, MemorySegment input) {
        int at = 0;
        while (random.nextInt(12) != 0) {
            int kind = 1 + random.nextInt(10);
            int payloadMax = random.nextBoolean() ? 300 : 20_000;
            int length = kind <= Frame.READ || kind == Frame.DATA ? random.nextInt(payloadMax) : 0;
            int payload = Frame.payload(kind, length);
            int bytes = Frame.HEADER_BYTES + payload + Frame.padding(payload);
            if (at + bytes > INPUT) {
                break;
            }
            long offset = random.nextInt(10) == 0 ? random.nextLong() : random.nextInt(MEMORY) & ~7L;
            int acknowledged = random.nextInt(10) == 0 ? random.nextInt() : random.nextInt(2);
            Frame.encode(
                    input.address() + at,
                    kind,
                    acknowledged,
                    random.nextInt(20) == 0 ? random.nextInt() : length,
                    random.nextInt(3),
                    offset,
                    random.nextLong(),
                    random.nextLong());
            if (random.nextInt(20) == 0) {
                RawMemory.putByte(input.address() + at + random.nextInt(Frame.HEADER_BYTES), (byte) random.nextInt());
            }
            at += bytes;
        }
        return at == 0 ? 0 : at - (random.nextInt(4) == 0 ? random.nextInt(Math.min(at, 100)) : 0);
    }

    /** Returns its input in pieces, and accepts all output. */
    private static final class ScriptedWire extends QuietWire {
        private final MemorySegment input;
        private final int length;
        private final Random random;
        private int at;

        ScriptedWire(MemorySegment input, int length, Random random) {
            this.input = input;
            this.length = length;
            this.random = random;
        }

        boolean isEmpty() {
            return at == length;
        }

        @Override
        public long receive(long address, long bytes) {
            if (bytes <= 0) {
                throw new AssertionError("asked for %d bytes".formatted(bytes));
            }
            if (at == length) {
                return 0;
            }
            int piece = (int) Math.min(
                    bytes, Math.min(length - at, 1 + random.nextInt(random.nextBoolean() ? 16 : 30_000)));
            RawMemory.copy(input.address() + at, address, piece);
            at += piece;
            return piece;
        }

        @Override
        public long send(long address, long bytes) {
            return bytes;
        }

        @Override
        public long sendVector(long iovec, int count) {
            long bytes = 0;
            for (int i = 0; i < count; i++) {
                bytes += RawMemory.getLong(iovec + 16L * i + 8);
            }
            return bytes;
        }
    }
}
