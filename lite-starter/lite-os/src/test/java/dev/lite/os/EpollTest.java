package dev.lite.os;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.testing.Waits;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

@SuppressWarnings("try") // closing is what is tested
class EpollTest {
    private static final int ROUNDS = 5_000;

    @Test
    void aSignalStaysUntilItIsDrainedAndSeveralCountAsOne() {
        try (var set = Epoll.create();
                var bell = EventFd.create()) {
            set.add(bell, Epoll.IN, 7);
            assertThat(set.await(0)).isZero();
            bell.signal();
            bell.signal();
            assertThat(set.await(Waits.seconds(10).toNanos())).isEqualTo(1);
            assertThat(set.key(0)).isEqualTo(7);
            assertThat(set.isReadable(0)).isTrue();
            assertThat(set.isWritable(0)).isFalse();
            bell.drain();
            bell.drain();
            assertThat(set.await(0)).isZero();
        }
    }

    @Test
    void aWaitEndsAtItsTimeoutOrOnASignal() throws InterruptedException {
        try (var set = Epoll.create();
                var bell = EventFd.create()) {
            set.add(bell, Epoll.IN, Long.MIN_VALUE);
            long start = System.nanoTime();
            assertThat(set.await(20_000_000)).isZero();
            assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(20_000_000);
            var waiter = Thread.ofPlatform()
                    .daemon()
                    .start(() -> assertThat(set.await(Long.MAX_VALUE)).isEqualTo(1));
            SystemCalls.awaitIn(waiter);
            bell.signal();
            assertThat(waiter.join(Waits.seconds(20))).isTrue();
            assertThat(set.key(0)).isEqualTo(Long.MIN_VALUE);
        }
    }

    @Test
    void aNestedSetIsReportedOnlyWhileItIsOfInterest() {
        try (var inner = Epoll.create();
                var outer = Epoll.create();
                var bell = EventFd.create()) {
            inner.add(bell, Epoll.IN, 1);
            outer.add(inner, 0, 2);
            bell.signal();
            assertThat(outer.await(0)).isZero();
            outer.modify(inner, Epoll.IN, 2);
            assertThat(outer.await(0)).isEqualTo(1);
            outer.modify(inner, 0, 2);
            assertThat(outer.await(0)).isZero();
            inner.remove(bell);
            outer.modify(inner, Epoll.IN, 2);
            assertThat(outer.await(0)).isZero();
        }
    }

    @Test
    void socketsAreReadableAndWritable() {
        var loopback = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (var server = TcpServerSocket.bind(loopback, 1);
                var client =
                        TcpSocket.connect(server.address(), Waits.seconds(10).toNanos());
                var accepted = server.accept();
                var set = Epoll.create()) {
            set.add(client, Epoll.IN | Epoll.OUT, 1);
            assertThat(set.await(Waits.seconds(10).toNanos())).isEqualTo(1);
            assertThat(set.isWritable(0)).isTrue();
            assertThat(set.isReadable(0)).isFalse();
            set.modify(client, Epoll.IN, 1);
            assertThat(set.await(0)).isZero();
            accepted.close();
            assertThat(set.await(Waits.seconds(10).toNanos())).isEqualTo(1);
            assertThat(set.isReadable(0))
                    .as("the end of the input counts as readable")
                    .isTrue();
        }
    }

    @Test
    void addingAClosedOrPresentDescriptorIsRefused() {
        try (var set = Epoll.create();
                var bell = EventFd.create()) {
            set.add(bell, Epoll.IN, 1);
            assertThatThrownBy(() -> set.add(bell, Epoll.IN, 1))
                    .isInstanceOf(OsException.class)
                    .hasMessageContaining("EEXIST");
            bell.close();
            bell.signal();
            bell.drain();
            assertThatThrownBy(() -> set.modify(bell, 0, 1))
                    .isInstanceOf(OsException.class)
                    .hasMessageContaining("EBADF");
            set.close();
            assertThatThrownBy(() -> set.await(0))
                    .isInstanceOf(OsException.class)
                    .hasMessageContaining("EBADF");
        }
    }

    @Test
    void waitingAndModifyingAllocateNothingOnTheHeap() {
        assertThat(AllocatedBytes.least(Rounds.class, ROUNDS)).isLessThan(ROUNDS);
    }

    /** The other process. */
    static final class Rounds {
        private Rounds() {}

        public static void main(String[] arguments) {
            try (var set = Epoll.create();
                    var inner = Epoll.create()) {
                set.add(inner, Epoll.IN, 1);
                AllocatedBytes.print(arguments, () -> {
                    for (int i = 0; i < ROUNDS; i++) {
                        set.modify(inner, i & 1, 1);
                        set.await(0);
                    }
                });
            }
        }
    }
}
