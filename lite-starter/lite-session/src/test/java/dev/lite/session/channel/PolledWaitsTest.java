package dev.lite.session.channel;

import static dev.lite.session.channel.TestChannel.LONG_NS;
import static dev.lite.session.channel.TestChannel.SPINS;
import static dev.lite.session.channel.TestChannel.longs;
import static dev.lite.session.channel.TestChannel.number;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.os.FutexWords;
import dev.lite.session.waiting.PolledWaits;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Virtual threads that wait in several groups, for which one thread polls. Without spins it always parks. */
class PolledWaitsTest {
    private static final int GROUPS = 16;
    private static final int ROUNDS = 200;

    private final List<Served> served = new ArrayList<>();
    private PolledWaits waits = new PolledWaits("polls", 0);

    /** A function with one channel. */
    private record Served(TestChannel channel, ChannelGroup group) {
        void answer(ReceivedRequest request) {
            channel.server.reply(request.call(), longs(-number(request)));
        }
    }

    private Served serve(int spins) {
        TestChannel channel = new TestChannel(4, spins);
        Served one = new Served(channel, new ChannelGroup(ended -> {}, waits, spins));
        assertThat(one.group.add(channel.server)).isTrue();
        served.add(one);
        return one;
    }

    @AfterEach
    void close() {
        served.forEach(one -> one.group.close());
        waits.close();
        served.forEach(one -> one.channel.close());
    }

    private static Thread virtual(Runnable task) {
        return Thread.ofVirtual().start(task);
    }

    private static long deadlineNs() {
        return System.nanoTime() + LONG_NS;
    }

    /** A wait that is never over. */
    private static class Never implements PolledWaits.Wait {
        @Override
        public PolledWaits.Polled poll() {
            return PolledWaits.Polled.NOTHING;
        }

        @Override
        public boolean isReady() {
            return false;
        }

        @Override
        public boolean announce(FutexWords words) {
            return true;
        }
    }

    /** A wait that makes the polling thread fail, as when there is no memory for a thread. */
    private static final class Failing extends Never {
        @Override
        public PolledWaits.Polled poll() {
            throw new OutOfMemoryError("on purpose");
        }

        @Override
        public boolean isReady() {
            return true; // else the platform thread would sleep, if it looks first
        }
    }

    @Test
    void waitsParkAlsoAfterThePollingThreadFailed() {
        Waits.join(virtual(() -> waits.await(new Failing(), deadlineNs())));
        Thread waiting = virtual(() -> waits.await(new Never(), deadlineNs()));
        Waits.until("it parks", () -> waiting.getState() == Thread.State.WAITING);
        Waits.pass(Duration.ofMillis(50)); // and stays
        assertThat(waiting.getState()).isEqualTo(Thread.State.WAITING);
    }

    private void callAllInTurn() {
        for (int round = 1; round <= ROUNDS; round++) {
            for (Served one : served) {
                assertThat(one.channel.call(round, LONG_NS)).isEqualTo(-round);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, SPINS})
    void requestsOfManyGroupsAreTakenWhileTheirThreadsWait(int spins) {
        waits = new PolledWaits("polls", spins);
        AtomicInteger taken = new AtomicInteger();
        for (int i = 0; i < GROUPS; i++) {
            Served one = serve(spins);
            ReceivedRequest into = new ReceivedRequest(one.channel.area);
            Thread unused = virtual(() -> {
                while (!one.group.isEmpty()) {
                    if (one.group.serve(
                            into,
                            null,
                            request -> {
                                taken.incrementAndGet();
                                one.answer(request);
                                return true;
                            },
                            deadlineNs())) {
                        one.answer(into);
                    }
                }
            });
        }
        callAllInTurn();
        assertThat(taken).hasPositiveValue();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, SPINS})
    void virtualThreadsOfManyGroupsReceive(int spins) {
        waits = new PolledWaits("polls", spins);
        for (int i = 0; i < GROUPS; i++) {
            Served one = serve(spins);
            ReceivedRequest into = new ReceivedRequest(one.channel.area);
            Thread unused = virtual(() -> {
                while (!one.group.isEmpty()) {
                    if (one.group.receive(into, null, deadlineNs())) {
                        one.answer(into);
                    }
                }
            });
        }
        callAllInTurn();
    }

