package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.os.FutexWords;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Turns;
import dev.lite.session.waiting.VirtualWaits;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** {@link StartedCallsCases} through a channel on one host. */
class StartedHereTest extends StartedCallsCases {
    StartedHereTest() {
        super(new TestChannel(4));
    }

    @Override
    StartedCalls started() {
        return Inside.field(channel.caller.starter, "calls", StartedCalls.class);
    }

    private boolean isSleptOn(ReceivedRequest request) {
        return SlotWord.has(RawMemory.getIntVolatile(word(request)), SlotWord.SLEEPING);
    }

    /** The address of the word of the request's slot, whose number is in the lowest bits of the call's. */
    private long word(ReceivedRequest request) {
        int slot = (int) request.call() & (Long.SIZE - 1);
        return channel.memory.address() + ChannelArea.slotOffset(slot) + ChannelArea.WORD;
    }

    /** Else the watching thread takes a processor, and the server makes a system call for each reply. */
    @Test
    void theWatchingThreadSleepsOnlyForATickWhileAThreadIsExpectedToPoll() {
        try (ChannelCaller caller = callerOf(task -> new Thread())) { // this thread does its work
            VirtualWaits.Others watching = (VirtualWaits.Others) caller.starter;
            List<Object> ended = callAndPoll(caller);

            assertThat(caller.start(
                            NO_CONTEXT, TestChannel.longs(2), System.nanoTime(), TestChannel.LONG_NS, into(ended)))
                    .isTrue();
            ReceivedRequest request = channel.receive();
            long expectedNs = watching.announce(new FutexWords());
            watching.awoke();
            assertThat(expectedNs).isPositive().isLessThan(TimeUnit.MILLISECONDS.toNanos(10));
            assertThat(isSleptOn(request)).isFalse();

            Waits.until("no thread is expected any more", () -> !watching.arePolled());
            long unpolledNs = watching.announce(new FutexWords());
            watching.awoke();
            assertThat(unpolledNs).isEqualTo(ChannelMemory.SLEEP_NS_MAX);
            assertThat(isSleptOn(request)).isTrue();
            LinkCases.reply(channel, request);
            assertThat(watching.endOver()).isOne();
            assertThat(ended).hasSize(2);
        }
    }

    @Test
    void withoutCallsTheWatchingThreadSleepsForLongSoonAfterAThreadHasPolled() {
        try (ChannelCaller caller = callerOf(task -> new Thread())) {
            VirtualWaits.Others watching = (VirtualWaits.Others) caller.starter;
            List<Object> unused = callAndPoll(caller);
            Waits.until("it sleeps for long", () -> {
                assertThat(watching.endOver()).isZero();
                long sleepNs = watching.announce(new FutexWords());
                watching.awoke();
                return sleepNs >= ChannelMemory.SLEEP_NS_MAX;
            });
        }
    }

    /** The watching thread then still sleeps on the word of the slot, and is before this thread. */
    @Test
    void aThreadIsWokenAlsoIfItsSlotHadAStartedCallThatTimedOut() {
        List<Duration> late = new ArrayList<>();
        for (int round = 0; round < 5; round++) {
            try (TestChannel one = new TestChannel(1)) {
                List<Object> ended = new CopyOnWriteArrayList<>();
                assertThat(one.caller.start(
                                NO_CONTEXT, TestChannel.longs(1), System.nanoTime(), 50_000_000, into(ended)))
                        .isTrue();
                ReceivedRequest first = one.receive();
                Waits.until("it has timed out", () -> !ended.isEmpty());
                one.server.reply(first.call(), TestChannel.longs(-1));
                Thread waiting = TestChannel.start(false, () -> one.call(2, TestChannel.LONG_NS));
                ReceivedRequest second = one.receive();
                Waits.pass(Duration.ofMillis(10)); // it sleeps
                long repliedNs = System.nanoTime();
                one.server.reply(second.call(), TestChannel.longs(-2));
                Waits.join(waiting);
                late.add(Duration.ofNanos(System.nanoTime() - repliedNs));
            }
        }
        Collections.sort(late);
        assertThat(late.get(late.size() / 2)).as("the median of %s", late).isLessThan(Duration.ofMillis(300));
    }

    /** For example without memory. */
    @Test
    void anEndingThatFailsKeepsNeitherOtherCallsNorTheChannelOpen() {
        List<Object> ended = new CopyOnWriteArrayList<>();
        ChannelCaller.Ending failing = new ChannelCaller.Ending() {
            @Override
            public void replied(byte[] reply) {
                throw new AssertionError("answered");
            }

            @Override
            public void failed(Throwable failure) {
                throw new StackOverflowError("on purpose");
            }
        };
        for (int i = 0; i < 4; i++) {
            assertThat(channel.caller.start(
                            NO_CONTEXT,
                            TestChannel.longs(i),
                            System.nanoTime(),
                            TestChannel.LONG_NS,
                            i % 2 == 0 ? failing : into(ended)))
                    .isTrue();
        }
        channel.caller.close();
        assertThat(ended).hasSize(2).allSatisfy(end -> assertThat(end).isInstanceOf(ChannelEndedException.class));
        assertThat(channel.caller.awaitToldToEnd(0)).isTrue();
    }

