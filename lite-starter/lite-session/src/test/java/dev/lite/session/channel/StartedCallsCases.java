package dev.lite.session.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.testing.Inside;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls through a channel that no thread waits for. */
@Timeout(120)
abstract class StartedCallsCases {
    static final byte[] NO_CONTEXT = {};
    private static final long SHORT_NS = TimeUnit.MILLISECONDS.toNanos(30);

    final TestChannel channel;

    /** @param channel with four slots; closed at the end */
    StartedCallsCases(TestChannel channel) {
        this.channel = channel;
    }

    @AfterEach
    void close() {
        channel.close();
    }

    /** What keeps the deadlines. */
    abstract StartedCalls started();

    /** Starts a call with a number. */
    CompletableFuture<byte[]> start(long number, long timeoutNs) {
        CompletableFuture<byte[]> future = channel.caller.newFuture();
        assertThat(starts(number, timeoutNs, future)).as("a slot is free").isTrue();
        return future;
    }

    boolean starts(long number, long timeoutNs, CompletableFuture<byte[]> future) {
        ChannelCaller.Ending ending = new ChannelCaller.Ending() {
            @Override
            public void replied(byte[] reply) {
                channel.caller.complete(future, () -> future.complete(reply));
            }

            @Override
            public void failed(Throwable failure) {
                channel.caller.complete(future, () -> future.completeExceptionally(failure));
            }
        };
        return channel.caller.start(NO_CONTEXT, TestChannel.longs(number), System.nanoTime(), timeoutNs, ending);
    }

    static long number(byte[] reply) {
        return MemorySegment.ofArray(reply).get(ValueLayout.JAVA_LONG_UNALIGNED, 0);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void aThreadKeepsSomeUnderWayAndWaitsForTheOldest(int underWay) {
        Thread server = Thread.ofPlatform().start(channel::serve);
        ArrayDeque<CompletableFuture<byte[]>> calls = new ArrayDeque<>();
        long oldest = 1;
        for (long i = 1; i <= 5000; i++) {
            calls.add(start(i, TestChannel.LONG_NS));
            if (calls.size() == underWay) {
                assertThat(number(calls.remove().join())).isEqualTo(-oldest);
                oldest++;
            }
        }
        for (CompletableFuture<byte[]> call : calls) {
            assertThat(number(call.join())).isEqualTo(-oldest);
            oldest++;
        }
        channel.caller.end("the test is over");
        Waits.join(server);
    }

    @Test
    void callsEndThoughNobodyWaitsForThem() {
        Thread server = Thread.ofPlatform().start(channel::serve);
        for (long i = 1; i <= 200; i++) {
            CompletableFuture<byte[]> call = start(i, TestChannel.LONG_NS);
            CompletableFuture<Long> stage = call.thenApply(StartedCallsCases::number);
            Waits.until("the call has ended", stage::isDone);
            assertThat(stage.join()).isEqualTo(-i);
        }
        channel.caller.end("the test is over");
        Waits.join(server);
    }

    @Test
    void theyShareSlotsAndThePollRoleWithCallsThatBlock() throws InterruptedException {
        Thread server = Thread.ofPlatform().start(channel::serve);
        List<Thread> callers = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            long first = i * 10_000L;
            boolean blocks = i % 2 == 0;
            callers.add(Thread.ofPlatform().start(() -> {
                try {
                    for (long number = first + 1; number <= first + 2000; number++) {
                        long reply;
                        if (blocks) {
                            reply = channel.call(number, TestChannel.LONG_NS);
                        } else {
                            CompletableFuture<byte[]> call = channel.caller.newFuture();
                            boolean started = starts(number, TestChannel.LONG_NS, call);
                            reply = started ? number(call.join()) : -number;
                        }
                        assertThat(reply).isEqualTo(-number);
                    }
                } catch (Throwable e) {
                    synchronized (failures) {
                        failures.add(e);
                    }
                }
            }));
        }
        for (Thread caller : callers) {
            caller.join();
        }
        assertThat(failures).isEmpty();
        channel.caller.end("the test is over");
        Waits.join(server);
    }

    @Test
    void withoutAFreeSlotNoneStarts() {
        for (int i = 0; i < 4; i++) {
            CompletableFuture<byte[]> unused = start(i, TestChannel.LONG_NS);
        }
        assertThat(starts(5, TestChannel.LONG_NS, channel.caller.newFuture())).isFalse();
    }

