package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.driver.Waiting;
import dev.lite.os.Epoll;
import dev.lite.os.TcpServerSocket;
import dev.lite.os.TcpSocket;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

/** The standby thread, which watches for acknowledgements that nobody has sent, beside the poll role. */
class LateAcknowledgementsTest {
    private static final long EVERY_NS = 1_000_000;
    private static final int CHECKS_MAX = 1000;

    private final LateAcknowledgements late = new LateAcknowledgements();
    private long now = System.nanoTime();

    /** A lane with an operation that is done just after the standby thread has seen that none is, at one of its looks. */
    private final class BusyLane extends TcpLane {
        private int looksLeft;
        private boolean wakes;

        BusyLane(
                CountingWire wire,
                TcpSocket socket,
                Epoll sockets,
                Departures departures,
                StandbyChecks checks,
                int look) {
            super(wire, socket, new Memory(0, 0), sockets, departures, checks, reason -> {
                throw new AssertionError(reason);
            });
            looksLeft = look;
        }

        @Override
        boolean owesAcknowledgement() {
            boolean owes = super.owesAcknowledgement();
            if (--looksLeft == 0) { // the poll role
                outbound.countDone();
                wakes = late.watch();
            }
            return owes;
        }
    }

    private void check(TcpLane lane) {
        now += EVERY_NS;
        late.check(new TcpLane[] {lane}, now);
    }

    private boolean isWatched() {
        return late.pauseNs(Long.MAX_VALUE) == EVERY_NS;
    }

    /** Else the peer would wait for it until the next operation, for ever if it does not post one before. */
    @Test
    void anOperationIsAcknowledgedAtWhicheverLookOfTheStandbyThreadItIsDone() {
        var server = TcpServerSocket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1);
        try (var arena = Arena.ofConfined();
                var waiting = Waiting.open(TestNode.nanos(1));
                var epoll = Epoll.create();
                var socket = TcpSocket.connect(server.address(), TestNode.nanos(10))) {
            var departures = new Departures();
            var checks = new StandbyChecks(waiting, departures);
            var wire = new CountingWire(arena);
            boolean woke = false;
            for (int look = 1; !woke; look++) {
                var lane = new BusyLane(wire, socket, epoll, departures, checks, look);
                assertThat(late.watch()).as("not watched yet").isTrue();
                for (int done = 0; lane.looksLeft > 0; done++) {
                    assertThat(done).as("checks until look %d", look).isLessThan(CHECKS_MAX);
                    check(lane);
                }
                assertThat(isWatched()).as("watched after look %d", look).isTrue();
                check(lane);
                check(lane);
                assertThat(lane.outbound.owesAcknowledgement())
                        .as("owed after look %d", look)
                        .isFalse();
                woke = lane.wakes; // the last look: the watch had ended
                for (int done = 0; isWatched(); done++) {
                    assertThat(done).as("checks without an operation").isLessThan(CHECKS_MAX);
                    check(lane);
                }
                lane.release();
            }
        } finally {
            server.close();
        }
    }
}
