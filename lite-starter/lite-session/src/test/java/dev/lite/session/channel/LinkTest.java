package dev.lite.session.channel;

import static dev.lite.session.channel.TestChannel.LONG_NS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LtRpc;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcStatus;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Channels between hosts: what arrives at the other end, and how a channel ends. */
class LinkTest extends LinkCases {
    private static final ChannelArea LARGE = new ChannelArea(ChannelArea.SLOTS_MAX, ChannelArea.WINDOW_BYTES_MAX);

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void callsAreAnswered(boolean encrypted) {
        TestChannel channel = channel(new ChannelArea(4, 1024), TestChannel.SPINS, encrypted);
        Thread server = TestChannel.start(false, channel::serve);
        for (int i = 1; i <= 2000; i++) {
            assertThat(channel.call(i, LONG_NS)).isEqualTo(-i);
        }
        channel.caller.end("the test is over");
        Waits.join(server);
    }

    /** Answers each request with its context and itself. */
    private static void echo(TestChannel channel, ReceivedRequest request) {
        channel.server.reply(request.call(), request.bytes().asSlice(0, request.length()));
    }

    @ParameterizedTest
    @CsvSource({"false,200", "true,200", "false,0", "true,0"})
    void messagesUpToTheWindowArriveWithTheirContexts(boolean encrypted, int spins) {
        TestChannel channel = channel(LARGE, spins, encrypted);
        Thread server = serve(channel, request -> echo(channel, request));
        Random random = new Random(1);
        for (int round = 0; round < 100; round++) {
            byte[] all = new byte[round == 0 ? LARGE.windowBytes() : random.nextInt(LARGE.windowBytes() + 1)];
            random.nextBytes(all);
            int contextBytes = round == 1 ? 0 : Math.min(all.length, random.nextInt(LtRpc.CONTEXT_BYTES_MAX + 1));
            byte[] context = MemorySegment.ofArray(all).asSlice(0, contextBytes).toArray(ValueLayout.JAVA_BYTE);
            byte[] reply = channel.caller.call(
                    context, MemorySegment.ofArray(all).asSlice(contextBytes), System.nanoTime(), LONG_NS);
            assertThat(reply).isEqualTo(all);
        }
        channel.caller.end("the test is over");
        Waits.join(server);
    }

    @ParameterizedTest
    @CsvSource({"false,200", "true,200", "false,0", "true,0"})
    void messagesLargerThanTheBuffersOfTheConnectionGoBothWaysAtOnce(boolean encrypted, int spins) {
        TestChannel channel = channel(LARGE, spins, encrypted);
        List<Thread> threads = new ArrayList<>();
        threads.add(serve(channel, request -> echo(channel, request)));
        threads.add(serve(channel, request -> echo(channel, request)));
        AtomicInteger right = new AtomicInteger();
        List<Thread> callers = new ArrayList<>();
        for (int i = 0; i < LARGE.slots(); i++) {
            byte[] request = new byte[LARGE.windowBytes()];
            new Random(i).nextBytes(request);
            callers.add(TestChannel.start(i % 2 == 0, () -> {
                for (int round = 0; round < 20; round++) {
                    byte[] reply = channel.caller.call(MemorySegment.ofArray(request), LONG_NS);
                    if (Arrays.equals(reply, request)) {
                        right.incrementAndGet();
                    }
                }
            }));
        }
        callers.forEach(Waits::join);
        assertThat(right).hasValue(20 * LARGE.slots());
        channel.caller.end("the test is over");
        threads.forEach(Waits::join);
    }

