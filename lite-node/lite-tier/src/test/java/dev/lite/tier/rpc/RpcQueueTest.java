package dev.lite.tier.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class RpcQueueTest {
    private final RpcQueue queue = new RpcQueue();
    private final RpcEntry first = new RpcEntry(null, null, 0);
    private final RpcEntry second = new RpcEntry(null, null, 64);

    /** Otherwise the entry is its own successor, and a thread that looks for a call never ends. */
    @Test
    void aPlaceThatItsCallerAnnouncesAgainWhileItIsQueuedIsQueuedOnce() {
        queue.add(first);
        queue.add(first);
        assertThat(queue.poll()).isSameAs(first);
        assertThat(queue.poll()).isNull();
    }

    @Test
    void aPlaceThatIsAnnouncedAgainDoesNotCutOffTheCallsBehindIt() {
        queue.add(first);
        queue.add(second);
        queue.add(first);
        queue.putBack(second);
        assertThat(queue.size()).isEqualTo(2);
        assertThat(queue.poll()).isSameAs(first);
        assertThat(queue.poll()).isSameAs(second);
        assertThat(queue.isEmpty()).isTrue();
    }

    @Test
    void aPlaceIsQueuedAgainAfterItsCallWasTaken() {
        queue.add(first);
        assertThat(queue.poll()).isSameAs(first);
        queue.add(first);
        assertThat(queue.remove(entry -> entry == first)).isSameAs(first);
        queue.add(second);
        queue.putBack(first);
        assertThat(queue.poll()).isSameAs(first);
        assertThat(queue.poll()).isSameAs(second);
    }
}
