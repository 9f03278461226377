package dev.lite.fabric.rdma;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.ibm.disni.verbs.impl.NativeDispatcher;
import dev.lite.fabric.rdma.verbs.NativeLibrary;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** The native methods on a real device: two queue pairs in one process, connected over the device's own address. */
@Isolated("it counts the descriptors of its process")
class NativeVerbsTest {
    private static final int SUCCESS = 0;
    private static final int FLUSHED = 5;
    private static final int REMOTE_ACCESS = 10;
    private static final int RECEIVED = 128;
    private static final int RECEIVED_WRITE_WITH_IMMEDIATE = 129;
    private static final int WITH_IMMEDIATE = 2;
    private static final int EBUSY = 16;
    private static final int EAGAIN = 11;

    private NativeDispatcher natives;
    private RawSide client;
    private RawSide server;

    @BeforeEach
    void connect() throws IOException {
        var address = RawDevice.address();
        assumeTrue(
                address.isPresent(),
                "needs an RDMA device with an IPv4 address: there is none in /sys/class/infiniband");
        assumeTrue(
                NativeLibrary.problem().isEmpty(), () -> NativeLibrary.problem().orElse(""));
        natives = NativeLibrary.dispatcher();
        var sides = RawSide.connected(natives, address.get());
        client = sides[0];
        server = sides[1];
    }

    @AfterEach
    void close() throws IOException {
        if (client != null) {
            client.close();
            server.close();
        }
    }

    @Test
    void writesAndReadsThePeersMemory() throws IOException {
        client.memory.set(JAVA_LONG, 64, 0x1122334455667788L);
        client.post(RawSide.WRITE, 71, 64, 8, server, 0);
        var written = client.poll();
        assertThat(written.requestId()).isEqualTo(71);
        assertThat(written.status()).isEqualTo(SUCCESS);
        assertThat(written.opcode()).isEqualTo(1);
        assertThat(server.memory.get(JAVA_LONG, 64)).isEqualTo(0x1122334455667788L);

        server.memory.set(JAVA_LONG, 128, -3);
        client.post(RawSide.READ, 72, 128, 8, server, 0);
        var read = client.poll();
        assertThat(read.requestId()).isEqualTo(72);
        assertThat(read.status()).isEqualTo(SUCCESS);
        assertThat(read.opcode()).isEqualTo(2);
        assertThat(client.memory.get(JAVA_LONG, 128)).isEqualTo(-3);
    }

    @Test
    void anImmediateArrivesUnchanged() throws IOException {
        for (int immediate : new int[] {0x01020304, -1, 0x80000001, 0}) {
            server.receive(9, 0, 0);
            client.memory.set(JAVA_LONG, 256, immediate);
            client.post(RawSide.WRITE_WITH_IMMEDIATE, 8, 256, 8, server, immediate);
            assertThat(client.poll().status()).isEqualTo(SUCCESS);
            var arrived = server.poll();
            assertThat(arrived.requestId()).isEqualTo(9);
            assertThat(arrived.status()).isEqualTo(SUCCESS);
            assertThat(arrived.opcode()).isEqualTo(RECEIVED_WRITE_WITH_IMMEDIATE);
            assertThat(arrived.immediate()).isEqualTo(immediate);
            assertThat(arrived.flags() & WITH_IMMEDIATE).isNotZero();
            assertThat(arrived.bytes()).isEqualTo(8);
            assertThat(server.memory.get(JAVA_LONG, 256)).isEqualTo(immediate);
        }
    }

    @Test
    void aSendFillsTheReceiversBuffer() throws IOException {
        server.receive(5, 512, 256);
        client.memory.set(JAVA_LONG, 1024, 4711);
        client.post(RawSide.SEND, 6, 1024, 24, 0, 0, 0, true);
        assertThat(client.poll().status()).isEqualTo(SUCCESS);
        var arrived = server.poll();
        assertThat(arrived.opcode()).isEqualTo(RECEIVED);
        assertThat(arrived.bytes()).isEqualTo(24);
        assertThat(server.memory.get(JAVA_LONG, 512)).isEqualTo(4711);
    }

    @Test
    void nativeAtomicsReturnThePreviousValue() throws IOException {
        server.memory.set(JAVA_LONG, 0, 40);
        client.postAtomic(RawSide.FETCH_AND_ADD, 1, 0, 2, 0, server);
        assertThat(client.poll().status()).isEqualTo(SUCCESS);
        assertThat(client.memory.get(JAVA_LONG, 0)).isEqualTo(40);
        client.postAtomic(RawSide.COMPARE_AND_SWAP, 2, 0, 42, 7, server);
        assertThat(client.poll().status()).isEqualTo(SUCCESS);
        assertThat(client.memory.get(JAVA_LONG, 0)).isEqualTo(42);
        assertThat(server.memory.get(JAVA_LONG, 0)).isEqualTo(7);
    }

    @Test
    void aCompletionWakesAThreadThatRequestedNotification() throws IOException {
        assertThat(natives._getCqEvent(client.completionChannel, 0)).isEqualTo(-1);
        assertThat(natives._reqNotifyCQ(client.cq, 0)).isZero();
        client.post(RawSide.WRITE, 1, 0, 8, server, 0);
        assertThat(natives._getCqEvent(
                        client.completionChannel, (int) Waits.seconds(5).toMillis()))
                .isZero();
        assertThat(client.poll().requestId()).isEqualTo(1);
        assertThat(natives._getCqEvent(client.completionChannel, 0)).isEqualTo(-1);
    }

