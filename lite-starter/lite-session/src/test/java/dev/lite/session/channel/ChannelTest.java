package dev.lite.session.channel;

import static dev.lite.session.channel.TestChannel.LONG_NS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.os.Futex;
import dev.lite.os.RawMemory;
import dev.lite.os.waiting.Turns;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Both ends of a channel in one process. */
class ChannelTest {
    private static final long SHORT_NS = 20_000_000;
    /** The timeout of a call that another thread must receive before, and does not answer. */
    private static final long RECEIVED_NS = Waits.seconds(1).toNanos();

    private final List<TestChannel> channels = new ArrayList<>();

    @AfterEach
    void closeAll() {
        channels.forEach(TestChannel::close);
    }

    private TestChannel channel(int slots, int spins) {
        TestChannel channel = new TestChannel(slots, spins);
        channels.add(channel);
        return channel;
    }

    private TestChannel channel(int slots) {
        return channel(slots, TestChannel.SPINS);
    }

    /** Calls in another thread; what it threw or null. */
    private static Thread callIn(
            boolean virtual, TestChannel channel, long timeoutNs, AtomicReference<@Nullable Throwable> thrown) {
        return TestChannel.start(virtual, () -> thrown.set(catchThrowable(() -> channel.call(1, timeoutNs))));
    }

    private static void awaitSleepingCaller(TestChannel channel) {
        Waits.until("the caller sleeps", () -> SlotWord.has(channel.word(0), SlotWord.SLEEPING));
    }

    private static void awaitSleepingServer(TestChannel channel) {
        Waits.until("the server sleeps", () -> channel.doorbell() == RequestBell.RING);
    }

    @ParameterizedTest
    @CsvSource({
        "200,1,false,1,false",
        "200,8,false,2,false",
        "200,100,true,1,false",
        "200,16,true,3,true",
        "0,8,false,2,false",
        "0,16,true,3,true",
        "0,4,false,4,true"
    })
    void everyCallGetsItsOwnReply(int spins, int callers, boolean virtual, int servers, boolean virtualServers) {
        channel(8, spins).assertEveryCallGetsItsOwnReply(20_000, callers, virtual, servers, virtualServers);
    }

    @Test
    void oneCallOf256OfEachSlotIsSampled() {
        TestChannel channel = channel(8, 200);
        Queue<Long> samples = new ConcurrentLinkedQueue<>();
        channel.caller.counts().sampleTo(samples::add);

        channel.assertEveryCallGetsItsOwnReply(20_000, 4, false, 2, false);

        long calls = channel.caller.counts().sum().operations();
        assertThat(samples.size()).isBetween((int) (calls / 256), (int) (calls / 256) + 8);
        assertThat(samples).allMatch(nanos -> nanos > 0);
    }

