package dev.lite.fabric.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.lite.fabric.FabricError;
import dev.lite.fabric.driver.HandshakeException;
import dev.lite.fabric.rdma.verbs.Completion;
import dev.lite.fabric.rdma.verbs.WorkRequest;
import dev.lite.os.RawMemory;
import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;

/** Encoding and decoding of requests, completions and messages, byte by byte. The layouts are the ABI of libibverbs. */
class CodecTest {
    private static final Windows LARGE = new Windows(Windows.SHIFT_MAX);
    private static final Windows SMALL = new Windows(Windows.SHIFT_MIN);

    private static final long REQUEST_ID = 0x1234_5678_9ABC_DEF0L;

    @Test
    void aSendRequestHasTheLayoutThatTheVerbsRead() {
        try (var arena = Arena.ofConfined()) {
            long request = arena.allocate(WorkRequest.SEND_BYTES, 8).address();
            WorkRequest.prepareSend(request);
            WorkRequest.send(
                    request, WorkRequest.WRITE_WITH_IMMEDIATE, REQUEST_ID, 0x7000, 64, 11, true, 0x9000, 22, -5);

            assertThat(RawMemory.getLong(request)).isEqualTo(REQUEST_ID);
            assertThat(RawMemory.getLong(request + 8)).as("next").isZero();
            long scatter = RawMemory.getLong(request + 16);
            assertThat(scatter).isBetween(request, request + WorkRequest.SEND_BYTES - 16);
            assertThat(RawMemory.getInt(request + 24)).as("scatter entries").isOne();
            assertThat(RawMemory.getInt(request + 28)).as("opcode").isOne();
            assertThat(RawMemory.getInt(request + 32))
                    .as("signaled, solicited, inline")
                    .isEqualTo(2 | 4 | 8);
            assertThat(RawMemory.getInt(request + 36)).as("immediate").isEqualTo(-5);
            assertThat(RawMemory.getLong(request + 40)).as("remote address").isEqualTo(0x9000);
            assertThat(RawMemory.getInt(request + 48)).as("remote key").isEqualTo(22);
            assertThat(RawMemory.getLong(scatter)).as("local address").isEqualTo(0x7000);
            assertThat(RawMemory.getInt(scatter + 8)).as("length").isEqualTo(64);
            assertThat(RawMemory.getInt(scatter + 12)).as("local key").isEqualTo(11);
        }
    }

    @Test
    void anEmptyRequestHasNoScatterEntry() {
        try (var arena = Arena.ofConfined()) {
            long request = arena.allocate(WorkRequest.SEND_BYTES, 8).address();
            WorkRequest.prepareSend(request);
            WorkRequest.send(request, WorkRequest.WRITE, 1, 0, 0, 0, false, 0, 0, 0);

            assertThat(RawMemory.getInt(request + 24)).isZero();
        }
    }

    @Test
    void onlyRequestsThatConsumeAReceiveAreSolicited() {
        try (var arena = Arena.ofConfined()) {
            long request = arena.allocate(WorkRequest.SEND_BYTES, 8).address();
            int[] flags = new int[5];
            for (int opcode :
                    new int[] {WorkRequest.WRITE, WorkRequest.WRITE_WITH_IMMEDIATE, WorkRequest.SEND, WorkRequest.READ
                    }) {
                WorkRequest.send(request, opcode, 1, 0x7000, 64, 11, false, 0x9000, 22, 0);
                flags[opcode] = RawMemory.getInt(request + 32);
            }

            assertThat(flags).as("signaled, and solicited").containsExactly(2, 2 | 4, 2 | 4, 0, 2);
        }
    }

    @Test
    void aCompletionIsReadWithTheLayoutThatTheVerbsWrite() {
        try (var arena = Arena.ofConfined()) {
            long completion = arena.allocate(Completion.BYTES, 8).address();
            RawMemory.putLong(completion, REQUEST_ID);
            RawMemory.putInt(completion + 8, 12);
            RawMemory.putInt(completion + 20, 77);
            RawMemory.putInt(completion + 24, -9);
            RawMemory.putInt(completion + 36, 2);

            assertThat(Completion.id(completion)).isEqualTo(REQUEST_ID);
            assertThat(Completion.status(completion)).isEqualTo(12);
            assertThat(Completion.byteLength(completion)).isEqualTo(77);
            assertThat(Completion.immediate(completion)).isEqualTo(-9);
            assertThat(Completion.hasImmediate(completion)).isTrue();
            assertThat(Completion.error(12)).isEqualTo(FabricError.TIMED_OUT);
            assertThat(Completion.error(10)).isEqualTo(FabricError.REFUSED);
            assertThat(Completion.error(5)).isEqualTo(FabricError.FLUSHED);
        }
    }