    /** ibv_destroy_cq waits without limit if the numbers of events and acknowledgements differ. */
    @Test
    void destroyingACompletionQueueNeverWaitsForAcknowledgements() throws IOException {
        natives._reqNotifyCQ(client.cq, 0);
        client.post(RawSide.WRITE, 1, 0, 8, server, 0);
        assertThat(natives._getCqEvent(
                        client.completionChannel, (int) Waits.seconds(5).toMillis()))
                .isZero();
        natives._reqNotifyCQ(server.cq, 0);
        server.post(RawSide.WRITE, 1, 0, 8, client, 0);
        assertThat(natives._getCqEvent(
                        server.completionChannel, (int) Waits.seconds(5).toMillis()))
                .isZero();
        assertThat(natives._ackCqEvent(server.cq, 1000)).isZero();
        assertThat(natives._ackCqEvent(server.cq, -1)).isNegative();
        // close() destroys both queues: one with no acknowledgement, one with too many.
    }

    /** Posts all requests in one call, so that the device cannot free entries meanwhile. The requests that fit are posted. */
    @Test
    void aFullSendQueueIsAnErrorThatNamesTheFirstRefusedRequest() throws IOException {
        assertThatThrownBy(() -> client.postChain(RawSide.WRITE, 0x500, 8 * RawSide.SENDS, server))
                .isInstanceOf(IOException.class)
                .hasMessageMatching(
                        "ibv_post_send: request 0x5[0-9a-f]{2} was not posted: Cannot allocate memory \\(errno 12\\)")
                .hasMessageNotContaining("0x500");
        assertThat(client.poll().requestId()).isEqualTo(0x500);
    }

    @Test
    void aWrongKeyEndsTheQueuePair() throws IOException {
        client.post(RawSide.WRITE, 33, 0, 8, server.memory.address(), server.key ^ 0x7f00, 0, true);
        var refused = client.poll();
        assertThat(refused.requestId()).isEqualTo(33);
        assertThat(refused.status()).isEqualTo(REMOTE_ACCESS);
        client.post(RawSide.WRITE, 34, 0, 8, server, 0);
        var flushed = client.poll();
        assertThat(flushed.requestId()).isEqualTo(34);
        assertThat(flushed.status()).isEqualTo(FLUSHED);
    }

    @Test
    void disconnectingFlushesReceivesAndNotifiesThePeer() throws IOException {
        client.receive(50, 0, 8);
        server.receive(51, 0, 8);
        assertThat(natives._disconnect(client.id)).isZero();
        assertThat(server.await(RawSide.DISCONNECTED)).isEqualTo(server.id);
        assertThat(natives._disconnect(server.id)).isZero();
        var flushed = client.poll();
        assertThat(flushed.requestId()).isEqualTo(50);
        assertThat(flushed.status()).isEqualTo(FLUSHED);
        assertThat(server.poll().status()).isEqualTo(FLUSHED);
        assertThat(client.await(RawSide.DISCONNECTED)).isEqualTo(client.id);
    }

    @Test
    void waitingForAnEventEndsAtTheTimeout() {
        var ids = client.arena.allocate(16, 8);
        assertThat(natives._getCmEvent(client.channel, ids.address(), ids.address() + 8, 1))
                .isEqualTo(-EAGAIN);
    }

    @Test
    void objectsInUseAreNotDestroyed() {
        assertThat(natives._destroyCQ(client.cq)).isEqualTo(-EBUSY);
        assertThat(natives._destroyCompChannel(client.completionChannel)).isEqualTo(-EBUSY);
        assertThat(natives._deallocPd(client.pd)).isEqualTo(-EBUSY);
        assertThat(natives._ackCqEvent(client.cq, 0)).isZero();
    }

    @Test
    void registeringInvalidMemoryIsRefused() {
        var keys = client.arena.allocate(12, 4);
        long at = keys.address();
        assertThatThrownBy(() -> natives._regMr(client.pd, client.memory.address(), 0, 7, at, at + 4, at + 8))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("cannot register 0 bytes");
        assertThatThrownBy(() -> natives._regMr(client.pd, 4096, 4096, 7, at, at + 4, at + 8))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("ibv_reg_mr of 4096 bytes at 0x1000");
    }

    /** Each connection holds descriptors in this process: two event channels and two completion channels. */
    @Test
    void aClosedConnectionLeavesNoDescriptorOpen() throws IOException {
        var address = RawDevice.address().orElseThrow();
        int before = descriptors();
        for (int round = 0; round < 10; round++) {
            var sides = RawSide.connected(natives, address);
            assertThat(descriptors()).isGreaterThanOrEqualTo(before + 4);
            sides[0].post(RawSide.WRITE, round, 0, 8, sides[1], 0);
            assertThat(sides[0].poll().status()).isEqualTo(SUCCESS);
            sides[0].close();
            sides[1].close();
        }
        assertThat(descriptors()).isEqualTo(before);
    }

    private static int descriptors() throws IOException {
        try (var open = Files.list(Path.of("/proc/self/fd"))) {
            return (int) open.count();
        }
    }

    @Test
    void reportsItsNumbers() throws IOException {
        long context = natives._getContext(client.id);
        assertThat(natives._getContextFd(context)).isPositive();
        assertThat(natives._getContextNumCompVectors(context)).isPositive();
        assertThat(natives._getQpNum(client.qp)).isNotEqualTo(natives._getQpNum(server.qp));
        assertThat(natives._getPdHandle(client.pd)).isNotEqualTo(natives._getPdHandle(server.pd));
        assertThat(natives._queryOdpSupport(context)).isNotNegative();
        assertThat(natives._modifyQP(client.qp, 0)).isNegative();
    }
}
