package dev.lite.os.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What an encrypted wire reports while its socket takes only a part. */
class SealedWireTest {
    private static final int RECORD = SealedWire.RECORD_BYTES_MAX;
    private static final int SEALED = RECORD + SealedWire.OVERHEAD_BYTES;
    private static final int BYTES = 5 * RECORD + 123;

    private final byte[] there = new byte[SealedWire.KEY_BYTES];
    private final byte[] back = new byte[SealedWire.KEY_BYTES];

    SealedWireTest() {
        back[0] = 1;
    }

    /** The peer can answer to the first record, and the sender must know then that it is sent. */
    @Test
    void aRecordThatIsSentIsReportedWhileTheNextOneIsNot() {
        try (Arena arena = Arena.ofConfined()) {
            Pipe pipe = new Pipe(arena);
            SealedWire wire = new SealedWire(pipe, there, back);
            MemorySegment content = arena.allocate(2L * RECORD);
            pipe.room = SEALED + 1;
            assertThat(wire.send(content.address(), 2L * RECORD)).isEqualTo(RECORD);
            assertThat(wire.send(content.address() + RECORD, RECORD))
                    .as("no room")
                    .isZero();
            pipe.room = SEALED;
            assertThat(wire.send(content.address() + RECORD, RECORD)).isEqualTo(RECORD);
        }
        try (Arena arena = Arena.ofConfined()) {
            Pipe pipe = new Pipe(arena);
            SealedWire wire = new SealedWire(pipe, there, back);
            MemorySegment content = arena.allocate(2L * RECORD);
            pipe.room = 1;
            assertThat(wire.send(content.address(), 2L * RECORD)).isZero();
            pipe.room = SEALED;
            assertThat(wire.send(content.address(), 2L * RECORD))
                    .as("when the rest of the first one is sent")
                    .isEqualTo(RECORD);
        }
    }

    @Test
    void everyByteIsReportedOnceAndArrivesOnceHoweverMuchTheSocketTakesAtATime() {
        for (int round = 0; round < 50; round++) {
            long seed = Long.getLong("lite.test.seed", System.nanoTime());
            Random random = new Random(seed);
            try (Arena arena = Arena.ofConfined()) {
                Pipe pipe = new Pipe(arena);
                SealedWire sender = new SealedWire(pipe, there, back);
                byte[] content = new byte[BYTES];
                random.nextBytes(content);
                MemorySegment from = arena.allocateFrom(ValueLayout.JAVA_BYTE, content);
                long taken = 0;
                while (taken < BYTES) {
                    pipe.room = random.nextInt(2 * SEALED);
                    long more = sender.send(from.address() + taken, BYTES - taken);
                    taken += more;
                    long whole = RECORD * (pipe.sent / SEALED);
                    assertThat(taken)
                            .as("bytes of whole records; seed %d", seed)
                            .isGreaterThanOrEqualTo(Math.min(whole, BYTES));
                }
                MemorySegment to = arena.allocate(BYTES);
                SealedWire receiver = new SealedWire(pipe, back, there);
                for (long got = 0; got < BYTES; ) {
                    long more = receiver.receive(to.address() + got, BYTES - got);
                    assertThat(more).as("received; seed %d", seed).isPositive();
                    got += more;
                }
                assertThat(to.toArray(ValueLayout.JAVA_BYTE))
                        .as("seed %d", seed)
                        .isEqualTo(content);
            }
        }
    }

    /** The thread that receives serves others, too. */
    @Test
    void aReceiveEndsAfterSomeRecordsHoweverFewBytesTheyHave() {
        int count = 3 * SealedWire.RECEIVED_RECORDS_MAX + 1;
        try (Arena arena = Arena.ofConfined()) {
            Pipe pipe = new Pipe(arena);
            pipe.room = Long.MAX_VALUE;
            SealedWire sender = new SealedWire(pipe, there, back);
            MemorySegment from = arena.allocate(count);
            for (int i = 0; i < count; i++) {
                from.set(ValueLayout.JAVA_BYTE, i, (byte) i);
                assertThat(sender.send(from.address() + i, 1)).isEqualTo(1);
            }
            SealedWire receiver = new SealedWire(pipe, back, there);
            MemorySegment to = arena.allocate(count);

            long got = receiver.receive(to.address(), count);

            assertThat(got).isEqualTo(SealedWire.RECEIVED_RECORDS_MAX);
            assertThat(receiver.records()).isEqualTo(got);
            assertThat(receiver.isDrained()).isFalse();
            assertThat(receiver.awaitReadable(0)).isTrue();
            while (got < count) {
                long more = receiver.receive(to.address() + got, count - got);
                assertThat(more).isBetween(1L, (long) SealedWire.RECEIVED_RECORDS_MAX);
                got += more;
            }
            assertThat(to.mismatch(from)).isEqualTo(-1);
            assertThat(receiver.records()).isEqualTo(count);
        }
    }

    /** Takes as many bytes as the test says, and returns what it took. */
    private static final class Pipe implements ArrayWire {
        private final MemorySegment bytes;
        private long received;
        long sent;
        long room;

        Pipe(Arena arena) {
            bytes = arena.allocate(8L * SEALED);
        }

        @Override
        public long send(long address, long length) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long send(MemorySegment from) {
            int taken = (int) Math.min(from.byteSize(), room);
            room -= taken;
            MemorySegment.copy(from, 0, bytes, sent, taken);
            sent += taken;
            return taken;
        }

        @Override
        public long receive(MemorySegment to) {
            long got = Math.min(to.byteSize(), sent - received);
            MemorySegment.copy(bytes, received, to, 0, got);
            received += got;
            return got;
        }

        @Override
        public long sendVector(long iovec, int count) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long receive(long address, long length) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean awaitReadable(long timeoutNs) {
            return true;
        }

        @Override
        public boolean awaitWritable(long timeoutNs) {
            return true;
        }

        @Override
        public void endOutput() {}

        @Override
        public boolean awaitPeerEnd(long timeoutNs) {
            return true;
        }

        @Override
        public boolean isReset() {
            return false;
        }

        @Override
        public void shutdown() {}

        @Override
        public void abort() {}
    }
}