    @ParameterizedTest
    @CsvSource({
        "200,8,false,1,false",
        "200,8,false,4,false",
        "200,16,true,1,false",
        "200,16,true,3,true",
        "0,8,false,1,false",
        "0,8,false,4,false",
        "0,16,true,2,true",
        "0,8,false,2,true"
    })
    void everyCallGetsItsOwnReply(int spins, int callers, boolean virtual, int servers, boolean virtualServers) {
        channel(8, spins).assertEveryCallGetsItsOwnReply(4000, callers, virtual, servers, virtualServers);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anErrorOfTheFunctionReachesItsCaller(boolean encrypted) {
        TestChannel channel = channel(new ChannelArea(1, 1024), 0, encrypted);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        for (int round = 0; round < 3; round++) {
            Thread call = callIn(false, channel, 1, LONG_NS, thrown);
            channel.server.fail(channel.receive().call(), RpcStatus.HANDLER_FAILED, 7, "out of stock");
            Waits.join(call);
            assertThat(thrown.get())
                    .isInstanceOfSatisfying(
                            RpcFailedException.class,
                            e -> assertThat(e.status()).isEqualTo(RpcStatus.HANDLER_FAILED))
                    .hasMessageContaining("out of stock");
        }
    }

    @ParameterizedTest
    @CsvSource({"0,false", "200,false", "0,true", "200,true"})
    void aRequestWhoseCallerHasStoppedWaitingIsNotExecutedAndItsSlotComesBack(int spins, boolean virtual) {
        TestChannel channel = channel(1, spins);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        Waits.join(callIn(virtual, channel, 1, SHORT_NS, thrown));
        assertThat(thrown.get()).isInstanceOf(LiteTimeoutException.class).hasMessageContaining("may have been done");
        assertThat(channel.caller.isIdle()).isFalse();
        Waits.join(callIn(virtual, channel, 2, SHORT_NS, thrown));
        assertThat(thrown.get()).isInstanceOf(LiteTimeoutException.class).hasMessageContaining("no slot was free");
        Queue<Long> seen = new ConcurrentLinkedQueue<>();
        Thread serving = serve(channel, request -> {
            seen.add(TestChannel.number(request));
            reply(channel, request);
        });
        Waits.join(callIn(virtual, channel, 3, LONG_NS, thrown));
        assertThat(thrown.get()).isNull();
        assertThat(seen).containsExactly(3L);
        Waits.until("the slot is free", channel.caller::isIdle);
        channel.caller.end("the test is over");
        Waits.join(serving);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void callsWithDeadlinesThatPassAtAnyMomentGetTheirOwnReplyOrNone(boolean virtual) {
        TestChannel channel = channel(4, TestChannel.SPINS);
        Queue<Long> seen = new ConcurrentLinkedQueue<>();
        List<Thread> serving = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            serving.add(serve(channel, request -> {
                seen.add(TestChannel.number(request));
                reply(channel, request);
            }));
        }
        long seed = System.nanoTime();
        System.out.println("LinkTest: seed " + seed);
        Queue<Throwable> wrong = new ConcurrentLinkedQueue<>();
        Queue<Long> answered = new ConcurrentLinkedQueue<>();
        Queue<Long> notDone = new ConcurrentLinkedQueue<>();
        List<Thread> calling = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            long first = 1000L * i;
            Random random = new Random(seed + i);
            calling.add(TestChannel.start(virtual, () -> {
                for (long number = first; number < first + 500; number++) {
                    try {
                        assertThat(channel.call(number, random.nextInt(300_000)))
                                .isEqualTo(-number);
                        answered.add(number);
                    } catch (LiteTimeoutException e) {
                        if (String.valueOf(e.getMessage()).contains("was not done")) {
                            notDone.add(number);
                        }
                    } catch (Throwable e) {
                        wrong.add(e);
                    }
                }
            }));
        }
        calling.forEach(Waits::join);
        assertThat(wrong).isEmpty();
        Waits.until("all slots are free", channel.caller::isIdle);
        assertThat(channel.call(-1, LONG_NS)).isEqualTo(1);
        channel.caller.end("the test is over");
        serving.forEach(Waits::join);
        assertThat(seen).doesNotHaveDuplicates().containsAll(answered).doesNotContainAnyElementsOf(notDone);
    }

