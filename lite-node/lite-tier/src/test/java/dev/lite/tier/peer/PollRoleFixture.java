package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.testing.Waits;
import dev.lite.tier.peer.QueueFabric.Flag;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** The poll role of a {@link QueueFabric}. */
final class PollRoleFixture implements AutoCloseable {
    static final long FOREVER_NS = Waits.seconds(15).toNanos();
    /** A long deadline: a follower that is not woken polls at its deadline, and the tests must not pass because of that. */
    static final long PAST_EVERY_WAIT_NS = Waits.seconds(120).toNanos();

    final QueueFabric fabric = new QueueFabric();
    final PollRole role = new PollRole(fabric, 50);

    /** Takes the role before the standby thread can. That thread sleeps when this returns, until the fabric is armed. */
    void takeFirst() {
        assertThat(role.take()).isTrue();
        role.start();
        Waits.until("the standby thread sleeps", () -> fabric.standingBy);
    }

    /** Starts a waiting thread and waits until it is parked. */
    Thread follower(Flag flag, AtomicInteger came) {
        Thread thread = Thread.ofPlatform().daemon().start(() -> {
            if (role.await(flag, System.nanoTime() + PAST_EVERY_WAIT_NS, false)) {
                came.incrementAndGet();
            }
        });
        Waits.until("it is parked", () -> LockSupport.getBlocker(thread) == flag);
        return thread;
    }

    @Override
    public void close() {
        role.close();
        assertThat(fabric.violation.get()).isNull();
    }
}