    /** A call that ends while this thread polls. Returns its end. */
    private List<Object> callAndPoll(ChannelCaller caller) {
        List<Object> ended = new ArrayList<>();
        assertThat(caller.start(NO_CONTEXT, TestChannel.longs(1), System.nanoTime(), TestChannel.LONG_NS, into(ended)))
                .isTrue();
        LinkCases.reply(channel, channel.receive());
        caller.starter.newWait(() -> !ended.isEmpty()).await(System.nanoTime() + TestChannel.LONG_NS);
        assertThat(ended).hasSize(1);
        return ended;
    }

    private ChannelCaller callerOf(ThreadFactory watching) {
        return new ChannelCaller(
                TestChannel.mapAgain(channel.memory),
                channel.area,
                "shop/order at node-2",
                TestChannel.SPINS,
                new Turns(),
                watching);
    }

    private static ChannelCaller.Ending into(List<Object> ended) {
        return new ChannelCaller.Ending() {
            @Override
            public void replied(byte[] reply) {
                ended.add(reply);
            }

            @Override
            public void failed(Throwable failure) {
                ended.add(failure);
            }
        };
    }

    @Test
    void theWatchingThreadSleepsOnTheSlotsWhileNoThreadPolls() {
        CompletableFuture<byte[]> call = start(1, TestChannel.LONG_NS);
        ReceivedRequest request = channel.receive();
        Waits.until("the slot is slept on", () -> isSleptOn(request));
        CompletableFuture<Long> stage = call.thenApply(StartedCallsCases::number);
        LinkCases.reply(channel, request);
        Waits.until("the call has ended", stage::isDone);
        assertThat(stage.join()).isEqualTo(-1);
    }

    /** A server thread may be busy with a long request while another one sleeps. */
    @Test
    void aRequestThatNoServerTakesRingsAgain() {
        ReceivedRequest[] first = {null};
        Thread busy = TestChannel.start(false, () -> first[0] = channel.receive());
        CompletableFuture<byte[]> one = start(1, TestChannel.LONG_NS);
        Waits.join(busy);
        Thread other = Thread.ofPlatform().start(channel::serve);
        Waits.pass(Duration.ofMillis(20));
        for (int i = 2; i <= 100; i++) {
            CompletableFuture<byte[]> next = start(i, TestChannel.LONG_NS);
            Waits.until("call %d has ended".formatted(i), next::isDone);
        }
        LinkCases.reply(channel, first[0]);
        assertThat(number(one.join())).isEqualTo(-1);
        channel.caller.end("the test is over");
        Waits.join(other);
    }

    @Test
    void withoutAThreadThatWatchesNoCallBegins() {
        ThreadFactory none = task -> {
            throw new OutOfMemoryError("unable to create native thread");
        };
        List<Object> ended = new ArrayList<>();
        try (ChannelCaller caller = callerOf(none)) {
            for (int i = 0; i < 8; i++) {
                assertThatThrownBy(() -> caller.start(
                                NO_CONTEXT, TestChannel.longs(1), System.nanoTime(), TestChannel.LONG_NS, into(ended)))
                        .isInstanceOf(OutOfMemoryError.class);
            }
            assertThat(ended).isEmpty();
            assertThat(caller.isIdle()).isTrue();
        }
    }

    /** The memory must not be unmapped under a thread that polls, and no call may stay open. */
    @Test
    void closingEndsCallsThatThreadsPollFor() {
        Thread server = Thread.ofPlatform().start(channel::serve);
        List<Thread> callers = new ArrayList<>();
        List<Throwable> wrong = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            boolean virtual = i == 2;
            callers.add(TestChannel.start(virtual, () -> callUntilTheEnd(wrong)));
        }
        Waits.pass(Duration.ofMillis(50));
        channel.caller.close();
        callers.forEach(Waits::join);
        Waits.join(server);
        assertThat(wrong).isEmpty();
    }

    private void callUntilTheEnd(List<Throwable> wrong) {
        try {
            while (true) {
                CompletableFuture<byte[]> call = channel.caller.newFuture();
                if (starts(3, TestChannel.LONG_NS, call) && number(call.join()) != -3) {
                    throw new AssertionError("another reply");
                }
            }
        } catch (ChannelEndedException e) {
            // as expected
        } catch (RuntimeException | Error e) {
            if (!(e.getCause() instanceof ChannelEndedException)) {
                synchronized (wrong) {
                    wrong.add(e);
                }
            }
        }
    }

    @Test
    void aWrongWordEndsTheChannelAndTheCall() {
        CompletableFuture<byte[]> call = start(1, TestChannel.LONG_NS);
        ReceivedRequest request = channel.receive();
        int wrong = SlotWord.of(77, SlotWord.DONE);
        RawMemory.putIntVolatile(word(request), wrong);
        assertThatThrownBy(call::join)
                .hasCauseInstanceOf(ChannelEndedException.class)
                .hasMessageContaining(Integer.toString(wrong));
        assertThat(channel.caller.isEnded()).isTrue();
    }
}
