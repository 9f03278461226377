package dev.lite.cluster;

import static dev.lite.cluster.ClusterDirectoryContract.DEADLINE;
import static dev.lite.cluster.ClusterDirectoryContract.advert;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A real ZooKeeper stops for several session timeouts. A class of its own, so that other tests run meanwhile. */
class CuratorAwayTest {
    @RegisterExtension
    static final RealZooKeeper zooKeeper = new RealZooKeeper();

    @Test
    void aZooKeeperThatWasAwayForLongFindsEverySessionAndRegistrationAsItWas() {
        // Longer than the client takes to find the server again, which pauses for up to 1 s between attempts.
        Duration timeout = Waits.seconds(6);
        try (CuratorDirectory one = zooKeeper.open("away", timeout)) {
            RecordingListener told = new RecordingListener();
            one.addListener(told);
            NodeRecord before = one.register(advert("a"), DEADLINE);
            long session = one.session().sessionId();

            zooKeeper.stop();
            Waits.pass(timeout.multipliedBy(3)); // the client gives it up twice meanwhile
            assertThat(one.isAvailable()).isFalse();
            zooKeeper.start();

            Waits.until("it is found again", one::isAvailable);
            assertThat(one.nodesNow(DEADLINE)).containsExactly(before);
            assertThat(one.session().sessionId()).isEqualTo(session);
            assertThat(told.registeredAgain).isEmpty();
        }
    }
}
