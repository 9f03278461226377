package dev.lite.tier.peer;

import static dev.lite.tier.peer.PollRoleFixture.PAST_EVERY_WAIT_NS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import dev.lite.tier.peer.QueueFabric.Flag;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** The poll role while virtual threads wait: one of them polls for all, then the standby thread does. */
class VirtualPollersTest {
    @AutoClose
    private final PollRoleFixture fixture = new PollRoleFixture();

    private final QueueFabric fabric = fixture.fabric;
    private final PollRole role = fixture.role;

    @Test
    void aVirtualThreadDoesNotTakeTheRoleToPost() {
        fixture.takeFirst();
        role.release();
        AtomicReference<@Nullable Boolean> held = new AtomicReference<>();
        Waits.join(Thread.ofVirtual().start(() -> held.set(role.takeToPost())));
        assertThat(held).hasValue(false);
    }

    @Test
    void theStandbyThreadPollsForAVirtualThreadWhenTheLastWaitingThreadHasLeft() {
        fixture.takeFirst();
        AtomicInteger came = new AtomicInteger();
        Flag first = new Flag();
        Thread follower = fixture.follower(first, came);
        Flag ofVirtual = new Flag();
        Thread virtual = Thread.ofVirtual().start(() -> {
            if (role.await(ofVirtual, System.nanoTime() + PAST_EVERY_WAIT_NS, false)) {
                came.incrementAndGet();
            }
        });
        role.release();
        first.come();
        Waits.join(follower);
        Waits.until(
                "the virtual thread is parked",
                () -> virtual.getState() == Thread.State.WAITING || virtual.getState() == Thread.State.TIMED_WAITING);
        Waits.until(
                "the fabric is armed",
                () -> role.isVirtualPollerIdle() && fabric.arms.get() > 0 && role.looking() == 0);
        fabric.put(ofVirtual); // no virtual thread polls any more
        Waits.join(virtual);
        assertThat(came).hasValue(2);
        Waits.until("the wake-up is counted, after the standby thread has polled", () -> role.standbyWakeups() > 0);
        assertThat(role.standbyWakeups()).isEqualTo(1);
    }

    /** Other virtual threads may keep all carriers from the one that polls, while threads that sleep have events. */
    @Test
    void whileAVirtualThreadPollsTheStandbyThreadLooksForTheRoleOften() {
        role.start();
        Flag flag = new Flag();
        Thread virtual =
                Thread.ofVirtual().start(() -> role.await(flag, System.nanoTime() + PAST_EVERY_WAIT_NS, false));
        Waits.until("the standby thread would look again after 10 ms", () -> {
            fabric.wakeup();
            return fabric.standbyNs.contains(10_000_000L);
        });
        fabric.put(flag);
        Waits.join(virtual);
        Waits.until("the standby thread sleeps for a second again", () -> {
            fabric.wakeup();
            return fabric.standbyNs.getLast() == 1_000_000_000;
        });
    }

    @Test
    void aVirtualThreadPollsForThoseThatWaitAndThenArmsTheFabric() {
        role.start();
        for (int round = 1; round <= 100; round++) {
            Waits.until(
                    "nobody looks", () -> role.isVirtualPollerIdle() && fabric.arms.get() > 0 && role.looking() == 0);
            Flag flag = new Flag();
            fabric.queue.add(flag); // quietly: the standby thread does not wake up
            Thread virtual =
                    Thread.ofVirtual().start(() -> role.await(flag, System.nanoTime() + PAST_EVERY_WAIT_NS, false));
            Waits.join(virtual);
        }
        Waits.until("nobody looks", () -> role.isVirtualPollerIdle() && role.looking() == 0);
        assertThat(role.standbyWakeups()).isZero();
        Flag last = new Flag();
        fabric.put(last);
        Waits.until("the standby thread polls", () -> role.standbyWakeups() == 1);
    }
}
