package dev.lite.session.channel;

import static dev.lite.session.channel.TestChannel.LONG_NS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LiteTimeoutException;
import dev.lite.session.waiting.PolledWaits;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Phaser;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Channels between hosts: which thread polls, which ones sleep, and that a message wakes the thread that waits for it. */
class LinkWaitsTest extends LinkCases {
    /** A call that takes so long has slept for a second, the longest time, or there was a stall of the machine. */
    private static final long SLEPT_NS = 900_000_000;

    @ParameterizedTest
    @ValueSource(ints = {0, TestChannel.SPINS})
    void aTakerTakesTheRequestsOfAVirtualThread(int spins) {
        TestChannel channel = channel(8, spins);
        AtomicInteger taken = new AtomicInteger();
        Thread serving = TestChannel.start(true, () -> serveByTaker(channel, taken));
        AtomicInteger right = new AtomicInteger();
        List<Thread> calling = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            long number = i;
            calling.add(TestChannel.start(i % 2 == 0, () -> {
                for (int round = 0; round < 300; round++) {
                    if (channel.call(number, LONG_NS) == -number) {
                        right.incrementAndGet();
                    }
                }
            }));
        }
        calling.forEach(Waits::join);
        assertThat(right).hasValue(8 * 300);
        assertThat(taken).hasPositiveValue();
        channel.caller.end("the test is over");
        Waits.join(serving);
    }

    /** Answers until the channel ends; counts what the polling thread answers. */
    private static void serveByTaker(TestChannel channel, AtomicInteger taken) {
        ReceivedRequest request = new ReceivedRequest(channel.area);
        while (!channel.server.isEnded()) {
            boolean received = channel.group.serve(
                    request,
                    null,
                    its -> {
                        taken.incrementAndGet();
                        reply(channel, its);
                        return true;
                    },
                    System.nanoTime() + LONG_NS);
            if (received) {
                reply(channel, request);
            }
        }
    }

    /** The wait for the connection lasts up to a second if nothing wakes it. */
    @Test
    void aCallerThatSleepsIsWokenWhenAnotherThreadReceivesItsReply() {
        TestChannel channel = channel(2, 0);
        AtomicReference<@Nullable Throwable> late = new AtomicReference<>();
        Thread lateCall =
                callIn(false, channel, 1, Waits.seconds(1).toNanos(), late); // another thread must receive it in time
        ReceivedRequest unanswered = channel.receive();
        Waits.join(lateCall);
        assertThat(late.get()).isInstanceOf(LiteTimeoutException.class);
        AtomicBoolean over = new AtomicBoolean();
        Thread receiving = TestChannel.start(false, () -> {
            while (!over.get()
                    && !channel.caller.isIdle()) { // receives, since the server may have dropped the late call
                Thread.onSpinWait();
            }
        });
        int slept = 0; // rounds, not their time: a stall of the machine, however long, makes one round slow
        for (int round = 0; round < 10; round++) {
            AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
            long beginNs = System.nanoTime();
            Thread call = callIn(false, channel, round, LONG_NS, thrown);
            ReceivedRequest request = channel.receive();
            Waits.pass(Duration.ofMillis(10)); // until the caller sleeps
            reply(channel, request);
            Waits.join(call);
            slept += System.nanoTime() - beginNs > SLEPT_NS ? 1 : 0;
            assertThat(thrown.get()).isNull();
        }
        assertThat(slept).as("calls that took a second, the longest sleep").isLessThan(3);
        over.set(true);
        Waits.join(receiving);
        reply(channel, unanswered);
    }

    /** A thread that polls for one of them polls for all. */
    @ParameterizedTest
    @CsvSource({"0,8", "200,8", "200,1"})
    void handlersOfManyFunctionsGetTheirOwnRequests(int spins, int slots) {
        List<TestChannel> functions = new ArrayList<>();
        List<Thread> serving = new ArrayList<>();
        AtomicInteger taken = new AtomicInteger();
        for (int i = 0; i < 2 * ReadyLinks.MANY; i++) {
            TestChannel channel = channel(slots, spins);
            functions.add(channel);
            serving.add(TestChannel.start(true, () -> serveByTaker(channel, taken)));
        }
        AtomicInteger right = new AtomicInteger();
        for (int round = 0; functions.size() > ReadyLinks.MANY - 2; round++) {
            List<Thread> callers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                Random random = new Random(round * 3 + i);
                callers.add(TestChannel.start(i == 0, () -> {
                    for (int call = 1; call <= 200; call++) {
                        TestChannel channel = functions.get(random.nextInt(functions.size()));
                        right.addAndGet(channel.call(call, LONG_NS) == -call ? 1 : 0);
                    }
                }));
            }
            callers.forEach(Waits::join);
            assertThat(right.getAndSet(0)).isEqualTo(600);
            TestChannel ended = functions.removeFirst();
            if (round % 2 == 0) {
                ended.caller.end("the test needs it no more");
            } else {
                ended.close();
            }
            Waits.join(serving.removeFirst());
        }
        assertThat(taken).hasPositiveValue();
        functions.forEach(channel -> channel.caller.end("the test is over"));
        serving.forEach(Waits::join);
    }

    /** The thread that polls for handlers leaves other functions to their own threads. */
    @Test
    void aThreadThatSleepsInReceiveGetsItsRequestBesideBusyHandlers() {
        AtomicInteger taken = new AtomicInteger();
        AtomicBoolean over = new AtomicBoolean();
        List<TestChannel> handled = new ArrayList<>();
        List<Thread> serving = new ArrayList<>();
        List<Thread> calling = new ArrayList<>();
        for (int i = 1; i < ReadyLinks.MANY; i++) {
            TestChannel busy = channel(8, TestChannel.SPINS);
            handled.add(busy);
            serving.add(TestChannel.start(true, () -> serveByTaker(busy, taken)));
        }
        TestChannel received = channel(8, TestChannel.SPINS);
        for (TestChannel busy : handled) {
            calling.add(TestChannel.start(false, () -> {
                while (!over.get()) {
                    busy.call(1, LONG_NS);
                }
            }));
        }
        for (int round = 0; round < 10; round++) {
            CountDownLatch release = new CountDownLatch(1);
            List<Thread> receiving = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                receiving.add(TestChannel.start(false, () -> {
                    ReceivedRequest request = received.receive();
                    if (TestChannel.number(request) == 1) {
                        Waits.await(release);
                    }
                    reply(received, request);
                }));
            }
            Waits.pass(Duration.ofMillis(5)); // until both sleep
            AtomicReference<@Nullable Throwable> held = new AtomicReference<>();
            Thread heldCall = callIn(false, received, 1, LONG_NS, held);
            Waits.pass(Duration.ofMillis(5)); // until one has it
            assertThat(received.call(2, Waits.seconds(0.5).toNanos())).isEqualTo(-2);
            release.countDown();
            Waits.join(heldCall);
            assertThat(held.get()).isNull();
            receiving.forEach(Waits::join);
        }
        over.set(true);
        calling.forEach(Waits::join);
        assertThat(taken).hasPositiveValue();
        handled.forEach(busy -> busy.caller.end("the test is over"));
        serving.forEach(Waits::join);
    }

    /** One thread polls for at most 64 waits of an application. */
    @Test
    void virtualCallersBeyondThosePolledForGetTheirRepliesToo() {
        PolledWaits waits = new PolledWaits("calls", TestChannel.SPINS);
        ChannelArea area = new ChannelArea(ChannelArea.SLOTS_MAX, 1024);
        TestChannel slow = TestChannel.linked(area, waits, watch);
        channels.add(slow);
        TestChannel quick = TestChannel.linked(area, waits, watch);
        channels.add(quick);
        List<ReceivedRequest> unanswered = new ArrayList<>();
        List<Thread> slowCalls = new ArrayList<>();
        AtomicInteger right = new AtomicInteger();
        for (int i = 0; i < area.slots(); i++) {
            slowCalls.add(TestChannel.start(true, () -> right.addAndGet(slow.call(1, LONG_NS) == -1 ? 1 : 0)));
            unanswered.add(slow.receive());
        }
        Thread server = TestChannel.start(false, quick::serve);
        List<Thread> quickCalls = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            quickCalls.add(TestChannel.start(true, () -> {
                for (int call = 1; call <= 20; call++) {
                    right.addAndGet(quick.call(call, Waits.seconds(2).toNanos()) == -call ? 1 : 0);
                }
            }));
        }
        quickCalls.forEach(Waits::join);
        unanswered.forEach(request -> reply(slow, request));
        slowCalls.forEach(Waits::join);
        assertThat(right).hasValue(area.slots() + 10 * 20);
        quick.caller.end("the test is over");
        Waits.join(server);
        waits.close();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 200})
    void theThreadThatPollsWakesOneThatSleepsToPollInItsPlace(int spins) {
        TestChannel channel = channel(3, spins);
        CallerLink link = Objects.requireNonNull(channel.caller.link);
        for (int round = 0; round < 5; round++) {
            List<AtomicReference<@Nullable Throwable>> thrown = new ArrayList<>();
            List<Thread> calls = new ArrayList<>();
            List<ReceivedRequest> requests = new ArrayList<>();
            for (int i = 0; i < 3; i++) { // the first one polls
                thrown.add(new AtomicReference<>());
                calls.add(callIn(false, channel, i, LONG_NS, thrown.get(i)));
                requests.add(channel.receive());
                Waits.pass(Duration.ofMillis(5)); // until it sleeps
            }
            for (int i = 0; i < 3; i++) {
                Waits.until("a thread polls", link.role::isLed);
                reply(channel, requests.get(i));
                Waits.join(calls.get(i));
                assertThat(thrown.get(i).get()).isNull();
            }
            assertThat(link.role.isLed()).isFalse();
        }
    }

    /** Three threads call together; two get their replies at once, and one of these polled. The other one may sleep by then. */
    @ParameterizedTest
    @ValueSource(ints = {0, 20})
    void noReplyWaitsForAThreadThatHasStoppedPolling(int spins) {
        int rounds = 3000;
        int threads = 3;
        TestChannel channel = channel(threads, spins);
        Thread server = TestChannel.start(false, () -> serveTogether(channel, threads));
        Phaser together = new Phaser(threads);
        AtomicInteger wrong = new AtomicInteger();
        Set<Integer> slept =
                ConcurrentHashMap
                        .newKeySet(); // rounds, not calls: a stall of the machine makes all calls of a round slow
        List<Thread> callers = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int first = i * rounds;
            callers.add(TestChannel.start(false, () -> {
                for (int call = first; call < first + rounds; call++) {
                    together.arriveAndAwaitAdvance();
                    long beginNs = System.nanoTime();
                    wrong.addAndGet(channel.call(call, LONG_NS) == -call ? 0 : 1);
                    if (System.nanoTime() - beginNs > SLEPT_NS) {
                        slept.add(call - first);
                    }
                }
            }));
        }
        callers.forEach(Waits::join);
        channel.caller.end("the test is over");
        Waits.join(server);
        assertThat(wrong).hasValue(0);
        assertThat(slept)
                .as("rounds with a call that took a second, the longest sleep")
                .hasSizeLessThan(4);
    }

    /** Answers all requests but the last one together, and that one a little later. */
    private static void serveTogether(TestChannel channel, int together) {
        Random random = new Random(7);
        List<ReceivedRequest> requests = new ArrayList<>();
        try {
            while (true) {
                requests.add(channel.receive());
                if (requests.size() < together) {
                    continue;
                }
                ReceivedRequest last = requests.removeLast();
                requests.forEach(request -> reply(channel, request));
                requests.clear();
                long untilNs = System.nanoTime() + random.nextInt(100_000);
                while (System.nanoTime() - untilNs < 0) {
                    Thread.onSpinWait();
                }
                reply(channel, last);
            }
        } catch (ChannelEndedException e) {
            // the end
        }
    }

    @ParameterizedTest
    @CsvSource({"0,false", "200,false", "0,true", "200,true"})
    void aRequestDoesNotWaitForAThreadThatIsBusyWithAnotherOne(int spins, boolean virtualCallers) {
        TestChannel channel = channel(4, spins);
        int rounds = 10;
        List<CountDownLatch> releases = new ArrayList<>();
        for (int i = 0; i < rounds; i++) {
            releases.add(new CountDownLatch(1));
        }
        List<Thread> serving = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            serving.add(serve(channel, request -> {
                int number = (int) TestChannel.number(request);
                if (number < rounds) {
                    Waits.await(releases.get(number));
                }
                reply(channel, request);
            }));
        }
        long beginNs = System.nanoTime();
        for (int round = 0; round < rounds; round++) {
            AtomicReference<@Nullable Throwable> slow = new AtomicReference<>();
            AtomicReference<@Nullable Throwable> fast = new AtomicReference<>();
            Thread slowCall = callIn(virtualCallers, channel, round, LONG_NS, slow);
            Waits.join(callIn(virtualCallers, channel, rounds, LONG_NS, fast));
            releases.get(round).countDown();
            Waits.join(slowCall);
            assertThat(fast.get()).isNull();
            assertThat(slow.get()).isNull();
        }
        // Sleeps last up to a second if nothing ends them.
        assertThat(Duration.ofNanos(System.nanoTime() - beginNs)).isLessThan(Waits.seconds(0.3 * rounds));
        channel.caller.end("the test is over");
        serving.forEach(Waits::join);
    }
}