    @Test
    void aRequestAndAReplyThatCannotBeReadKeepNoSlot(@TempDir Path directory) throws IOException {
        TestChannel channel = channel(1);
        try (Arena arena = Arena.ofShared()) {
            MemorySegment truncated;
            Path file = directory.resolve("truncated");
            try (FileChannel open = FileChannel.open(
                    file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                truncated = open.map(FileChannel.MapMode.READ_WRITE, 0, 512, arena);
                open.truncate(0);
            }
            assertThatThrownBy(() -> channel.caller.call(truncated, LONG_NS)).isInstanceOf(InternalError.class);
            AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
            Thread server = TestChannel.start(false, () -> {
                ReceivedRequest request = channel.receive();
                thrown.set(catchThrowable(() -> request.channel().reply(request.call(), truncated)));
                request.channel().reply(request.call(), TestChannel.longs(-7));
            });
            assertThat(channel.caller.call(TestChannel.longs(7), LONG_NS)).hasSize(Long.BYTES);
            Waits.join(server);
            assertThat(thrown.get()).isInstanceOf(InternalError.class);
        }
    }

    @Test
    void requestsAndRepliesOfEveryLengthArrive() {
        TestChannel channel = channel(2);
        Thread server = TestChannel.start(false, () -> {
            ReceivedRequest request = new ReceivedRequest(channel.area);
            for (int i = 0; i <= channel.area.windowBytes(); i++) {
                assertThat(channel.receive(request, LONG_NS)).isTrue();
                channel.server.reply(request.call(), request.bytes().asSlice(0, request.length()));
            }
        });
        byte[] all = new byte[channel.area.windowBytes()];
        for (int i = 0; i < all.length; i++) {
            all[i] = (byte) (i * 31);
        }
        for (int length = 0; length <= all.length; length++) {
            byte[] reply = new byte[all.length];
            MemorySegment request = MemorySegment.ofArray(all).asSlice(0, length);
            assertThat(channel.caller.call(request, MemorySegment.ofArray(reply), LONG_NS))
                    .isEqualTo(length);
            assertThat(MemorySegment.ofArray(reply).asSlice(0, length).mismatch(request))
                    .isEqualTo(-1);
        }
        Waits.join(server);
    }

    @Test
    void badInputGetsAMessageWithTheValueAndTheLimit() {
        TestChannel channel = channel(1);
        MemorySegment tooLong = MemorySegment.ofArray(new byte[1025]);
        assertThatThrownBy(() -> channel.caller.call(tooLong, tooLong, LONG_NS))
                .isInstanceOf(LimitExceededException.class)
                .hasMessage("shop/order at node-2: the request has 1025 bytes; the limit is 1024");
        assertThatThrownBy(() -> channel.call(1, -1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("-1 ns");
        assertThatThrownBy(() -> new ChannelArea(65, 1024)).hasMessageContaining("65; must be 1 to 64");
        assertThatThrownBy(() -> new ChannelArea(1, 100)).hasMessageContaining("100 bytes");
        assertThatThrownBy(() -> channel.server.tryReceive(new ReceivedRequest(new ChannelArea(1, 128))))
                .hasMessageContaining("128 bytes; the longest has 1024");
        ChannelArea larger = new ChannelArea(64, 1024);
        assertThatThrownBy(() -> new ChannelCaller(channel.area.create(), larger, "f", 0, new Turns()))
                .hasMessageContaining("the area needs " + larger.bytes());
    }

    @Test
    void aCallThatFindsNoThreadForItsWaitKeepsItsSlotOnlyUntilTheAnswer() {
        TestChannel channel = channel(1, 0);
        try (ChannelCaller caller =
                new ChannelCaller(TestChannel.mapAgain(channel.memory), channel.area, "f", 0, new Turns(), task -> {
                    throw new OutOfMemoryError("unable to create native thread, on purpose");
                })) {
            AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
            Waits.join(Thread.ofVirtual()
                    .start(() -> thrown.set(
                            catchThrowable(() -> caller.call(TestChannel.longs(1), TestChannel.longs(0), LONG_NS)))));
            assertThat(thrown.get()).isInstanceOf(OutOfMemoryError.class);
            assertThat(caller.isIdle()).isFalse();
            channel.server.reply(channel.receive().call(), TestChannel.longs(-1));
            assertThat(caller.isIdle()).isTrue();
        }
    }

    @Test
    void aClosedSegmentFailsTheCallAndKeepsNoSlot() {
        TestChannel channel = channel(1);
        MemorySegment closed;
        try (Arena arena = Arena.ofConfined()) {
            closed = arena.allocate(8);
        }
        assertThatThrownBy(() -> channel.caller.call(closed, closed, LONG_NS))
                .isInstanceOf(IllegalStateException.class);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread call = callIn(false, channel, LONG_NS, thrown);
        ReceivedRequest request = channel.receive();
        assertThatThrownBy(() -> channel.server.reply(request.call(), closed))
                .isInstanceOf(IllegalStateException.class);
        channel.server.reply(request.call(), TestChannel.longs(-1));
        Waits.join(call);
        assertThat(thrown.get()).isNull();
    }

    @Test
    void anErrorOfTheFunctionReachesItsCaller() {
        TestChannel channel = channel(1);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread call = callIn(false, channel, LONG_NS, thrown);
        channel.server.fail(channel.receive().call(), RpcStatus.HANDLER_FAILED, 404, "no such order");
        Waits.join(call);
        assertThat(thrown.get())
                .isInstanceOfSatisfying(RpcFailedException.class, e -> {
                    assertThat(e.status()).isEqualTo(RpcStatus.HANDLER_FAILED);
                    assertThat(e.handlerCode()).isEqualTo(404);
                })
                .hasMessage("shop/order at node-2: no such order");
    }

    /** Otherwise a server could make its caller believe that the caller's session has ended. */
    @ParameterizedTest
    @EnumSource(names = {"SESSION_LOST", "NODE_UNREACHABLE"})
    void anErrorThatOnlyTheCallersSideCanKnowIsNotTakenFromTheServer(LiteException.Code code) {
        TestChannel channel = channel(1);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread call = callIn(false, channel, LONG_NS, thrown);
        ReceivedRequest unused = channel.receive();
        long slot = channel.memory.address() + ChannelArea.slotOffset(0);
        RawMemory.putInt(slot + ChannelArea.STATUS, code.number());
        RawMemory.putInt(slot + ChannelArea.REPLY_LENGTH, 0);
        int generation = SlotWord.generation(channel.word(0));
        int before = RawMemory.getAndSetInt(channel.wordAddress(0), SlotWord.of(generation, SlotWord.DONE));
        if (SlotWord.has(before, SlotWord.SLEEPING)) {
            int unusedToo = Futex.wake(channel.wordAddress(0), 1);
        }
        Waits.join(call);
        assertThat(thrown.get())
                .isInstanceOfSatisfying(
                        RpcFailedException.class, e -> assertThat(e.status()).isEqualTo(RpcStatus.UNKNOWN))
                .hasMessageContaining("unknown status " + code.number());
    }

    @Test
    void aReplyLongerThanTheCallerTakesIsRefusedAtTheServerAndTheCallIsStillUnanswered() {
        TestChannel channel = channel(1);
        MemorySegment small = MemorySegment.ofArray(new byte[7]);
        AtomicInteger length = new AtomicInteger();
        Thread call =
                TestChannel.start(false, () -> length.set(channel.caller.call(TestChannel.longs(3), small, LONG_NS)));
        long number = channel.receive().call();
        assertThatThrownBy(() -> channel.server.reply(number, TestChannel.longs(4)))
                .isInstanceOf(LimitExceededException.class)
                .hasMessageContaining("the reply has 8 bytes; the caller takes at most 7");
        channel.server.reply(number, TestChannel.text("shorter"));
        Waits.join(call);
        assertThat(length).hasValue(7);
    }

    @Test
    void aCallIsAnsweredOnlyOnce() {
        TestChannel channel = channel(1);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread call = callIn(false, channel, LONG_NS, thrown);
        long number = channel.receive().call();
        assertThatThrownBy(() -> channel.server.reply(number, MemorySegment.ofArray(new byte[1025])))
                .isInstanceOf(LimitExceededException.class);
        channel.server.reply(number, TestChannel.longs(-1));
        Waits.join(call);
        Thread next = callIn(false, channel, LONG_NS, thrown);
        long nextNumber = channel.receive().call();
        assertThatThrownBy(() -> channel.server.reply(number, TestChannel.longs(-1)))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> channel.server.reply(-1, TestChannel.longs(-1)))
                .isInstanceOf(IllegalStateException.class);
        channel.server.reply(nextNumber, TestChannel.longs(-1));
        Waits.join(next);
        assertThat(thrown.get()).isNull();
    }

    @Test
    void afterTheEndOfAChannelItsServerStillTellsWhichCallsItHasAnswered() {
        TestChannel channel = channel(2);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread call = callIn(false, channel, LONG_NS, thrown);
        long answered = channel.receive().call();
        channel.server.reply(answered, TestChannel.longs(-1));
        Waits.join(call);
        Thread second = callIn(false, channel, LONG_NS, thrown);
        long left = channel.receive().call();
        channel.caller.end("on purpose");
        Waits.join(second);
        for (Runnable step : List.<Runnable>of(() -> {}, channel.server::close)) {
            step.run();
            assertThatThrownBy(() -> channel.server.reply(answered, TestChannel.longs(-1)))
                    .isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> channel.server.fail(left, RpcStatus.HANDLER_FAILED, 0, "late"))
                    .isInstanceOf(ChannelEndedException.class);
        }
        assertThat(channel.server.counts().sum().operations()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCallThatNobodyTakesEndsAtItsDeadlineAndIsNeverDone(boolean virtual) {
        TestChannel channel = channel(1);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Waits.join(callIn(virtual, channel, SHORT_NS, thrown));
        assertThat(thrown.get())
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("no reply within 20 ms; the call was not done");
        assertThatThrownBy(() -> channel.call(2, SHORT_NS))
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("all 1 are in use, 1 by calls that timed out; the call was not done");
        assertThat(channel.server.tryReceive(new ReceivedRequest(channel.area))).isFalse();
        TestChannel.start(false, channel::serve);
        assertThat(channel.call(3, LONG_NS)).isEqualTo(-3);
    }

    @Test
    void aLateReplyIsDroppedAndItsSlotStaysInQuarantineUntilThen() {
        TestChannel channel = channel(1);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread call = callIn(false, channel, RECEIVED_NS, thrown);
        ReceivedRequest late = channel.receive();
        Waits.join(call);
        assertThat(thrown.get())
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("the call may have been done");
        assertThatThrownBy(() -> channel.call(2, SHORT_NS)).isInstanceOf(LiteTimeoutException.class);
        channel.server.reply(late.call(), TestChannel.longs(-1));
        TestChannel.start(false, channel::serve);
        assertThat(channel.call(3, LONG_NS)).isEqualTo(-3);
    }

    @Test
    void aChannelRetiresWhenCallsThatAreNeverAnsweredKeepHalfOfItsSlots() {
        TestChannel channel = channel(4);
        List<Thread> calls = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            calls.add(callIn(false, channel, i == 0 ? RECEIVED_NS : LONG_NS, new AtomicReference<>()));
            channel.receive();
        }
        Waits.join(calls.getFirst());
        assertThatThrownBy(() -> channel.call(5, SHORT_NS))
                .isInstanceOf(LiteTimeoutException.class)
                .hasMessageContaining("no slot was free");
        assertThat(channel.caller.isRetired()).as("with a quarter of the slots").isFalse();
        channel.caller.end("the first part is over");
        calls.forEach(Waits::join);

        TestChannel other = channel(2);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread call = callIn(false, other, LONG_NS, thrown);
        ReceivedRequest request = other.receive();
        assertThatThrownBy(() -> other.call(2, SHORT_NS)).isInstanceOf(LiteTimeoutException.class);
        assertThatThrownBy(() -> other.call(3, LONG_NS))
                .isInstanceOfSatisfying(
                        ChannelEndedException.class,
                        e -> assertThat(e.isMaybeDone()).isFalse());
        assertThat(other.caller.isRetired()).isTrue();
        assertThat(other.caller.isAwaited()).isTrue();
        other.server.reply(request.call(), TestChannel.longs(-TestChannel.number(request)));
        Waits.join(call);
        assertThat(thrown.get()).as("what a call under way threw").isNull();
        assertThat(other.caller.isAwaited()).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"false,false", "false,true", "true,false", "true,true"})
    void theEndOfTheChannelEndsACallThatWasTakenAtOnce(boolean virtual, boolean serverEnds) {
        TestChannel channel = channel(1, 50);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread call = callIn(virtual, channel, LONG_NS, thrown);
        long number = channel.receive().call();
        awaitSleepingCaller(channel);
        end(channel, serverEnds);
        Waits.join(call);
        assertThat(thrown.get()).isInstanceOfSatisfying(ChannelEndedException.class, e -> {
            assertThat(e.isMaybeDone()).isTrue();
            assertThat(e).hasMessageContaining("the call may have been done");
        });
        assertThatThrownBy(() -> channel.server.reply(number, TestChannel.longs(1)))
                .isInstanceOf(ChannelEndedException.class);
    }

    @ParameterizedTest
    @CsvSource({"false,false", "false,true", "true,false", "true,true"})
    void theEndOfTheChannelSaysThatACallWasNotDone(boolean virtual, boolean serverEnds) {
        TestChannel channel = channel(1, 50);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread call = callIn(virtual, channel, LONG_NS, thrown);
        awaitSleepingCaller(channel);
        AtomicReference<@Nullable Throwable> waiting = new AtomicReference<>();
        Thread waiter = callIn(virtual, channel, LONG_NS, waiting);
        end(channel, serverEnds);
        Waits.join(call);
        Waits.join(waiter);
        assertThat(List.of(thrown, waiting))
                .allSatisfy(each -> assertThat(each.get())
                        .isInstanceOfSatisfying(
                                ChannelEndedException.class,
                                e -> assertThat(e.isMaybeDone()).isFalse()));
        assertThat(channel.caller.isEnded()).isTrue();
        assertThat(channel.server.isEnded()).isTrue();
        assertThatThrownBy(() -> channel.server.tryReceive(new ReceivedRequest(channel.area)))
                .isInstanceOf(ChannelEndedException.class);
    }

    private static void end(TestChannel channel, boolean serverEnds) {
        if (serverEnds) {
            channel.server.end("the function was closed");
        } else {
            channel.caller.end("the application goes");
        }
    }

    @ParameterizedTest
    @CsvSource({"false,false", "false,true", "true,false", "true,true"})
    void theEndOfTheChannelEndsAllReceivesAtOnce(boolean virtual, boolean serverEnds) {
        TestChannel channel = channel(1, 50);
        List<Thread> serving = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            serving.add(TestChannel.start(virtual, channel::serve));
        }
        awaitSleepingServer(channel);
        end(channel, serverEnds);
        serving.forEach(Waits::join);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aReceiveEndsAtItsDeadline(boolean virtual) {
        TestChannel channel = channel(1);
        AtomicInteger none = new AtomicInteger();
        Waits.join(TestChannel.start(virtual, () -> {
            if (!channel.receive(new ReceivedRequest(channel.area), SHORT_NS)) {
                none.incrementAndGet();
            }
        }));
        assertThat(none).hasValue(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aRequestBehindASlowOneIsTakenByAnotherThread(boolean virtual) {
        TestChannel channel = channel(4, 50);
        CountDownLatch go = new CountDownLatch(1);
        AtomicInteger slow = new AtomicInteger();
        for (int i = 0; i < 3; i++) {
            TestChannel.start(virtual, () -> {
                ReceivedRequest request = new ReceivedRequest(channel.area);
                try {
                    while (channel.receive(request, LONG_NS)) {
                        if (TestChannel.number(request) == 7) {
                            slow.incrementAndGet();
                            go.await();
                        }
                        channel.server.reply(request.call(), request.bytes().asSlice(0, Long.BYTES));
                    }
                } catch (InterruptedException | ChannelEndedException e) {
                    // the end
                }
            });
        }
        List<Thread> callers = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            callers.add(TestChannel.start(false, () -> channel.call(7, LONG_NS)));
        }
        Waits.until("two threads are busy", () -> slow.get() == 2);
        for (int i = 0; i < 100; i++) {
            assertThat(channel.call(i % 7, LONG_NS)).isEqualTo(i % 7);
        }
        go.countDown();
        callers.forEach(Waits::join);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anInterruptDoesNotEndACallAndIsKept(boolean virtual) {
        TestChannel channel = channel(1, 50);
        AtomicInteger kept = new AtomicInteger();
        Thread call = TestChannel.start(virtual, () -> {
            long unused = channel.call(1, LONG_NS);
            kept.set(Thread.interrupted() ? 1 : -1);
        });
        awaitSleepingCaller(channel);
        call.interrupt();
        channel.server.reply(channel.receive().call(), TestChannel.longs(-1));
        Waits.join(call);
        assertThat(kept).hasValue(1);
    }

    @Test
    void aClosedEndRefusesAllCallsAndCanBeClosedAgain() {
        TestChannel channel = channel(1);
        channel.caller.close();
        channel.caller.close();
        assertThatThrownBy(() -> channel.call(1, LONG_NS))
                .isInstanceOf(ChannelEndedException.class)
                .hasMessage("shop/order at node-2: the caller's end was closed; the call was not done");
        assertThatThrownBy(channel::receive)
                .isInstanceOf(ChannelEndedException.class)
                .hasMessage("shop/order for web: the other end has ended the channel");
        channel.server.close();
        assertThatThrownBy(channel::receive).isInstanceOf(ChannelEndedException.class);
        assertThat(channel.server.isEnded()).isTrue();
    }

    @Test
    void closingWhileThreadsCallAndServeIsSafe() {
        for (int round = 0; round < 50; round++) {
            TestChannel channel = new TestChannel(4, round % 2 == 0 ? 50 : 0);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                threads.add(TestChannel.start(i % 2 == 0, channel::serve));
                threads.add(TestChannel.start(i % 2 == 0, () -> {
                    while (catchThrowable(() -> channel.call(1, LONG_NS)) == null) {
                        // until the end
                    }
                }));
            }
            long unused = channel.call(1, LONG_NS);
            if (round % 3 == 0) {
                channel.server.close();
            }
            channel.close();
            threads.forEach(Waits::join);
        }
    }

    /** Its thread may have chosen the channel just before that was retired. */
    @Test
    void aCallThatComesWhenTheUseOfItsChannelHasEndedIsNotDone() {
        TestChannel channel = channel(2);
        channel.caller.retire();
        assertThat(channel.caller.tryEndUse()).isTrue();
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread call = callIn(false, channel, LONG_NS, thrown);
        ReceivedRequest request = new ReceivedRequest(channel.area);
        Waits.until(
                "the call waits, or the server has it",
                () -> call.getState() == Thread.State.TIMED_WAITING || channel.server.tryReceive(request));
        channel.caller.end("this application has closed the channel");
        Waits.join(call);
        assertThat(thrown.get())
                .isInstanceOfSatisfying(
                        ChannelEndedException.class,
                        e -> assertThat(e.isMaybeDone()).isFalse());
    }

    @Test
    void theUseOfAChannelEndsWhenNoCallIsUnderWayButThoseThatTimedOut() {
        TestChannel channel = channel(2);
        assertThatThrownBy(() -> channel.call(1, SHORT_NS)).isInstanceOf(LiteTimeoutException.class);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Thread call = callIn(false, channel, LONG_NS, thrown);
        ReceivedRequest request = channel.receive();
        assertThat(channel.caller.tryEndUse()).isFalse();
        channel.server.reply(request.call(), TestChannel.longs(-TestChannel.number(request)));
        Waits.join(call);
        assertThat(thrown.get()).isNull();
        assertThat(channel.caller.tryEndUse()).isTrue();
    }

    @Test
    void aClosedCallerWithACallThatTimedOutIsIdle() {
        TestChannel channel = channel(1);
        assertThatThrownBy(() -> channel.call(1, SHORT_NS)).isInstanceOf(LiteTimeoutException.class);
        assertThat(channel.caller.isIdle()).isFalse();
        channel.caller.close();
        assertThat(channel.caller.isIdle()).isTrue();
    }
}