    @Test
    void aCallEndsAtItsDeadlineAndItsSlotComesBack() {
        List<CompletableFuture<byte[]>> late = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            late.add(start(i, SHORT_NS));
        }
        for (CompletableFuture<byte[]> call : late) {
            assertThatThrownBy(call::join).hasCauseInstanceOf(LiteTimeoutException.class);
        }
        Thread server = Thread.ofPlatform().start(channel::serve); // drops what was cancelled
        Waits.until("the slots are free", channel.caller::isIdle);
        assertThat(channel.call(7, TestChannel.LONG_NS)).isEqualTo(-7);
        channel.caller.end("the test is over");
        Waits.join(server);
    }

    @Test
    void anInterruptEndsTheWaitForACall() {
        CompletableFuture<byte[]> call = start(1, TestChannel.LONG_NS);
        AtomicBoolean interrupted = new AtomicBoolean();
        Thread waiting = TestChannel.start(false, () -> {
            Thread.currentThread().interrupt();
            channel.caller.starter.newWait(call::isDone).await(System.nanoTime() + TestChannel.LONG_NS);
            interrupted.set(Thread.currentThread().isInterrupted());
        });
        Waits.until("the wait has ended", Waits.seconds(5), () -> !waiting.isAlive());
        assertThat(interrupted).isTrue();
        Thread server = Thread.ofPlatform().start(channel::serve);
        assertThat(number(call.join())).isEqualTo(-1);
        channel.caller.end("the test is over");
        Waits.join(server);
    }

    /** A thread whose calls have just ended probably starts more of them, or polls. This one does neither. */
    @Test
    void aCallEndsAlsoIfTheThreadThatStartedItDoesNotPoll() {
        Thread server = Thread.ofPlatform().start(channel::serve);
        for (int round = 0; round < 500; round++) {
            CompletableFuture<byte[]> first = start(1, TestChannel.LONG_NS);
            CompletableFuture<byte[]> second = start(2, TestChannel.LONG_NS);
            assertThat(number(first.join())).isEqualTo(-1);
            CompletableFuture<byte[]> third = start(3, Waits.seconds(1).toNanos());
            assertThat(third.thenApply(StartedCallsCases::number).join()).isEqualTo(-3);
            assertThat(number(second.join())).isEqualTo(-2);
        }
        channel.caller.end("the test is over");
        Waits.join(server);
    }

    /** Its first sleep is on the connection, its next one is not. Without a wake-up, it looks again after 100 ms. */
    @Test
    void aThreadThatWaitsForLongIsWokenByTheReply() {
        List<Duration> waited = new ArrayList<>();
        for (int round = 1; round <= 20; round++) {
            CompletableFuture<byte[]> call = start(round, TestChannel.LONG_NS);
            Thread waiting = TestChannel.start(false, call::join);
            ReceivedRequest request = channel.receive();
            Waits.pass(Duration.ofMillis(10));
            long repliedNs = System.nanoTime();
            channel.server.reply(request.call(), TestChannel.longs(-round));
            Waits.join(waiting);
            waited.add(Duration.ofNanos(System.nanoTime() - repliedNs));
        }
        Collections.sort(waited);
        assertThat(waited.get(waited.size() / 2)).as("the median of %s", waited).isLessThan(Duration.ofMillis(50));
    }

    @Test
    void anErrorOfTheFunctionIsTheFailure() {
        CompletableFuture<byte[]> call = start(1, TestChannel.LONG_NS);
        ReceivedRequest request = channel.receive();
        channel.server.fail(request.call(), RpcStatus.HANDLER_FAILED, 5, "no such article");
        assertThatThrownBy(call::join)
                .cause()
                .isInstanceOf(RpcFailedException.class)
                .hasMessageContaining("no such article");
    }

    @Test
    void theEndOfTheChannelEndsThem() {
        CompletableFuture<byte[]> call = start(1, TestChannel.LONG_NS);
        channel.receive();
        channel.server.close();
        assertThatThrownBy(call::join)
                .cause()
                .isInstanceOfSatisfying(
                        ChannelEndedException.class,
                        e -> assertThat(e.isMaybeDone()).isTrue());
        assertThatThrownBy(() -> start(2, TestChannel.LONG_NS)).isInstanceOf(ChannelEndedException.class);
    }

    /** Else four such calls would take all slots. */
    @Test
    void aCallWithoutATimerReturnsItsSlotAndIsNotSubmitted() {
        Runnable timersWork = breakTimers();
        for (int i = 0; i < 8; i++) {
            assertThatThrownBy(() -> start(1, TestChannel.LONG_NS)).isInstanceOf(ClassCastException.class);
        }
        timersWork.run();
        assertThat(channel.caller.isIdle()).isTrue();
        CompletableFuture<byte[]> next = start(2, TestChannel.LONG_NS);
        ReceivedRequest request = channel.receive();
        assertThat(TestChannel.number(request)).isEqualTo(2);
        LinkCases.reply(channel, request);
        assertThat(number(next.join())).isEqualTo(-2);
    }

    /** Returns what ends it. */
    @SuppressWarnings("unchecked")
    private Runnable breakTimers() {
        PriorityQueue<Object> scheduled =
                Inside.field(Inside.field(started(), "deadlines", Object.class), "scheduled", PriorityQueue.class);
        scheduled.add(new Object()); // cannot be compared with a time
        return scheduled::clear;
    }
}