    @ParameterizedTest
    @CsvSource({"0,false,false", "200,false,false", "0,true,false", "200,true,false", "0,false,true", "200,true,true"})
    void callsUnderWayEndWithTheServersEnd(int spins, boolean virtual, boolean encrypted) {
        TestChannel channel = channel(new ChannelArea(4, 1024), spins, encrypted);
        List<AtomicReference<@Nullable Throwable>> thrown = new ArrayList<>();
        List<Thread> calls = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            AtomicReference<@Nullable Throwable> its = new AtomicReference<>();
            thrown.add(its);
            calls.add(callIn(virtual, channel, i, LONG_NS, its));
        }
        List<ReceivedRequest> requests = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            requests.add(channel.receive());
        }
        // A reply that was given before reaches its caller.
        long answered = TestChannel.number(requests.get(2));
        reply(channel, requests.get(2));
        channel.server.close();
        calls.forEach(Waits::join);
        for (int i = 0; i < 4; i++) {
            if (i == answered) {
                assertThat(thrown.get(i).get()).isNull();
            } else {
                assertThat(thrown.get(i).get())
                        .isInstanceOfSatisfying(
                                ChannelEndedException.class,
                                e -> assertThat(e.isMaybeDone()).isTrue());
            }
        }
        assertThatThrownBy(() -> channel.call(5, LONG_NS))
                .isInstanceOfSatisfying(
                        ChannelEndedException.class,
                        e -> assertThat(e.isMaybeDone()).isFalse());
    }

    @Test
    void repliesThatAreLeftToTheNextThreadAreSentWhenTheServerEnds() {
        for (int round = 0; round < 10; round++) {
            TestChannel channel = channel(4, TestChannel.SPINS);
            List<AtomicReference<@Nullable Throwable>> thrown = new ArrayList<>();
            List<Thread> calls = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                AtomicReference<@Nullable Throwable> its = new AtomicReference<>();
                thrown.add(its);
                calls.add(callIn(false, channel, i, LONG_NS, its));
            }
            List<ReceivedRequest> requests = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                ReceivedRequest request = new ReceivedRequest(channel.area);
                Waits.until("a request comes", () -> channel.server.tryReceive(request));
                requests.add(request);
            }
            requests.forEach(request -> reply(channel, request)); // beside one that was not taken
            channel.server.close();
            calls.forEach(Waits::join);
            for (ReceivedRequest request : requests) {
                assertThat(thrown.get((int) TestChannel.number(request)).get()).isNull();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"0,false", "200,false", "0,true", "200,true"})
    void aServerThatWaitsNoticesTheCallersEnd(int spins, boolean virtual) {
        TestChannel channel = channel(1, spins);
        Thread serving = TestChannel.start(virtual, channel::serve);
        assertThat(channel.call(1, LONG_NS)).isEqualTo(-1);
        channel.caller.close();
        Waits.join(serving);
        assertThat(channel.server.isEnded()).isTrue();
    }

    @Test
    void aRetiredChannelIsIdleWhenItsLastCallHasEnded() {
        TestChannel channel = channel(2, 0);
        AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
        assertThat(channel.caller.isIdle()).isTrue();
        Thread call = callIn(false, channel, 1, LONG_NS, thrown);
        ReceivedRequest request = channel.receive();
        channel.caller.retire();
        assertThat(channel.caller.isRetired()).isTrue();
        assertThat(channel.caller.isIdle()).isFalse();
        reply(channel, request);
        Waits.join(call);
        assertThat(thrown.get()).isNull();
        assertThat(channel.caller.isIdle()).isTrue();
        Waits.join(callIn(false, channel, 2, SHORT_NS, thrown));
        assertThat(channel.caller.isIdle()).isFalse();
        ReceivedRequest late = new ReceivedRequest(channel.area);
        Waits.until("the server has dropped or answered the late request", () -> {
            if (channel.server.tryReceive(late)) {
                reply(channel, late);
            }
            return channel.caller.isIdle();
        });
    }
}
