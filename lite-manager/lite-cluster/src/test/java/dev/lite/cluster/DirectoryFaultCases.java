package dev.lite.cluster;

import static dev.lite.cluster.ClusterDirectoryContract.DEADLINE;
import static dev.lite.cluster.ClusterDirectoryContract.advert;
import static dev.lite.cluster.ClusterDirectoryContract.bytes;
import static dev.lite.cluster.ClusterDirectoryContract.namesOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Registrations that expire, and a directory that becomes unavailable. */
interface DirectoryFaultCases extends DirectoryCases {

    @Test
    default void anExpiredRegistrationIsRestoredWithALargerIncarnation() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        RecordingListener recorded = new RecordingListener();
        one.addListener(recorded);
        NodeRecord before = one.register(advert("a"), DEADLINE);

        expire(one);

        Waits.until("it is registered again", () -> !recorded.registeredAgain.isEmpty());
        NodeRecord after = recorded.registeredAgain.getFirst();
        assertThat(after.id()).isEqualTo(before.id());
        assertThat(after.incarnation()).isGreaterThan(before.incarnation());
        assertThat(recorded.lostAndFound).first().isEqualTo("lost");
        assertThat(other.nodesNow(DEADLINE)).containsExactly(after);
        Waits.until("others see it", () -> other.nodes().equals(List.of(after)));
    }

    /** A process may be paused between its registration and the call that adds its listener. */
    @Test
    default void aListenerThatIsAddedAfterTheRegistrationWasMadeAgainIsNotifiedOfIt() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        NodeRecord before = one.register(advert("a"), DEADLINE);
        expire(one);
        Waits.until(
                "it is registered again",
                () -> other.nodes().stream().anyMatch(node -> node.incarnation() > before.incarnation()));
        RecordingListener late = new RecordingListener();

        one.addListener(late);

        Waits.until("the listener is notified", () -> late.registeredAgain.equals(other.nodes()));
        assertThat(one.acknowledge(late.registeredAgain.getFirst(), 0, DEADLINE))
                .isTrue();
    }

    @Test
    default void aNodeIsRegisteredAgainOnlyAfterItHasGivenUpItsOldRights() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        CountDownLatch lost = new CountDownLatch(1);
        CountDownLatch givenUp = new CountDownLatch(1);
        one.addListener(new DirectoryListener() {
            @Override
            public void registrationLost() {
                lost.countDown();
                await(givenUp);
            }
        });
        NodeRecord before = one.register(advert("a"), DEADLINE);

        expire(one);
        await(lost);

        Waits.pass(Waits.scaled(Duration.ofMillis(200)));
        assertThat(other.nodesNow(DEADLINE)).isEmpty();
        givenUp.countDown();
        Waits.until("it is registered", () -> !other.nodesNow(DEADLINE).isEmpty());
        assertThat(other.nodesNow(DEADLINE).getFirst().incarnation()).isGreaterThan(before.incarnation());
    }

    @Test
    default void nobodyIsRegisteredAnewWhileGivingUpFails() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        AtomicInteger failures = new AtomicInteger();
        AtomicBoolean givenUp = new AtomicBoolean();
        List<Boolean> givenUpWhenRegistered = new CopyOnWriteArrayList<>();
        one.addListener(new DirectoryListener() {
            @Override
            public void registrationLost() {
                switch (failures.getAndIncrement()) {
                    case 0 -> throw new IllegalStateException("thrown by a test");
                    case 1 -> throw new AssertionError("thrown by a test");
                    default -> givenUp.set(true);
                }
            }
        });
        NodeRecord before = one.register(advert("a"), DEADLINE);
        other.addListener(new DirectoryListener() {
            @Override
            public void nodesChanged(List<NodeRecord> nodes) {
                if (nodes.stream().anyMatch(node -> node.incarnation() > before.incarnation())) {
                    givenUpWhenRegistered.add(givenUp.get());
                }
            }
        });

        expire(one);

        Waits.until("it is registered again", () -> !givenUpWhenRegistered.isEmpty());
        assertThat(givenUpWhenRegistered).first().isEqualTo(true);
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(DEADLINE.toNanos(), TimeUnit.NANOSECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
    }

    @Test
    default void callsFailAtOnceWhileTheDirectoryIsUnavailableAndRecoverByThemselves() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        RecordingListener recorded = new RecordingListener();
        one.addListener(recorded);
        NodeRecord node = one.register(advert("a"), DEADLINE);
        one.create("kept", bytes("x"), DEADLINE);
        Waits.until("the node is seen", () -> one.nodes().equals(List.of(node)));

        stopDirectory();
        Waits.until("the listener is notified", () -> recorded.availability.contains(false));

        assertThat(one.isAvailable()).isFalse();
        assertThat(one.nodes()).containsExactly(node);
        long startNs = System.nanoTime();
        for (Callable<?> call : List.<Callable<?>>of(
                () -> one.create("b", bytes("x"), DEADLINE),
                () -> one.read("kept", DEADLINE),
                () -> one.compareAndSet("kept", 0, bytes("x"), DEADLINE),
                () -> one.delete("kept", 0, DEADLINE),
                () -> one.names("", 1, DEADLINE),
                () -> one.epochNow(DEADLINE),
                () -> one.acknowledge(node, 1, DEADLINE),
                () -> one.nodesNow(DEADLINE))) {
            assertThatThrownBy(call::call).isInstanceOf(ClusterUnavailableException.class);
        }
        assertThat(Duration.ofNanos(System.nanoTime() - startNs)).isLessThan(Waits.seconds(1));

        startDirectory();

        Waits.until("both are available again", () -> one.isAvailable() && other.isAvailable());
        // Listeners are notified on their own thread, after the state has changed.
        Waits.until("the listener is notified of both changes", () -> recorded.availability.getLast());
        assertThat(recorded.availability).endsWith(false, true);
        assertThat(other.read("kept", DEADLINE).orElseThrow().bytes()).isEqualTo(bytes("x"));
        Waits.until(
                "the node is registered",
                () -> namesOf(other.nodesNow(DEADLINE)).equals(List.of("a")));
    }

    @Test
    default void aClosedDirectoryThrows() {
        ClusterDirectory one = open();
        one.create("a", bytes("x"), DEADLINE);
        one.close();
        one.close();

        assertThat(one.isAvailable()).isFalse();
        assertThatThrownBy(() -> one.read("a", DEADLINE))
                .isInstanceOf(ClusterUnavailableException.class)
                .hasMessageContaining("closed");
    }
}
