package dev.lite.cluster;

import static dev.lite.cluster.ClusterDirectoryContract.DEADLINE;
import static dev.lite.cluster.ClusterDirectoryContract.advert;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A real ZooKeeper stops for several session timeouts. This is a separate class, so that other tests can run meanwhile. */
class CuratorOutageTest {
    @RegisterExtension
    static final RealZooKeeper zooKeeper = new RealZooKeeper();

    @Test
    void sessionsAndRegistrationsSurviveALongOutageOfZooKeeper() {
        // Longer than the client needs to reconnect; it pauses for up to 1 s between attempts.
        Duration timeout = Waits.seconds(6);
        try (CuratorDirectory one = zooKeeper.open("away", timeout)) {
            RecordingListener recorded = new RecordingListener();
            one.addListener(recorded);
            NodeRecord before = one.register(advert("a"), DEADLINE);
            long session = one.session().sessionId();

            zooKeeper.stop();
            Waits.pass(timeout.multipliedBy(3)); // the client abandons the session twice meanwhile
            assertThat(one.isAvailable()).isFalse();
            zooKeeper.start();

            Waits.until("it is available again", one::isAvailable);
            assertThat(one.nodesNow(DEADLINE)).containsExactly(before);
            assertThat(one.session().sessionId()).isEqualTo(session);
            assertThat(recorded.registeredAgain).isEmpty();
        }
    }

    @Test
    void aProcessThatLosesItsFirstConnectionWhileItStartsWaitsForTheNextOne() throws InterruptedException {
        try (CuratorDirectory starting = zooKeeper.open("starts", Waits.seconds(6))) {
            Waits.until("it is connected", starting::isAvailable);
            zooKeeper.stop();
            Waits.until("it notices", () -> !starting.isAvailable());
            Thread back = Thread.ofPlatform().start(() -> {
                Waits.pass(Duration.ofMillis(500));
                zooKeeper.start();
            });

            assertThat(starting.nodesNow(DEADLINE)).isEmpty();
            back.join();
        }
    }
}