    @Test
    void requestIdsDistinguishLanesAndDirections() {
        int tag = Completion.tag(Completion.LANES_MAX - 1, -1);
        long send = Completion.sendId(tag, -1);
        long receive = Completion.receiveId(tag, -1);

        assertThat(Completion.isReceive(send)).isFalse();
        assertThat(Completion.isReceive(receive)).isTrue();
        for (long id : new long[] {send, receive}) {
            assertThat(Completion.tag(id)).isEqualTo(tag);
            assertThat(Completion.count(id)).isEqualTo(-1);
            assertThat(Completion.index(Completion.tag(id))).isEqualTo(Completion.LANES_MAX - 1);
        }
        assertThat(Completion.tag(1, 0x8001)).as("generations wrap").isEqualTo(Completion.tag(1, 1));
    }

    @Test
    void encodedKeysAreDecodedUnchanged() {
        var memory = new PeerMemory(0x7F00_0000_0000L, LARGE.bytes() + 1, LARGE, new int[] {1, -2}, 0x1000, 3);

        byte[] message = memory.encode();
        var decoded = PeerMemory.decode(message, memory.bytes());

        assertThat(message).hasSize(PeerMemory.ENCODED_BYTES);
        assertThat(decoded.address()).isEqualTo(memory.address());
        assertThat(decoded.windows()).isEqualTo(LARGE);
        assertThat(decoded.keys()).containsExactly(1, -2);
        assertThat(decoded.key(LARGE.bytes() - 1)).isOne();
        assertThat(decoded.key(LARGE.bytes())).isEqualTo(-2);
        assertThat(decoded.creditAddress()).isEqualTo(0x1000);
        assertThat(decoded.creditKey()).isEqualTo(3);
    }

    @Test
    void keysThatDoNotMatchTheHandshakesMemorySizeAreRefused() {
        byte[] message = new PeerMemory(0, 4096, LARGE, new int[] {1}, 0, 0).encode();

        assertThatExceptionOfType(HandshakeException.class)
                .isThrownBy(() -> PeerMemory.decode(message, LARGE.bytes() + 1))
                .withMessageContaining("4096")
                .withMessageContaining("in its handshake it said 1073741825 bytes");
        byte[] twoKeys = new PeerMemory(0, 4096, SMALL, new int[] {1, 2}, 0, 0).encode();
        assertThatExceptionOfType(HandshakeException.class)
                .isThrownBy(() -> PeerMemory.decode(twoKeys, 4096))
                .withMessage("it describes 2 windows for 4096 bytes of memory, which need 1; the limit is 1024");
        assertThatExceptionOfType(HandshakeException.class)
                .isThrownBy(() -> PeerMemory.decode(new byte[PeerMemory.ENCODED_BYTES], 0));
    }

    @Test
    void aTransferIsSplitAtTheWindowsOfBothMemories() {
        long large = LARGE.bytes();
        long small = SMALL.bytes();

        assertThat(OwnMemory.pieceOf(LARGE, 0, LARGE, 0, 100)).isEqualTo(100);
        assertThat(OwnMemory.pieceOf(LARGE, 0, LARGE, large - 10, 100)).isEqualTo(10);
        assertThat(OwnMemory.pieceOf(LARGE, 2 * large - 7, LARGE, 0, 100)).isEqualTo(7);
        assertThat(OwnMemory.pieceOf(LARGE, large, LARGE, large, 100)).isEqualTo(100);
        assertThat(OwnMemory.pieceOf(SMALL, 3 * small - 5, LARGE, 0, 100)).isEqualTo(5);
        assertThat(OwnMemory.pieceOf(LARGE, 0, SMALL, 3 * small - 6, 100)).isEqualTo(6);
        assertThat(LARGE.count(0)).isZero();
        assertThat(LARGE.count(large)).isOne();
        assertThat(LARGE.count(large + 1)).isEqualTo(2);
        assertThat(SMALL.count(large)).isEqualTo(1024);
    }

    @Test
    void immediatesWaitForCreditsEvenWhenTheirCountWraps() {
        try (var arena = Arena.ofConfined()) {
            long word = arena.allocate(Long.BYTES, Long.BYTES).address();
            var credits = new Credits(2, word);
            long given = 0;
            for (int i = 0; i < 1_000; i++) {
                assertThat(credits.available()).isTrue();
                credits.take();
                assertThat(credits.available()).isTrue();
                credits.take();
                assertThat(credits.available()).isFalse();
                given += 2;
                RawMemory.putLong(word, given);
            }
        }
    }
}
