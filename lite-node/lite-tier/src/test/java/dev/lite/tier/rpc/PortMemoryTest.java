package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcMessages;
import dev.lite.api.RpcStatus;
import dev.lite.fabric.shm.ShmFabricProvider;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.InDevShm;
import dev.lite.tier.testing.TestCluster;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PortMemoryTest {
    private static final long MESSAGE = 64 << 10;

    @TempDir(factory = InDevShm.class)
    Path root;

    private static int enterAll(PortMemory memory, String principal) {
        int entered = 0;
        while (memory.enter(principal, MESSAGE)) {
            entered++;
        }
        return entered;
    }

    @Test
    void onePrincipalHoldsABoundedAmountAndLeavesRoomForOthers() {
        PortMemory large = new PortMemory(1L << 30);
        assertThat(enterAll(large, "greedy") * MESSAGE).isEqualTo(2 * PortMemory.QUEUED_BYTES_MAX);
        assertThat(large.enter("other", MESSAGE)).isTrue();

        PortMemory small = new PortMemory(16 * MESSAGE);
        assertThat(enterAll(small, "greedy")).isLessThanOrEqualTo(8);
        assertThat(small.enter("other", MESSAGE)).isTrue();
    }

    @Test
    void aPortThatWaitsForRoomIsWokenWhenAnotherOneMakesIt() {
        PortMemory memory = new PortMemory(1L << 30);
        long queued = 0;
        while (queued + MESSAGE <= PortMemory.QUEUED_BYTES_MAX) {
            assertThat(memory.enter("a", MESSAGE)).isTrue();
            assertThat(memory.tryQueue("a", MESSAGE, false, () -> {})).isTrue();
            queued += MESSAGE;
        }
        List<String> woken = new ArrayList<>();
        assertThat(memory.enter("a", MESSAGE)).isTrue();
        assertThat(memory.tryQueue("a", MESSAGE, false, () -> woken.add("woken")))
                .isFalse();
        memory.unqueued("a", MESSAGE);
        assertThat(woken).containsExactly("woken");
        assertThat(memory.tryQueue("a", MESSAGE, false, () -> {})).isTrue();
        assertThat(memory.enter("a", MESSAGE)).isTrue();
        assertThat(memory.tryQueue("a", MESSAGE, true, () -> {}))
                .as("an empty port takes one")
                .isTrue();
    }

    @Test
    void everythingIsForgottenAtTheEnd() {
        PortMemory memory = new PortMemory(1L << 30);
        assertThat(memory.enter("a", MESSAGE)).isTrue();
        assertThat(memory.enter("a", MESSAGE)).isTrue();
        assertThat(memory.tryQueue("a", MESSAGE, false, () -> {})).isTrue();
        memory.unqueued("a", MESSAGE);
        memory.leave("a", MESSAGE);
        assertThat(memory.held()).isZero();
    }

    @Test
    void anApplicationThatFillsManyPortsIsStoppedAndAnotherOnesPortsWork() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(1);
                Lite greedy = cluster.node(0).attach("greedy");
                Lite other = cluster.node(0).attach("other")) {
            MemorySegment message = MemorySegment.ofArray(new byte[LtRpc.MESSAGE_BYTES_MAX]);
            List<RpcMessages> ports = new ArrayList<>();
            assertThatThrownBy(() -> {
                        for (int number = 0; number < 1000; number++) {
                            ports.add(greedy.rpc().messages("p" + number));
                            greedy.rpc().send("n0", "p" + number, message, Waits.seconds(10));
                            sendWithoutWaiting(greedy, number, message);
                        }
                    })
                    .isInstanceOfSatisfying(
                            RpcFailedException.class,
                            full -> assertThat(full.status()).isEqualTo(RpcStatus.OVERLOADED));
            assertThat(ports).hasSizeLessThan(600);

            try (RpcMessages port = other.rpc().messages("mine")) {
                other.rpc().send("n0", "mine", message, Waits.seconds(10));
                assertThat(port.receive(Waits.seconds(10)).data()).hasSize(LtRpc.MESSAGE_BYTES_MAX);
            }
            ports.forEach(RpcMessages::close);
            try (RpcMessages port = greedy.rpc().messages("again")) {
                greedy.rpc().send("n0", "again", message, Waits.seconds(10));
                assertThat(port.receive(Waits.seconds(10)).data()).hasSize(LtRpc.MESSAGE_BYTES_MAX);
            }
        }
    }

    @Test
    void theMessagesOfAFullPortAreForgottenWithItsSession() {
        try (TestCluster cluster = new TestCluster(root, new ShmFabricProvider()).start(1);
                Lite sender = cluster.attach(0)) {
            MemorySegment message = MemorySegment.ofArray(new byte[LtRpc.MESSAGE_BYTES_MAX]);
            PortMemory memory =
                    Inside.field(cluster.node(0), "rpc", RpcEngine.class).portMemory();
            Lite session = cluster.node(0).attach("receiver");
            RpcMessages unused = session.rpc().messages("in");
            assertThatThrownBy(() -> {
                        while (true) {
                            sender.rpc().send("n0", "in", message, Waits.seconds(1));
                        }
                    })
                    .isInstanceOf(LiteTimeoutException.class);
            assertThat(memory.held()).isGreaterThan(PortMemory.QUEUED_BYTES_MAX);

            session.close();

            Waits.until("the messages are forgotten", () -> memory.held() == 0);
            try (Lite next = cluster.node(0).attach("receiver");
                    RpcMessages port = next.rpc().messages("in")) {
                sender.rpc().send("n0", "in", message, Waits.seconds(10));
                assertThat(port.receive(Waits.seconds(10)).data()).hasSize(LtRpc.MESSAGE_BYTES_MAX);
            }
        }
    }

    /** One that waits for room in the queues of the principal's ports holds memory, too. */
    private static void sendWithoutWaiting(Lite lite, int number, MemorySegment message) {
        try {
            lite.rpc().send("n0", "p" + number, message, Duration.ofMillis(1));
        } catch (LiteTimeoutException waits) {
            assertThat(waits).isNotNull();
        }
    }
}
