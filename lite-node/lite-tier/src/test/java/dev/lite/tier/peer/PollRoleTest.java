package dev.lite.tier.peer;

import static dev.lite.tier.peer.PollRoleFixture.FOREVER_NS;
import static dev.lite.tier.peer.PollRoleFixture.PAST_EVERY_WAIT_NS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.session.async.PollingHelp;
import dev.lite.testing.Waits;
import dev.lite.tier.peer.QueueFabric.Flag;
import dev.lite.tier.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** The poll role: one thread at a time holds it, it is passed on, and no event is left unhandled. */
class PollRoleTest {
    @AutoClose
    private final PollRoleFixture fixture = new PollRoleFixture();

    private final QueueFabric fabric = fixture.fabric;
    private final PollRole role = fixture.role;

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
        fixture.takeFirst();
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
        fixture.takeFirst();
        AtomicReference<@Nullable Boolean> outcome = new AtomicReference<>();
        Thread follower = Thread.ofPlatform()
                .start(() -> outcome.set(role.await(new Flag(), System.nanoTime() + 20_000_000, false)));
        Waits.join(follower);
        assertThat(outcome.get()).isFalse();
        role.release();
    }

    @Test
    void aThreadWhoseWaitEndsAsTheRoleIsReleasedLeavesNoEventToNobody() {
        fixture.takeFirst();
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

    @Test
    void aPosterTakesItsInlineCompletionAndWakesNobody() {
        fixture.takeFirst();
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
        fixture.takeFirst();
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
    void aParkedThreadIsWokenForItsOwnEventOnly() {
        fixture.takeFirst();
        AtomicInteger came = new AtomicInteger();
        List<Flag> flags = List.of(new Flag(), new Flag());
        List<Thread> threads =
                flags.stream().map(flag -> fixture.follower(flag, came)).toList();
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
        fixture.takeFirst();
        AtomicInteger came = new AtomicInteger();
        Flag flag = new Flag();
        Thread waiting = fixture.follower(flag, came);
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
        fixture.takeFirst();
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
        fixture.takeFirst();
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
        fixture.takeFirst();
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
        fixture.takeFirst();
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
        fixture.takeFirst();
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
    void aThreadThatWaitsForAsynchronousOperationsTakesTheirEventsItself() {
        fixture.takeFirst();
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
