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

/** The role passes on, is held by one, and nothing that comes is left lying. */
class PollRoleTest {
    private static final long FOREVER_NS = Waits.seconds(15).toNanos();
    /** A follower that nobody wakes polls at its deadline: that must not be what the test waits for. */
    private static final long PAST_EVERY_WAIT_NS = Waits.seconds(120).toNanos();

    private final QueueFabric fabric = new QueueFabric();
    private final PollRole role = new PollRole(fabric, 50);

    @AfterEach
    void close() {
        role.close();
        assertThat(fabric.violation.get()).isNull();
    }

    /** What is put into it comes at a poll: waits that come true. No wait in it ends by time. */
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
                violation.set("two threads have the role");
            }
            if (Thread.currentThread().isVirtual()) {
                violation.set("a virtual thread has the role");
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
                    changed.await(); // never by time: whoever is to be woken is woken
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
        public void standBy(long timeoutNs) {
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

        /** Comes true, and leaves the signal for later. */
        void comeQuietly() {
            over = true;
        }

        void reset() {
            over = false;
        }
    }

    @Test
    void aThreadThatWaitsPollsItself() {
        role.start();
        Flag flag = new Flag();
        fabric.put(flag);
        assertThat(role.await(flag, System.nanoTime() + FOREVER_NS, role.take()))
                .isTrue();
    }

    @Test
    void aWaitEndsAtItsDeadline() {
        // The fabric of this test sleeps for ever, so somebody must have the role already.
        takeFirst();
        AtomicReference<@Nullable Boolean> outcome = new AtomicReference<>();
        Thread follower = Thread.ofPlatform()
                .start(() -> outcome.set(role.await(new Flag(), System.nanoTime() + 20_000_000, false)));
        Waits.join(follower);
        assertThat(outcome.get()).isFalse();
        role.release();
    }

    @Test
    void anHeirThatGaveUpPassesTheRoleOn() {
        takeFirst();
        Flag first = new Flag();
        Flag second = new Flag();
        List<Thread> threads = new ArrayList<>();
        for (Flag flag : List.of(first, second)) {
            threads.add(Thread.ofPlatform().start(() -> role.await(flag, System.nanoTime() + FOREVER_NS, false)));
        }
        Waits.pass(Duration.ofMillis(20));
        first.come(); // whichever was made the heir, or will be, may not need the role any more
        role.release();
        fabric.put(second);
        threads.forEach(Waits::join);
    }

    /** Takes the role before the thread that stands by can; that sleeps from then on until the fabric is armed. */
    private void takeFirst() {
        assertThat(role.take()).isTrue();
        role.start();
    }

    /** A thread that waits and is parked: the last of the followers. */
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
        // Nothing is armed and nothing came: only a thread that was woken polls.
        Waits.until("the heir polls", () -> fabric.polls.get() > polls);
        fabric.put(flag);
        Waits.join(heir);
        assertThat(came).hasValue(1);
    }

    @Test
    void anHeirThatNeedsTheRoleNoMorePassesItToTheNext() {
        takeFirst();
        AtomicInteger came = new AtomicInteger();
        Flag first = new Flag();
        Flag second = new Flag();
        List<Thread> threads = List.of(follower(first, came), follower(second, came));
        first.comeQuietly(); // so it is parked when it is made the heir, and finds that it waits for nothing any more
        int polls = fabric.polls.get();
        role.release();
        Waits.join(threads.getFirst());
        Waits.until("the next polls", () -> fabric.polls.get() > polls);
        fabric.put(second);
        Waits.join(threads.getLast());
        assertThat(came).hasValue(2);
    }

    @Test
    void theLastHeirThatNeedsTheRoleNoMoreLeavesItToWhoStandsBy() {
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
        fabric.put(ofVirtual); // whoever waits for it cannot poll, so the fabric must be armed
        Waits.join(virtual);
        assertThat(came).hasValue(2);
        Waits.until("it is counted, once it polls no more", () -> role.takenByStandBy() > 0);
        assertThat(role.takenByStandBy()).isEqualTo(1);
    }

    @Test
    void whoSleepsWithTheRoleIsWokenBySomebodyElsesSignal() {
        role.start();
        Flag flag = new Flag();
        Thread leader = Thread.ofPlatform().start(() -> role.await(flag, System.nanoTime() + FOREVER_NS, false));
        Waits.pass(Duration.ofMillis(20));
        flag.come();
        Waits.join(leader);
    }

    @Test
    void nothingIsLostWhileManyThreadsTakeThePollRoleInTurns() {
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
