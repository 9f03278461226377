package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricCapabilities;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricMemory;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The poll role: one thread at a time holds it, it is passed on, and no event is left unhandled. */
class PollRoleTest {
    private static final long FOREVER_NS = Waits.seconds(15).toNanos();
    /** A long deadline: a follower that is not woken polls at its deadline, and the tests must not pass because of that. */
    private static final long PAST_EVERY_WAIT_NS = Waits.seconds(120).toNanos();

    private final QueueFabric fabric = new QueueFabric();
    private final PollRole role = new PollRole(fabric, 50);

    @AfterEach
    void close() {
        role.close();
        assertThat(fabric.violation.get()).isNull();
    }

    /** A fabric whose events are waits: a poll ends the waits that were put into it. Its own waits never time out. */
    private static final class QueueFabric implements Fabric {
        final ConcurrentLinkedQueue<Flag> queue = new ConcurrentLinkedQueue<>();
        final AtomicReference<@Nullable String> violation = new AtomicReference<>();
        final AtomicInteger polls = new AtomicInteger();
        /** What the next poll throws. */
        final AtomicReference<@Nullable Error> defect = new AtomicReference<>();

        private final AtomicReference<@Nullable Thread> holder = new AtomicReference<>();
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition changed = lock.newCondition();
        private boolean armed;
        private boolean called;
        private boolean woken;
        private volatile boolean closed;

