package dev.lite.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How a thread that polls sleeps, and what wakes it. */
class ShmWaitingTest {
    @TempDir
    Path directory;

    @Test
    void aSleepingPollerIsWokenByAnImmediate() throws InterruptedException {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            var stop = new AtomicBoolean();
            var echo = Thread.ofPlatform().daemon().start(() -> {
                int answered = 0;
                while (!stop.get()) {
                    b.fabric.await(TestNode.nanos(20));
                    b.fabric.poll(16);
                    for (; answered < b.immediates.size(); answered++) {
                        b.accepted.getFirst().writeImm(0, b.address(), 0, b.immediates.get(answered), 0);
                    }
                }
            });
            long start = System.nanoTime();
            for (int i = 0; i < 2_000; i++) {
                toB.writeImm(0, a.address(), 0, i, 0);
                int expected = i + 1;
                while (a.immediates.size() < expected) {
                    a.fabric.await(TestNode.nanos(20));
                    a.fabric.poll(16);
                    // With a lost wake-up, the wait would last until its timeout.
                    assertThat(System.nanoTime() - start).isLessThan(TestNode.nanos(15));
                }
            }
            stop.set(true);
            b.fabric.wakeup();
            echo.join(TestNode.nanos(10) / 1_000_000);
            assertThat(echo.isAlive()).isFalse();
        }
    }

    @Test
    void wakeupEndsTheCurrentOrTheNextAwaitAndTheTimeoutEndsOthers() {
        try (var a = new TestNode(directory, "a")) {
            long start = System.nanoTime();
            a.fabric.wakeup();
            a.fabric.await(TestNode.nanos(20));
            assertThat(System.nanoTime() - start).isLessThan(TestNode.nanos(10));
            var waker = Thread.ofPlatform().daemon().start(() -> {
                while (!Thread.interrupted()) {
                    a.fabric.wakeup();
                }
            });
            for (int i = 0; i < 1_000; i++) {
                a.fabric.await(TestNode.nanos(20));
            }
            waker.interrupt();
            assertThat(System.nanoTime() - start).isLessThan(TestNode.nanos(20));
            TestNode.until("the waker ended", () -> !waker.isAlive(), a);
            a.fabric.await(0);
            long quiet = System.nanoTime();
            a.fabric.await(20_000_000);
            assertThat(System.nanoTime() - quiet).isGreaterThanOrEqualTo(20_000_000);
            assertThatIllegalArgumentException().isThrownBy(() -> a.fabric.await(-1));
        }
    }

    @Test
    void aConnectionWakesASleepingPoller() {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            long start = System.nanoTime();
            var toB = a.fabric.connect(b.fabric.localAddress());
            while (a.connected.isEmpty()) {
                a.fabric.await(TestNode.nanos(20));
                a.fabric.poll(1);
            }
            assertThat(a.connected).containsExactly(toB);
            assertThat(System.nanoTime() - start).isLessThan(TestNode.nanos(10));
        }
    }

    @Test
    void anEventInABreakThatIsNotArmedWakesTheStandbyThreadSoon() throws InterruptedException {
        try (var a = new TestNode(directory, "a");
                var b = new TestNode(directory, "b")) {
            var toB = a.connectTo(b);
            var fabric = (ShmFabric) b.fabric;
            var stop = new AtomicBoolean();
            var wakeUps = new AtomicInteger();
            var standby = Thread.ofPlatform().daemon().start(() -> {
                while (!stop.get()) {
                    fabric.awaitArmed(TestNode.nanos(60)); // no test waits for that long
                    wakeUps.incrementAndGet();
                }
            });
            for (int round = 0; round < 20; round++) {
                // So many events come in breaks that breaks are not armed any more.
                long endNs = System.nanoTime() + TestNode.nanos(20);
                while (!fabric.areBreaksUnarmed()) {
                    assertThat(endNs - System.nanoTime()).isPositive();
                    fabric.armBriefly();
                    toB.writeImm(0, a.address(), 0, 1, 0);
                    fabric.disarm();
                    fabric.poll(16);
                    a.fabric.poll(16);
                }
                int before = wakeUps.get();
                fabric.armBriefly();
                toB.writeImm(0, a.address(), 0, 1, 0);
                TestNode.until("the standby thread looks after the break", () -> wakeUps.get() > before, a);
                fabric.disarm();
                assertThat(fabric.armBriefly())
                        .as("nothing to poll, after a break without a poll")
                        .isFalse();
                fabric.disarm();
                fabric.poll(16);
            }
            stop.set(true);
            fabric.wakeup();
            standby.join(TestNode.nanos(10) / 1_000_000);
            assertThat(standby.isAlive()).isFalse();
        }
    }
}
