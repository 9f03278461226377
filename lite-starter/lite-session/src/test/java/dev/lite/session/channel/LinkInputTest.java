package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.os.RawMemory;
import dev.lite.os.wire.EncryptedWire;
import dev.lite.os.wire.Wire;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class LinkInputTest {
    private static final int WINDOW_BYTES = 1024;
    private static final ChannelArea AREA = new ChannelArea(4, WINDOW_BYTES);

    /** Else the other application could keep the thread that receives, for as long as it sends. */
    @Test
    void aReceiveEndsAfterSomeRecordsHoweverFewBytesTheyHave() {
        var sockets = TestChannel.sockets(false);
        var memory = new ChannelMemory(AREA.create(), AREA, "shop/order");
        try (var arena = Arena.ofConfined()) {
            var wire = new SingleBytesWire(sockets[0].wire(), arena);
            var arrived = new Arrived();
            var input = new LinkInput(memory, wire, arrived);
            for (int turn = 1; arrived.frames < 3; turn++) {
                long before = wire.records;

                boolean unused = input.receive();

                assertThat(wire.records - before).as("records of turn %d", turn).isEqualTo(LinkInput.RECORDS_MAX);
                assertThat(input.hasMore()).as("more is there").isTrue();
            }
        } finally {
            memory.close();
            sockets[0].socket().close();
            sockets[1].socket().close();
        }
    }

    /** Counts whole requests, each as long as a window. */
    private static final class Arrived implements LinkInput.Frames {
        int frames;

        @Override
        public int check(int kind, int slot, int generation, int first, int second) {
            assertThat(kind).isEqualTo(LinkFrame.REQUEST);
            return WINDOW_BYTES;
        }

        @Override
        public void arrived(int kind, int slot, int generation, int first, int second) {
            frames++;
        }
    }

    /** The other end sends requests without an end, one byte in each record. */
    private static final class SingleBytesWire extends EncryptedWire {
        private final MemorySegment frame;
        long records;

        SingleBytesWire(Wire plain, Arena arena) {
            super(plain);
            frame = arena.allocate(LinkFrame.HEADER_BYTES + WINDOW_BYTES, 8);
            LinkFrame.put(frame.address(), LinkFrame.REQUEST, 1, 1, 0, 0);
        }

        @Override
        public long receive(long address, long length) {
            RawMemory.fill(address, 1, frame.get(ValueLayout.JAVA_BYTE, records % frame.byteSize()));
            records++;
            return 1;
        }

        @Override
        public long records() {
            return records;
        }

        @Override
        public long send(long address, long length) {
            throw new AssertionError("nothing is sent");
        }

        @Override
        public long sendVector(long iovec, int count) {
            throw new AssertionError("nothing is sent");
        }

        @Override
        public boolean awaitReadable(long timeoutNs) {
            return true;
        }
    }
}
