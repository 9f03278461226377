package dev.lite.tier.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricCapabilities;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.FabricMemory;
import dev.lite.session.async.PollingHelp;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

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
        final AtomicInteger arms = new AtomicInteger();
        final AtomicInteger briefArms = new AtomicInteger();
        /** What the next poll throws. */
        final AtomicReference<@Nullable Error> defect = new AtomicReference<>();
        /** What the next {@link #arm} throws. */
        final AtomicReference<@Nullable Error> armDefect = new AtomicReference<>();
        /** Runs once when {@link #arm} has found nothing. */
        final AtomicReference<@Nullable Runnable> afterArm = new AtomicReference<>();
        /** Runs before each poll of a thread other than the standby thread. */
        volatile Runnable beforePoll = () -> {};
        /** What its name throws, which is part of each message. */
        volatile @Nullable Error nameDefect;
        /** What the next {@link #disarm} throws. */
        final AtomicReference<@Nullable Error> disarmDefect = new AtomicReference<>();

        private final AtomicReference<@Nullable Thread> holder = new AtomicReference<>();
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition changed = lock.newCondition();
        private boolean armed;
        private boolean called;
        private boolean kept;
        private boolean woken;
        private volatile boolean closed;
        /** The standby thread has slept. */
        volatile boolean standingBy;
        /** How long the standby thread would have slept each time. */
        final Deque<Long> standbyNs = new ConcurrentLinkedDeque<>();

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

        /** Whether the standby thread runs no further, although it is woken. */
        void keepStandby(boolean now) {
            lock.lock();
            try {
                kept = now;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }

        private static void throwOnce(AtomicReference<@Nullable Error> defect) {
            Error thrown = defect.getAndSet(null);
            if (thrown != null) {
                throw thrown;
            }
        }

        private void enter() {
            if (!holder.compareAndSet(null, Thread.currentThread())) {
                violation.set("two threads hold the role");
            }
        }

        @Override
        public int poll(int limit) {
            if (!Thread.currentThread().getName().startsWith("lite-poll-")) {
                beforePoll.run();
            }
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
            if (Thread.currentThread().isVirtual()) {
                violation.set("a virtual thread blocks in the fabric");
            }
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
            throwOnce(armDefect);
            enter();
            arms.incrementAndGet();
            boolean idle;
            lock.lock();
            try {
                armed = true;
                idle = queue.isEmpty();
            } finally {
                lock.unlock();
            }
            Runnable after = idle ? afterArm.getAndSet(null) : null;
            if (after != null) {
                after.run();
            }
            holder.set(null);
            return idle;
        }

        @Override
        public boolean armBriefly() {
            briefArms.incrementAndGet();
            return arm();
        }

        @Override
        public void disarm() {
            throwOnce(disarmDefect);
            lock.lock();
            try {
                armed = false;
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void awaitArmed(long timeoutNs) {
            standbyNs.add(timeoutNs);
            lock.lock();
            try {
                while ((!called || kept) && !closed) {
                    standingBy = true;
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
            Error thrown = nameDefect;
            if (thrown != null) {
                throw thrown;
            }
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

    private static class Flag extends PollWaiter {
        private final boolean request;
        private volatile boolean over;

        Flag() {
            this(false);
        }

        Flag(boolean request) {
            this.request = request;
        }

        @Override
        protected boolean isOver() {
            return over;
        }

        @Override
        protected boolean isRequest() {
            return request;
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
    void onlyAThreadWhoseWaitIsOverIsExpectedBackSoon() {
        takeFirst();
        Flag flag = new Flag();
        fabric.put(flag);
        assertThat(role.await(flag, System.nanoTime() + FOREVER_NS, true)).isTrue();
        assertThat(fabric.arms).hasValue(1);
        assertThat(fabric.briefArms).hasValue(1);
        assertThat(role.take()).isTrue();
        role.release();
        assertThat(fabric.arms).hasValue(2);
        assertThat(fabric.briefArms).hasValue(1);
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
    void aThreadWhoseWaitEndsAsTheRoleIsReleasedLeavesNoEventToNobody() {
        takeFirst();
        Flag first = new Flag();
        Flag second = new Flag();
        List<Thread> threads = new ArrayList<>();
        for (Flag flag : List.of(first, second)) {
            threads.add(Thread.ofPlatform().start(() -> role.await(flag, System.nanoTime() + FOREVER_NS, false)));
        }
        Waits.pass(Duration.ofMillis(20));
        first.come(); // the thread may take the role or look for it, and no longer needs it
        role.release();
        fabric.put(second);
        threads.forEach(Waits::join);
    }

    /** Takes the role before the standby thread can. That thread sleeps when this returns, until the fabric is armed. */
    private void takeFirst() {
        assertThat(role.take()).isTrue();
        role.start();
        Waits.until("the standby thread sleeps", () -> fabric.standingBy);
    }

    /** Starts a waiting thread and waits until it is parked. */
    private Thread follower(Flag flag, AtomicInteger came) {
        Thread thread = Thread.ofPlatform().daemon().start(() -> {
            if (role.await(flag, System.nanoTime() + PAST_EVERY_WAIT_NS, false)) {
                came.incrementAndGet();
            }
        });
        Waits.until("it is parked", () -> LockSupport.getBlocker(thread) == flag);
        return thread;
    }

    @Test
    void aPosterTakesItsInlineCompletionAndWakesNobody() {
        takeFirst();
        role.release();
        for (int count = 0; count < 300; count++) {
            assertThat(role.takeToPost()).isTrue();
            Flag flag = new Flag();
            fabric.put(flag);
            role.pollAndRelease(flag::isOver);
            assertThat(flag.isOver()).isTrue();
        }
        assertThat(role.standbyWakeups()).isZero();
        assertThat(fabric.polls).hasValue(300);
    }

    @Test
    void aCompletionThatComesAfterThePostersPollWakesTheStandbyThread() {
        takeFirst();
        role.release();
        for (int count = 0; count < 300; count++) {
            boolean held = role.takeToPost();
            Flag flag = new Flag();
            if (held) {
                role.pollAndRelease(flag::isOver);
            }
            fabric.put(flag);
            Waits.until("the standby thread has polled", flag::isOver);
        }
    }

    @Test
    void aVirtualThreadDoesNotTakeTheRoleToPost() {
        takeFirst();
        role.release();
        AtomicReference<@Nullable Boolean> held = new AtomicReference<>();
        Waits.join(Thread.ofVirtual().start(() -> held.set(role.takeToPost())));
        assertThat(held).hasValue(false);
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
    void anErrorInArmLeavesTheRoleToTheStandbyThread() {
        takeFirst();
        fabric.armDefect.set(new AssertionError("a defect of the driver"));
        role.release();
        putAndAwait();
        fabric.armDefect.set(new AssertionError("a defect of the driver"));
        putAndAwait(); // then the standby thread arms
        Waits.until("it has met the defect", () -> fabric.armDefect.get() == null);
        putAndAwait();
    }

    @Test
    void anErrorInDisarmKeepsNobodyFromTheRole() {
        takeFirst();
        role.release();
        fabric.disarmDefect.set(new AssertionError("a defect of the driver"));
        putAndAwait(); // the standby thread disarms
        assertThat(fabric.disarmDefect.get()).isNull();
        Waits.until("it has released the role", role::take);
        role.release();
        fabric.disarmDefect.set(new AssertionError("a defect of the driver"));
        assertThat(role.take()).isTrue();
        role.release();
        putAndAwait();
    }

    /** The standby thread takes the event. */
    private void putAndAwait() {
        Flag flag = new Flag();
        fabric.put(flag);
        Waits.until("the standby thread has polled", flag::isOver);
    }

    /** A wait whose condition can be asked only so often, as on a stack that is nearly full. */
    private static class Failing extends Flag {
        private final AtomicInteger left;

        Failing(int asked) {
            left = new AtomicInteger(asked);
        }

        @Override
        protected boolean isOver() {
            if (left.decrementAndGet() < 0) {
                throw new StackOverflowError("on purpose");
            }
            return super.isOver();
        }
    }

    private void expectFailure(PollWaiter failing, boolean held) {
        assertThatThrownBy(() -> role.await(failing, System.nanoTime() + FOREVER_NS, held))
                .isInstanceOf(StackOverflowError.class);
        Waits.until("the role is free", role::take);
        role.release();
    }

    /** Else nobody would poll any more. */
    @Test
    void aThreadWhoseConditionFailsDoesNotKeepTheRole() {
        takeFirst();
        role.release();
        for (int asked = 0; asked < 4; asked++) {
            assertThat(role.take()).isTrue();
            expectFailure(new Failing(asked), true);
            expectFailure(new Failing(asked), false);
        }
    }

    @Test
    void aThreadWhoseConditionFailsWhenItHasJustTakenTheRoleDoesNotKeepIt() {
        takeFirst();
        expectFailure(
                new Failing(3) {
                    @Override
                    protected boolean isOver() {
                        boolean over = super.isOver();
                        if (super.left.get() == 0) {
                            role.release(); // it looks, and takes it next
                        }
                        return over;
                    }
                },
                false);
    }

    /** The JVM throws the same object again when it has no memory for another one. */
    @Test
    void aMessageThatFailsWithTheSameErrorEndsNeitherTheStandbyThreadNorTheWaitOfACaller() {
        takeFirst();
        AssertionError error = new AssertionError("on purpose");
        fabric.nameDefect = error;
        fabric.defect.set(error);
        Flag flag = new Flag();
        fabric.put(new Flag());
        fabric.put(flag);
        assertThat(role.await(flag, System.nanoTime() + FOREVER_NS, true)).isTrue();
        fabric.defect.set(error);
        putAndAwait();
        fabric.nameDefect = null;
    }

    @Nested
    @Isolated("it replaces the process' handler of uncaught exceptions")
    class WithoutMemoryForAReport {
        @Test
        void anErrorInAPollEndsNeitherTheStandbyThreadNorTheWaitOfACaller() {
            Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
            Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
                throw new OutOfMemoryError("no memory for a report, on purpose");
            });
            try {
                role.start();
                for (Thread.Builder builder : List.of(Thread.ofVirtual(), Thread.ofPlatform())) {
                    Flag flag = new Flag();
                    AtomicReference<@Nullable Boolean> over = new AtomicReference<>();
                    fabric.defect.set(new OutOfMemoryError("on purpose"));
                    Thread thread =
                            builder.start(() -> over.set(role.await(flag, System.nanoTime() + FOREVER_NS, false)));
                    fabric.put(new Flag());
                    Waits.until("a thread has polled", () -> fabric.defect.get() == null);
                    fabric.put(flag);
                    Waits.join(thread);
                    assertThat(over).hasValue(true);
                }
            } finally {
                Thread.setDefaultUncaughtExceptionHandler(before);
            }
        }
    }

    @Test
    void aParkedThreadIsWokenForItsOwnEventOnly() {
        takeFirst();
        AtomicInteger came = new AtomicInteger();
        List<Flag> flags = List.of(new Flag(), new Flag());
        List<Thread> threads = flags.stream().map(flag -> follower(flag, came)).toList();
        int polls = fabric.polls.get();
        role.release();
        // The holder found nothing while it armed the fabric; nobody was woken to poll.
        assertThat(fabric.polls.get()).isEqualTo(polls);
        for (int i = 0; i < 2; i++) {
            assertThat(came).hasValue(i);
            fabric.put(flags.get(i));
            Waits.join(threads.get(i));
        }
        assertThat(came).hasValue(2);
    }

    @Test
    void anEventThatWakesTheStandbyThreadWhileTheRoleIsNotYetFreeIsHandled() {
        takeFirst();
        AtomicInteger came = new AtomicInteger();
        Flag flag = new Flag();
        Thread waiting = follower(flag, came);
        fabric.afterArm.set(() -> {
            int waits = fabric.standbyNs.size();
            fabric.put(flag);
            Waits.until("the standby thread has found the role held", () -> fabric.standbyNs.size() > waits);
        });
        role.release();
        Waits.join(waiting);
        assertThat(came).hasValue(1);
    }

    @Test
    void aHolderThatLeavesWhileEventsComeLeavesThePollToTheStandbyThread() {
        takeFirst();
        AtomicInteger polls = new AtomicInteger();
        AtomicBoolean endless = new AtomicBoolean(true);
        fabric.put(new Flag() {
            @Override
            void come() {
                if (endless.get()) {
                    fabric.queue.add(this);
                }
            }
        });
        fabric.beforePoll = () -> {
            int waits = fabric.standbyNs.size();
            if (polls.incrementAndGet() == 8) {
                fabric.wakeup();
                Waits.until("the standby thread has found the role held", () -> fabric.standbyNs.size() > waits);
                fabric.keepStandby(true);
            }
            assertThat(polls).hasValueLessThan(100);
        };
        role.release();
        assertThat(polls).as("polls of the leaving thread").hasValue(8);
        fabric.keepStandby(false);
        int all = fabric.polls.get();
        Waits.until("the standby thread polls", () -> fabric.polls.get() > all);
        endless.set(false);
    }

    @Test
    void aHolderThatKeptTheStandbyThreadFromPollingArmsTheFabricInAnyCase() {
        takeFirst();
        int waits = fabric.standbyNs.size();
        fabric.wakeup();
        Waits.until("the standby thread has found the role held", () -> fabric.standbyNs.size() > waits);
        role.releaseBriefly();
        assertThat(fabric.briefArms).hasValue(0);
        assertThat(fabric.arms).hasValue(1);
        assertThat(role.take()).isTrue();
        role.releaseBriefly();
        assertThat(fabric.briefArms).as("later again").hasValue(1);
    }

    /** Its thread stops when it looks for the role, until the test lets it go on. */
    private final class Stopped extends Flag {
        private final CountDownLatch looks = new CountDownLatch(1);
        private final CountDownLatch goOn = new CountDownLatch(1);
        /** So many others are stopped. */
        private final int others;

        private final Thread thread = Thread.ofPlatform()
                .daemon()
                .unstarted(() -> role.await(this, System.nanoTime() + PAST_EVERY_WAIT_NS, false));

        Stopped() {
            this(0);
        }

        Stopped(int others) {
            this.others = others;
        }

        @Override
        protected boolean isOver() {
            if (Thread.currentThread() == thread && role.looking() > others) {
                looks.countDown();
                Waits.until("the test lets it go on", () -> goOn.getCount() == 0);
            }
            return super.isOver();
        }

        void startAndStop() {
            thread.start();
            Waits.until("it looks", () -> looks.getCount() == 0);
        }
    }

    @Test
    void aReleasedRoleGoesToAThreadThatIsAwakeAndTheFabricIsNotArmed() {
        takeFirst();
        Stopped awake = new Stopped();
        awake.startAndStop();
        role.release();
        awake.goOn.countDown();
        Waits.until("it polls", () -> fabric.polls.get() > 0);
        assertThat(fabric.arms).hasValue(0);
        fabric.put(awake);
        Waits.join(awake.thread);
        assertThat(fabric.arms).hasValue(1);
    }

    @Test
    void aHolderThatFindsNothingLeavesTheRoleToAnotherThreadThatIsAwake() {
        Flag flag = new Flag();
        Thread leader = Thread.ofPlatform().start(() -> role.await(flag, System.nanoTime() + FOREVER_NS, false));
        Waits.until("it leads", () -> fabric.polls.get() > 0);
        Stopped awake = new Stopped();
        awake.startAndStop();
        role.wakeup();
        Waits.until("it parks, because the other one is awake", () -> leader.getState() == Thread.State.TIMED_WAITING);
        assertThat(role.take()).isTrue();
        role.release();
        fabric.put(flag);
        fabric.put(awake);
        awake.goOn.countDown();
        Waits.join(awake.thread);
        Waits.join(leader);
    }

    @Test
    void whileTwoThreadsAreAwakeAThirdThatWaitsForARequestParksAtOnce() {
        takeFirst();
        Stopped one = new Stopped();
        one.startAndStop();
        AtomicInteger looks = new AtomicInteger();
        for (boolean second : new boolean[] {true, false}) {
            Stopped two = new Stopped(1);
            if (second) {
                two.startAndStop();
            }
            looks.set(0);
            Flag request = new Flag(true) {
                @Override
                protected boolean isOver() {
                    looks.incrementAndGet();
                    return super.isOver();
                }
            };
            Thread waiting =
                    Thread.ofPlatform().start(() -> role.await(request, System.nanoTime() + FOREVER_NS, false));
            Waits.until("it parks", () -> waiting.getState() == Thread.State.TIMED_WAITING);
            if (second) {
                assertThat(looks).hasValueLessThan(5);
            } else {
                assertThat(looks).as("beside one it looks").hasValueGreaterThan(5);
            }
            request.come();
            Waits.join(waiting);
            if (second) {
                two.comeQuietly();
                two.goOn.countDown();
                Waits.join(two.thread);
            }
        }
        one.comeQuietly();
        one.goOn.countDown();
        Waits.join(one.thread);
        role.release();
    }

    @Test
    void theLastThreadThatStopsLookingArmsTheFabric() {
        takeFirst();
        Stopped awake = new Stopped();
        awake.startAndStop();
        role.release();
        assertThat(fabric.arms).hasValue(0);
        awake.comeQuietly();
        awake.goOn.countDown();
        Waits.join(awake.thread);
        assertThat(fabric.arms).hasValue(1);
        assertThat(fabric.polls).hasValue(0);
    }

    @Test
    void theStandbyThreadPollsForAVirtualThreadWhenTheLastWaitingThreadHasLeft() {
        takeFirst();
        AtomicInteger came = new AtomicInteger();
        Flag first = new Flag();
        Thread follower = follower(first, came);
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

    @Test
    void aThreadThatWaitsForAsynchronousOperationsTakesTheirEventsItself() {
        takeFirst();
        role.release();
        LastRole last = new LastRole();
        assertThat(last.newWait(() -> true)).as("a wait before any operation").isNull();
        last.used(role);
        for (int round = 0; round < 100; round++) {
            Flag flag = new Flag();
            fabric.queue.add(flag); // quietly: the standby thread does not wake up
            PollingHelp.Wait wait = Objects.requireNonNull(last.newWait(flag::isOver));
            wait.await(System.nanoTime() + PAST_EVERY_WAIT_NS);
            assertThat(flag.isOver()).isTrue();
            assertThat(role.wasMine()).isTrue();
        }
        assertThat(role.standbyWakeups()).isZero();
    }

    @Test
    void aThreadThatWaitsForAsynchronousOperationsIsWokenByASignal() {
        role.start();
        AtomicBoolean over = new AtomicBoolean();
        PollingHelp.Wait wait = role.newWait(over::get);
        Thread waiting = Thread.ofPlatform().start(() -> wait.await(System.nanoTime() + PAST_EVERY_WAIT_NS));
        // In the fabric without a timeout, or parked with one if the standby thread has taken the role first.
        Waits.until(
                "it sleeps",
                () -> waiting.getState() == Thread.State.WAITING || waiting.getState() == Thread.State.TIMED_WAITING);
        over.set(true);
        wait.signal();
        Waits.join(waiting);
        assertThat(role.wasMine()).isFalse();
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
                boolean request = own.nextBoolean();
                Runnable body = () -> {
                    Flag flag = new Flag(request);
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
