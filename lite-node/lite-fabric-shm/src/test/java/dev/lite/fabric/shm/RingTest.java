package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RingTest {
    private static final int ENTRIES = 4;

    private final SharedMemory memory = SharedMemory.createMemfd("ring-test", RingLayout.bytes(ENTRIES));
    private final long base = RingLayout.fromConnecting(memory.address());
    private final SendRing send = new SendRing(base, ENTRIES);
    private final ReceiveRing receive = new ReceiveRing(base, ENTRIES);

    @AfterEach
    void close() {
        memory.close();
    }

    @Test
    void anEmptyRingHasNothing() {
        assertThat(receive.hasNext()).isFalse();
        assertThat(send.tryReserve()).isTrue();
        assertThat(receive.hasNext()).as("reserved is not published").isFalse();
        send.publish(0);
        assertThat(receive.hasNext()).isTrue();
        assertThat(receive.next()).isZero();
        assertThat(receive.hasNext()).isFalse();
    }

    @Test
    void everyValueGoesThroughOverManyLaps() {
        for (int i = -1_000; i < 1_000; i++) {
            assertThat(send.tryReserve()).isTrue();
            send.publish(i);
            assertThat(receive.hasNext()).isTrue();
            assertThat(receive.next()).isEqualTo(i);
        }
        assertThat(receive.hasNext()).isFalse();
    }

    @Test
    void thereIsRoomForAsManyAsItHasEntries() {
        for (int i = 0; i < ENTRIES; i++) {
            assertThat(send.tryReserve()).isTrue();
        }
        assertThat(send.tryReserve()).isFalse();
        send.giveBack();
        assertThat(send.tryReserve()).isTrue();
        for (int i = 0; i < ENTRIES; i++) {
            send.publish(i);
        }
        assertThat(send.tryReserve()).isFalse();
        assertThat(receive.next()).isZero();
        assertThat(send.tryReserve()).isTrue();
        assertThat(send.tryReserve()).isFalse();
    }

    @Test
    void aCountOfConsumedEntriesThatCannotBeIsNotBelieved() {
        for (int i = 0; i < ENTRIES; i++) {
            assertThat(send.tryReserve()).isTrue();
            send.publish(i);
        }
        for (long impossible : new long[] {-1, Long.MIN_VALUE, ENTRIES + 1, Long.MAX_VALUE}) {
            RawMemory.putLongVolatile(RingLayout.consumedAddress(base), impossible);
            assertThat(send.tryReserve()).isFalse();
        }
        RawMemory.putLongVolatile(RingLayout.consumedAddress(base), 1);
        assertThat(send.tryReserve()).isTrue();
    }

    @Test
    void anEntryOfTheLapBeforeIsNotTakenForOneOfThis() {
        long lastLap = (1L << 32) - 1;
        for (long lap : new long[] {1, 2, lastLap - 1, lastLap, lastLap + 1, 2 * lastLap}) {
            long position = lap * ENTRIES + 1;
            long entry = RingLayout.entry(ENTRIES, position, -5);
            assertThat(RingLayout.isOf(entry, ENTRIES, position)).isTrue();
            assertThat((int) entry).isEqualTo(-5);
            assertThat(RingLayout.isOf(entry, ENTRIES, position + ENTRIES)).isFalse();
            assertThat(RingLayout.isOf(entry, ENTRIES, position - ENTRIES)).isFalse();
        }
    }

    @Test
    void theTwoRingsOfAConnectionDoNotTouch() {
        long other = RingLayout.fromAccepting(memory.address(), ENTRIES);
        var otherSend = new SendRing(other, ENTRIES);
        for (int i = 0; i < ENTRIES; i++) {
            assertThat(send.tryReserve()).isTrue();
            send.publish(100 + i);
            assertThat(otherSend.tryReserve()).isTrue();
            otherSend.publish(200 + i);
        }
        var otherReceive = new ReceiveRing(other, ENTRIES);
        for (int i = 0; i < ENTRIES; i++) {
            assertThat(receive.next()).isEqualTo(100 + i);
            assertThat(otherReceive.next()).isEqualTo(200 + i);
        }
        assertThat(RingLayout.entryAddress(other, ENTRIES, ENTRIES - 1) + Long.BYTES)
                .isLessThanOrEqualTo(memory.address() + memory.size());
    }
}