        void put(Flag flag) {
            queue.add(flag);
            lock.lock();
            try {
                called |= armed;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }

        private void enter() {
            if (!holder.compareAndSet(null, Thread.currentThread())) {
                violation.set("two threads hold the role");
            }
            if (Thread.currentThread().isVirtual()) {
                violation.set("a virtual thread holds the role");
            }
        }

        @Override
        public int poll(int limit) {
            enter();
            polls.incrementAndGet();
            Error thrown = defect.getAndSet(null);
            if (thrown != null) {
                holder.set(null);
                throw thrown;
            }
            int count = 0;
            for (Flag flag = queue.poll(); flag != null; flag = count < limit ? queue.poll() : null) {
                flag.come();
                count++;
            }
            holder.set(null);
            return count;
        }

        @Override
        public void await(long timeoutNs) {
            enter();
            lock.lock();
            try {
                while (queue.isEmpty() && !woken && !closed) {
                    changed.await(); // without a timeout, so that a missing wake-up shows
                }
                woken = false;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } finally {
                lock.unlock();
                holder.set(null);
            }
        }

        @Override
        public boolean arm() {
            enter();
            lock.lock();
            try {
                armed = true;
                return queue.isEmpty();
            } finally {
                lock.unlock();
                holder.set(null);
            }
        }

        @Override
        public void disarm() {
            lock.lock();
            try {
                armed = false;
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void awaitArmed(long timeoutNs) {
            lock.lock();
            try {
                while (!called && !closed) {
                    changed.await();
                }
                called = false;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void wakeup() {
            lock.lock();
            try {
                woken = true;
                called = true;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void close() {
            closed = true;
        }

        @Override
        public String name() {
            return "queue";
        }

        @Override
        public String localAddress() {
            return "";
        }

        @Override
        public FabricCapabilities capabilities() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void register(FabricMemory memory) {
            throw new UnsupportedOperationException();
        }

        @Override
        public FabricEndpoint connect(String address) {
            throw new UnsupportedOperationException();
        }
    }

    private static final class Flag extends PollWaiter {
        private volatile boolean over;

        @Override
        protected boolean isOver() {
            return over;
        }

        void come() {
            over = true;
            signal();
        }

        /** Ends the wait without a signal. */
        void comeQuietly() {
            over = true;
        }

        void reset() {
            over = false;
        }
    }

    @Test
    void aWaitingThreadPollsItself() {
        role.start();
        Flag flag = new Flag();
        fabric.put(flag);
        assertThat(role.await(flag, System.nanoTime() + FOREVER_NS, role.take()))
                .isTrue();
    }

    @Test
    void aWaitEndsAtItsDeadline() {
        // The fabric of this test blocks forever, so another thread must hold the role already.
        takeFirst();
        AtomicReference<@Nullable Boolean> outcome = new AtomicReference<>();
        Thread follower = Thread.ofPlatform()
                .start(() -> outcome.set(role.await(new Flag(), System.nanoTime() + 20_000_000, false)));
        Waits.join(follower);
        assertThat(outcome.get()).isFalse();
        role.release();
    }

    @Test
    void anHeirWhoseWaitEndsConcurrentlyPassesTheRoleOn() {
        takeFirst();
        Flag first = new Flag();
        Flag second = new Flag();
        List<Thread> threads = new ArrayList<>();
        for (Flag flag : List.of(first, second)) {
            threads.add(Thread.ofPlatform().start(() -> role.await(flag, System.nanoTime() + FOREVER_NS, false)));
        }
        Waits.pass(Duration.ofMillis(20));
        first.come(); // the thread that was or will be made the heir may no longer need the role
        role.release();
        fabric.put(second);
        threads.forEach(Waits::join);
    }

    /** Takes the role before the standby thread can, which then sleeps until the fabric is armed. */
    private void takeFirst() {
        assertThat(role.take()).isTrue();
        role.start();
    }

    /** Starts a waiting thread and waits until it is parked, as the last of the followers. */
    private Thread follower(Flag flag, AtomicInteger came) {
        Thread thread = Thread.ofPlatform().daemon().start(() -> {
            if (role.await(flag, System.nanoTime() + PAST_EVERY_WAIT_NS, false)) {
                came.incrementAndGet();
            }
        });
        Waits.until("it is parked", () -> LockSupport.getBlocker(thread) == role);
        return thread;
    }

    @Test
    void anErrorInAPollEndsNeitherTheStandbyThreadNorTheWaitOfACaller() {
        role.start();
        for (int i = 0; i < 3; i++) {
            for (Thread.Builder builder : List.of(Thread.ofVirtual(), Thread.ofPlatform())) {
                Flag flag = new Flag();
                AtomicReference<@Nullable Boolean> over = new AtomicReference<>();
                Thread thread = builder.start(() -> over.set(role.await(flag, System.nanoTime() + FOREVER_NS, false)));
                fabric.defect.set(new AssertionError("a defect in a callback"));
                fabric.put(flag);
                Waits.join(thread);
                assertThat(over).hasValue(true);
            }
        }
    }

    @Test
    void theHeirIsWokenAndPolls() {
        takeFirst();
        AtomicInteger came = new AtomicInteger();
        Flag flag = new Flag();
        Thread heir = follower(flag, came);
        int polls = fabric.polls.get();
        role.release();
        // Nothing is armed and there is no event, so only a woken thread polls.
        Waits.until("the heir polls", () -> fabric.polls.get() > polls);
        fabric.put(flag);
        Waits.join(heir);
        assertThat(came).hasValue(1);
    }

    @Test
    void anHeirWhoseWaitHasEndedPassesTheRoleToTheNext() {
        takeFirst();
        AtomicInteger came = new AtomicInteger();
        Flag first = new Flag();
        Flag second = new Flag();
        List<Thread> threads = List.of(follower(first, came), follower(second, came));
        first.comeQuietly(); // so it is parked when it becomes the heir, and then finds that its wait has ended
        int polls = fabric.polls.get();
        role.release();
        Waits.join(threads.getFirst());
        Waits.until("the next polls", () -> fabric.polls.get() > polls);
        fabric.put(second);
        Waits.join(threads.getLast());
        assertThat(came).hasValue(2);
    }

    @Test
    void theLastHeirWhoseWaitHasEndedLeavesTheRoleToTheStandbyThread() {
        takeFirst();
        AtomicInteger came = new AtomicInteger();
        Flag first = new Flag();
        Thread heir = follower(first, came);
        Flag ofVirtual = new Flag();
        Thread virtual = Thread.ofVirtual().start(() -> {
            if (role.await(ofVirtual, System.nanoTime() + PAST_EVERY_WAIT_NS, false)) {
                came.incrementAndGet();
            }
        });
        first.comeQuietly();
        role.release();
        Waits.join(heir);
        fabric.put(ofVirtual); // a virtual thread cannot poll, so the fabric must be armed
        Waits.join(virtual);
        assertThat(came).hasValue(2);
        Waits.until("the wake-up is counted, after the standby thread has polled", () -> role.standbyWakeups() > 0);
        assertThat(role.standbyWakeups()).isEqualTo(1);
    }

    @Test
    void aThreadThatBlocksWithTheRoleIsWokenByAnotherThreadsSignal() {
        role.start();
        Flag flag = new Flag();
        Thread leader = Thread.ofPlatform().start(() -> role.await(flag, System.nanoTime() + FOREVER_NS, false));
        Waits.pass(Duration.ofMillis(20));
        flag.come();
        Waits.join(leader);
    }

    @Test
    void noEventIsLostWhileManyThreadsTakeThePollRoleInTurns() {
        role.start();
        Seeds.forEach(2, random -> {
            int waiters = 6;
            int rounds = 3_000;
            List<Thread> threads = new ArrayList<>();
            AtomicInteger done = new AtomicInteger();
            for (int i = 0; i < waiters; i++) {
                Random own = new Random(random.nextLong());
                Runnable body = () -> {
                    Flag flag = new Flag();
                    for (int round = 0; round < rounds; round++) {
                        flag.reset();
                        boolean held = own.nextInt(3) == 0 && role.take();
                        fabric.put(flag);
                        for (int spin = own.nextInt(100); spin > 0; spin--) {
                            Thread.onSpinWait();
                        }
                        if (!role.await(flag, System.nanoTime() + FOREVER_NS, held)) {
                            throw new AssertionError("round %d did not end".formatted(round));
                        }
                    }
                    done.incrementAndGet();
                };
                threads.add(
                        i % 3 == 2
                                ? Thread.ofVirtual().start(body)
                                : Thread.ofPlatform().start(body));
            }
            threads.forEach(Waits::join);
            assertThat(done).hasValue(waiters);
        });
    }
}
