package dev.lite.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import dev.lite.fabric.driver.Waiting;
import dev.lite.os.Epoll;
import dev.lite.os.EventFd;
import dev.lite.os.TcpSocket;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The standby thread steps in for threads that gave up the poll role, or left frames, and did not come back. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StandbyChecksTest {
    private static final long FOREVER_NS = Duration.ofHours(1).toNanos();
    private static final int ROUNDS = 200;
    /** Of two posts each: nobody polls, so all stay outstanding. */
    private static final int FEW_ROUNDS = Operations.MAX / 4;

    @Test
    void anEventInABreakThatIsArmedInNameOnlyWakesTheStandbyThread() {
        try (var waiting = Waiting.open(FOREVER_NS);
                var source = EventFd.create()) {
            waiting.watch(source);
            var checks = new StandbyChecks(waiting, new Departures());
            for (int round = 0; round < ROUNDS; round++) {
                var standby = Thread.ofPlatform().daemon().start(() -> standBy(waiting, checks));
                breakInNameOnly(waiting, checks);
                source.signal();
                join(standby);
                endBreak(waiting, checks);
                source.drain();
            }
        }
    }

    @Test
    void theStandbyThreadChecksAgainAfterItStoppedChecking() {
        try (var waiting = Waiting.open(FOREVER_NS);
                var source = EventFd.create()) {
            waiting.watch(source);
            var departures = new Departures();
            departures.poll(System.nanoTime() + TestNode.nanos(1000)); // so only the last check steps in
            var checks = new StandbyChecks(waiting, departures);
            breakInNameOnly(waiting, checks);
            while (checks.pauseNs(FOREVER_NS) != FOREVER_NS) { // this thread stands by until the checks end
                assertThat(waiting.awaitArmed(checks.pauseNs(FOREVER_NS))).isFalse();
                checks.check(new TcpLane[0], System.nanoTime());
            }
            source.signal();
            assertThat(waiting.awaitArmed(FOREVER_NS))
                    .as("armed by the last check")
                    .isTrue();
        }
    }

    /** Breaks, until one is armed in name only; it is not ended. A pause of this thread may delay that. */
    private static void breakInNameOnly(Waiting waiting, StandbyChecks checks) {
        long deadline = System.nanoTime() + TestNode.nanos(20);
        while (checks.arm(true)) {
            endBreak(waiting, checks);
            assertThat(deadline - System.nanoTime()).as("time left").isPositive();
        }
    }

    /** A thread takes the poll role again, and finds nothing. */
    private static void endBreak(Waiting waiting, StandbyChecks checks) {
        checks.disarm();
        waiting.settle();
    }

    @Test
    void aThreadThatIsAboutToSleepArmsAlsoWhileBreaksAreNotArmed() {
        try (var waiting = Waiting.open(FOREVER_NS);
                var source = EventFd.create()) {
            waiting.watch(source);
            var checks = new StandbyChecks(waiting, new Departures());
            breakInNameOnly(waiting, checks);
            endBreak(waiting, checks);
            assertThat(checks.arm(false)).as("armed").isTrue();
            source.signal();
            assertThat(waiting.awaitArmed(FOREVER_NS)).as("ended by the event").isTrue();
        }
    }

    @Test
    void aThreadThatMakesALongWriteIsLeftThePollForSomeChecks() throws IOException {
        try (var waiting = Waiting.open(FOREVER_NS);
                var source = EventFd.create();
                var epoll = Epoll.create();
                var listener =
                        ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                var socket = TcpSocket.connect((InetSocketAddress) listener.getLocalAddress(), TestNode.nanos(10));
                var memory = Arena.ofConfined()) {
            waiting.watch(source);
            var checks = new StandbyChecks(waiting, new Departures());
            breakInNameOnly(waiting, checks);
            source.signal();
            var lanes = new ArrayList<TcpLane>();
            var wire = new WireThatRuns(() -> {
                long nowNs = System.nanoTime();
                for (int i = 0; i < StandbyChecks.SENDING_CHECKS_MAX; i++) {
                    nowNs += TestNode.nanos(1);
                    checks.check(lanes.toArray(TcpLane[]::new), nowNs);
                    assertThat(waiting.awaitArmed(0)).as("armed by check %d", i).isFalse();
                }
                checks.check(lanes.toArray(TcpLane[]::new), nowNs + TestNode.nanos(1));
                assertThat(waiting.awaitArmed(FOREVER_NS)).isTrue();
            });
            long word = memory.allocate(Long.BYTES, Long.BYTES).address();
            var lane =
                    new TcpLane(wire, socket, new Memory(word, Long.BYTES), epoll, new Departures(), checks, reason -> {
                        throw new AssertionError(reason);
                    });
            lanes.add(lane);
            assertThat(lane.outbound.post(Frame.WRITE, 0, word, Long.BYTES, 0, 0, 0, 1, false))
                    .isEqualTo(Post.ACCEPTED);
            assertThat(wire.sends).isEqualTo(1);
        }
    }

    /** It answers queued calls, for example. Nobody polls meanwhile, and an event of another peer would wait for all of them. */
    @Test
    void aThreadThatLeavesOneFrameAfterTheOtherIsLeftThePollForSomeChecks() {
        try (var waiting = Waiting.open(FOREVER_NS);
                var source = EventFd.create()) {
            waiting.watch(source);
            var checks = new StandbyChecks(waiting, new Departures());
            breakInNameOnly(waiting, checks);
            source.signal();
            long nowNs = System.nanoTime();
            for (int i = 0; i < StandbyChecks.LEFT_CHECKS_MAX; i++) {
                nowNs += TestNode.nanos(1);
                checks.left(nowNs);
                checks.check(new TcpLane[0], nowNs);
                assertThat(waiting.awaitArmed(0)).as("armed by check %d", i).isFalse();
            }
            nowNs += TestNode.nanos(1);
            checks.left(nowNs);
            checks.check(new TcpLane[0], nowNs);
            assertThat(waiting.awaitArmed(TestNode.nanos(20)))
                    .as("armed by the next check")
                    .isTrue();
        }
    }

    @Test
    void aThreadThatAlsoPollsMayLeaveFramesForAnyTime() {
        try (var waiting = Waiting.open(FOREVER_NS);
                var source = EventFd.create()) {
            waiting.watch(source);
            var departures = new Departures();
            var checks = new StandbyChecks(waiting, departures);
            breakInNameOnly(waiting, checks);
            source.signal();
            long nowNs = System.nanoTime();
            for (int i = 0; i < 20; i++) {
                departures.poll(nowNs + 1); // long before the check
                departures.stop();
                nowNs += TestNode.nanos(1);
                checks.left(nowNs);
                checks.check(new TcpLane[0], nowNs);
                assertThat(waiting.awaitArmed(0)).as("armed by check %d", i).isFalse();
            }
        }
    }

    /** Takes all bytes; the thread that sends them has other work meanwhile. */
    private static final class WireThatRuns extends QuietWire {
        private final Runnable meanwhile;
        int sends;

        WireThatRuns(Runnable meanwhile) {
            this.meanwhile = meanwhile;
        }

        @Override
        public long send(long address, long length) {
            sends++;
            meanwhile.run();
            return length;
        }

        @Override
        public long sendVector(long iovec, int count) {
            throw new AssertionError("one frame takes one range");
        }

        @Override
        public long receive(long address, long length) {
            return 0;
        }
    }

    private static void standBy(Waiting waiting, StandbyChecks checks) {
        while (!waiting.awaitArmed(checks.pauseNs(FOREVER_NS))) {
            checks.check(new TcpLane[0], System.nanoTime());
        }
    }

    @Test
    void aFrameThatWasToBeFollowedSoonIsSentByTheStandbyThread() {
        arrives(toA -> assertThat(toA.writeImmSoon(0, 0, 0, 1, 1)).isEqualTo(Post.ACCEPTED));
    }

    @Test
    void aTransferThatWasToBeFollowedSoonIsSentByTheStandbyThread() {
        long local = Arena.global().allocate(Long.BYTES, Long.BYTES).address();
        arrives(FEW_ROUNDS, (toA, departures) -> {
            assertThat(toA.writeSoon(0, local, 8, 1)).isEqualTo(Post.ACCEPTED);
            assertThat(toA.writeImmSoon(0, 0, 0, 1, 2)).isEqualTo(Post.ACCEPTED); // on the same lane
        });
        arrives(FEW_ROUNDS, (toA, departures) -> {
            assertThat(toA.readSoon(0, local, 8, 1)).isEqualTo(Post.ACCEPTED);
            assertThat(toA.writeImmSoon(0, 0, 0, 1, 2)).isEqualTo(Post.ACCEPTED);
        });
        arrives(FEW_ROUNDS, (toA, departures) -> {
            assertThat(toA.fetchAddSoon(0, 1, local, 1)).isEqualTo(Post.ACCEPTED);
            assertThat(toA.writeImmSoon(0, 0, 0, 1, 2)).isEqualTo(Post.ACCEPTED);
        });
        arrives(FEW_ROUNDS, (toA, departures) -> {
            assertThat(toA.compareAndSwapSoon(0, 1, 2, local, 1)).isEqualTo(Post.ACCEPTED);
            assertThat(toA.writeImmSoon(0, 0, 0, 1, 2)).isEqualTo(Post.ACCEPTED);
        });
    }

    @Test
    void aFrameLeftToAVirtualThreadIsSentByTheStandbyThread() {
        arrives(ROUNDS, (toA, departures) -> {
            join(Thread.ofVirtual().start(() -> departures.poll(System.nanoTime() + TestNode.nanos(100))));
            assertThat(toA.writeImm(0, 0, 0, 1, 1)).isEqualTo(Post.ACCEPTED);
        });
    }

    private static void arrives(Consumer<FabricEndpoint> post) {
        arrives(ROUNDS, (toA, departures) -> post.accept(toA));
    }

    /** Only the standby thread uses the posting node's fabric, and it never polls. */
    private static void arrives(int rounds, Posting posting) {
        try (var a = new TestNode("a", "lanes", "1");
                var b = new TestNode("b", "lanes", "1")) {
            var toA = b.connectTo(a);
            ((TcpFabric) b.fabric).departures.stop();
            var stopped = new AtomicBoolean();
            var standby = Thread.ofPlatform().daemon().start(() -> {
                while (!stopped.get()) {
                    b.fabric.awaitArmed(FOREVER_NS);
                }
            });
            for (int round = 1; round <= rounds; round++) {
                int count = round;
                posting.post(toA, ((TcpFabric) b.fabric).departures);
                TestNode.until("arrived", () -> a.immediates.size() == count, a);
            }
            stopped.set(true);
            b.fabric.wakeup();
            join(standby);
        }
    }

    private interface Posting {
        void post(FabricEndpoint toA, Departures departures);
    }

    @Test
    void aFrameThatWasLeftAndNotSentKeepsNoLaterOneWaitingForItsAnswer() {
        try (var a = new TestNode("a", "lanes", "1");
                var b = new TestNode("b", "lanes", "1");
                var arena = Arena.ofConfined()) {
            var toA = b.connectTo(a);
            var departures = ((TcpFabric) b.fabric).departures;
            departures.stop();
            departures.armed(true); // the next answer wakes the standby thread, which this node does not have
            var ones = arena.allocateFrom(ValueLayout.JAVA_LONG, 1, 1);
            assertThat(toA.writeSoon(0, ones.address(), 8, 1)).isEqualTo(Post.ACCEPTED);
            assertThat(toA.write(8, ones.address(), 8, 2)).isEqualTo(Post.ACCEPTED);
            TestNode.until(
                    "both arrived",
                    () -> a.memory.get(ValueLayout.JAVA_LONG, 0) == 1 && a.memory.get(ValueLayout.JAVA_LONG, 8) == 1,
                    a);
        }
    }

    @Test
    void framesThatAreFollowedByAnotherGoInOneWrite() {
        try (var arena = Arena.ofConfined()) {
            var wire = new CountingWire(arena);
            var outbound = new Outbound(wire, new CombiningTest.Left(false), arena);
            for (int i = 0; i < 5; i++) {
                assertThat(outbound.post(Frame.WRITE_IMM, 0, 0, 0, i, 0, 0, i, true))
                        .isEqualTo(Post.ACCEPTED);
            }
            assertThat(wire.writes).isZero();
            assertThat(outbound.post(Frame.WRITE_IMM, 0, 0, 0, 5, 0, 0, 5, false))
                    .isEqualTo(Post.ACCEPTED);
            assertThat(wire.writes).isEqualTo(1);
            assertThat(wire.numbers()).containsExactly(0, 1, 2, 3, 4, 5);
        }
    }

    private static void join(Thread thread) {
        try {
            assertThat(thread.join(Duration.ofNanos(TestNode.nanos(20))))
                    .as("the thread ended")
                    .isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
