package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RingTest {
    private static final int ENTRIES = 4;
    private static final int TARGET_BYTES = 4096;

    private final SharedMemory memory = SharedMemory.createMemfd("ring-test", RingLayout.bytes(ENTRIES));
    private final SharedMemory target = SharedMemory.createMemfd("ring-target", TARGET_BYTES);
    private final long base = RingLayout.fromConnecting(memory.address());
    private final SendRing send = new SendRing(base, ENTRIES);
    private final ReceiveRing receive = new ReceiveRing(base, ENTRIES, target.address(), TARGET_BYTES);

    @AfterEach
    void close() {
        memory.close();
        target.close();
    }

    @Test
    void anEmptyRingHasNoEntry() {
        assertThat(receive.hasNext()).isFalse();
        long position = send.tryTake();
        assertThat(position).isZero();
        assertThat(receive.hasNext()).as("taken but not published").isFalse();
        send.publish(position, 0);
        assertThat(receive.hasNext()).isTrue();
        assertThat(receive.next()).isZero();
        assertThat(receive.hasNext()).isFalse();
    }

    @Test
    void everyValueArrivesOverManyLaps() {
        for (int i = -1_000; i < 1_000; i++) {
            send(send, i);
            assertThat(receive.hasNext()).isTrue();
            assertThat(receive.next()).isEqualTo(i);
        }
        assertThat(receive.hasNext()).isFalse();
    }

    private static void send(SendRing ring, int immediate) {
        long position = ring.tryTake();
        assertThat(position).isNotEqualTo(SendRing.NONE);
        ring.publish(position, immediate);
    }

    @Test
    void aRingHasRoomForAllItsEntries() {
        assertThat(send.tryHold()).isTrue();
        for (int i = 1; i < ENTRIES; i++) {
            send(send, i);
        }
        assertThat(send.tryHold()).isFalse();
        assertThat(send.tryTake()).isEqualTo(SendRing.NONE);
        send.giveBack();
        send(send, ENTRIES);
        assertThat(send.tryTake()).isEqualTo(SendRing.NONE);
        assertThat(receive.next()).isOne();
        assertThat(send.tryHold()).isTrue();
        assertThat(send.tryHold()).isFalse();
        assertThat(send.tryTake()).isEqualTo(SendRing.NONE);
    }

    @Test
    void reservedRoomBlocksNoOtherSenderAndIsDeliveredAfterThem() {
        assertThat(send.tryHold()).isTrue();
        send(send, 1);
        assertThat(receive.next()).isOne();
        send(send, 2);
        send.publish(send.takeHeld(), 3);
        assertThat(receive.next()).isEqualTo(2);
        assertThat(receive.next()).isEqualTo(3);
        assertThat(receive.hasNext()).isFalse();
    }

    @Test
    void anImpossibleCountOfConsumedEntriesIsIgnored() {
        for (int i = 0; i < ENTRIES; i++) {
            send(send, i);
        }
        for (long impossible : new long[] {-1, Long.MIN_VALUE, ENTRIES + 1, Long.MAX_VALUE}) {
            RawMemory.putLongVolatile(RingLayout.consumedAddress(base), impossible);
            assertThat(send.tryTake()).isEqualTo(SendRing.NONE);
        }
        RawMemory.putLongVolatile(RingLayout.consumedAddress(base), 1);
        assertThat(send.tryTake()).isEqualTo(ENTRIES);
    }

    /** Comes after months at millions of messages per second. */
    @ParameterizedTest
    @ValueSource(ints = {4, 1 << 16})
    void aRingGoesOnWhenItsPositionsBeginAgain(int entries) {
        long sent = (1L << RingLayout.POSITION_BITS) - 2L * entries;
        try (SharedMemory large = SharedMemory.createMemfd("ring-test", RingLayout.bytes(entries))) {
            long ring = RingLayout.fromConnecting(large.address());
            RawMemory.putLongVolatile(RingLayout.consumedAddress(ring), sent);
            SendRing sender = new SendRing(ring, entries, sent);
            ReceiveRing receiver = new ReceiveRing(ring, entries, target.address(), TARGET_BYTES, sent);
            for (int lap = 0; lap < 5; lap++) {
                assertThat(receiver.hasNext()).isFalse();
                for (int i = 0; i < entries; i++) {
                    send(sender, i);
                }
                assertThat(sender.tryTake()).isEqualTo(SendRing.NONE);
                assertThat(sender.tryHold()).isFalse();
                for (int i = 0; i < entries; i++) {
                    assertThat(receiver.hasNext()).isTrue();
                    assertThat(receiver.next()).isEqualTo(i);
                    if (i == entries / 2) { // and once in the middle, so that laps begin everywhere
                        send(sender, entries);
                    }
                }
                assertThat(receiver.next()).isEqualTo(entries);
            }
        }
    }

    @Test
    void anEntryOfThePreviousLapIsNotMistakenForANewOne() {
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
    void dataInAnEntryIsCopiedExactlyToItsDestination() {
        for (int length : new int[] {1, 8, 40, RingLayout.INLINE_BYTES_MAX}) {
            for (int offset : new int[] {0, 3, TARGET_BYTES - length}) {
                RawMemory.fill(target.address(), TARGET_BYTES, (byte) 7);
                byte[] bytes = new byte[length];
                new Random(length).nextBytes(bytes);
                try (Arena arena = Arena.ofConfined()) {
                    MemorySegment local = arena.allocate(length);
                    local.copyFrom(MemorySegment.ofArray(bytes));
                    send.publish(send.tryTake(), 5, offset, local.address(), length);
                }
                assertThat(receive.placeData()).isTrue();
                assertThat(receive.next()).isEqualTo(5);
                for (int at = 0; at < TARGET_BYTES; at++) {
                    int expected = at >= offset && at < offset + length ? bytes[at - offset] : 7;
                    assertThat(RawMemory.getByte(target.address() + at)).isEqualTo((byte) expected);
                }
            }
        }
    }

    @Test
    void dataForADestinationOutsideOfTheMemoryIsRefused() {
        long[] wheres = {
            RingLayout.where(TARGET_BYTES - 7, 8),
            RingLayout.where(TARGET_BYTES, 1),
            -1L,
            RingLayout.where(0, RingLayout.INLINE_BYTES_MAX) + 1,
            Long.MIN_VALUE + 8
        };
        for (long where : wheres) {
            long position = send.tryTake();
            send.publish(position, 1);
            RawMemory.putLong(RingLayout.whereAddress(RingLayout.entryAddress(base, ENTRIES, position)), where);
            assertThat(receive.placeData()).as(Long.toHexString(where)).isFalse();
            assertThat(receive.next()).isOne();
        }
    }

    @Test
    void theTwoRingsOfAConnectionDoNotOverlap() {
        long other = RingLayout.fromAccepting(memory.address(), ENTRIES);
        var otherSend = new SendRing(other, ENTRIES);
        for (int i = 0; i < ENTRIES; i++) {
            send(send, 100 + i);
            send(otherSend, 200 + i);
        }
        var otherReceive = new ReceiveRing(other, ENTRIES, target.address(), TARGET_BYTES);
        for (int i = 0; i < ENTRIES; i++) {
            assertThat(receive.next()).isEqualTo(100 + i);
            assertThat(otherReceive.next()).isEqualTo(200 + i);
        }
        long last = RingLayout.entryAddress(other, ENTRIES, ENTRIES - 1);
        assertThat(RingLayout.dataAddress(last) + RingLayout.INLINE_BYTES_MAX)
                .isLessThanOrEqualTo(memory.address() + memory.size());
    }
}