    @Test
    void aWaitThatBeginsWhileThePollingThreadIsParkedIsSeen() {
        Served first = serve(0);
        Thread waitsForEver = virtual(() ->
                first.group.receive(new ReceivedRequest(first.channel.area), null, System.nanoTime() + 2 * LONG_NS));
        Waits.until("it is parked", () -> first.channel.doorbell() == RequestBell.RING);

        Served second = serve(0);
        for (int i = 1; i <= ROUNDS; i++) {
            ReceivedRequest into = new ReceivedRequest(second.channel.area);
            Thread receives = virtual(() -> {
                assertThat(second.group.receive(into, null, deadlineNs())).isTrue();
                second.answer(into);
            });
            assertThat(second.channel.call(i, LONG_NS)).isEqualTo(-i);
            Waits.join(receives);
        }
        assertThat(waitsForEver.isAlive()).isTrue();
    }

    @Test
    void aTakerThatTakesNoMoreEndsTheWait() {
        Served one = serve(0);
        ReceivedRequest into = new ReceivedRequest(one.channel.area);
        List<Long> taken = new ArrayList<>();
        AtomicReference<Boolean> received = new AtomicReference<>();
        Thread thread = virtual(() -> received.set(one.group.serve(
                into,
                null,
                request -> {
                    taken.add(number(request));
                    one.answer(request);
                    return taken.size() < 2;
                },
                deadlineNs())));
        Waits.until("it waits", () -> one.channel.doorbell() == RequestBell.RING);
        assertThat(one.channel.call(1, LONG_NS)).isEqualTo(-1);
        assertThat(one.channel.call(2, LONG_NS)).isEqualTo(-2);
        Waits.join(thread);
        assertThat(received).hasValue(false);
        assertThat(taken).containsExactly(1L, 2L);
    }

    @Test
    void anExceptionOfATakerReachesItsThreadAndNoOther() {
        Served bad = serve(0);
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread thread = virtual(() -> {
            try {
                bad.group.serve(
                        new ReceivedRequest(bad.channel.area),
                        null,
                        request -> {
                            bad.answer(request);
                            throw new IllegalStateException("no room");
                        },
                        deadlineNs());
            } catch (IllegalStateException e) {
                thrown.set(e);
            }
        });
        Waits.until("it waits", () -> bad.channel.doorbell() == RequestBell.RING);
        assertThat(bad.channel.call(1, LONG_NS)).isEqualTo(-1);
        Waits.join(thread);
        assertThat(thrown.get()).hasMessage("no room");

        Served good = serve(0);
        Thread unused = virtual(() -> {
            ReceivedRequest into = new ReceivedRequest(good.channel.area);
            assertThat(good.group.receive(into, null, deadlineNs())).isTrue();
            good.answer(into);
        });
        assertThat(good.channel.call(2, LONG_NS)).isEqualTo(-2);
    }

    @Test
    void aWaitEndsAtItsDeadline() {
        Served one = serve(0);
        AtomicReference<Boolean> received = new AtomicReference<>();
        Waits.join(virtual(() -> received.set(
                one.group.receive(new ReceivedRequest(one.channel.area), null, System.nanoTime() + 1_000_000))));
        assertThat(received).hasValue(false);
    }

    @Test
    void waitsEndWithTheirGroupAndWithTheSession() {
        Served one = serve(0);
        Served other = serve(0);
        ReceivedRequest into = new ReceivedRequest(one.channel.area);
        Thread ofGroup = virtual(() -> one.group.receive(into, null, deadlineNs()));
        PolledWaits.Wait never = new Never();
        Thread ofSession = virtual(() -> waits.await(never, deadlineNs()));
        Waits.until("one waits", () -> one.channel.doorbell() == RequestBell.RING);
        one.group.close();
        Waits.join(ofGroup);
        assertThat(other.channel.server.isEnded()).isFalse();
        waits.close();
        Waits.join(ofSession);
        Waits.join(virtual(() -> waits.await(never, deadlineNs())));
    }
}
