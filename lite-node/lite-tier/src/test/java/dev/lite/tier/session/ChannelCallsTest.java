package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcFailedException;
import dev.lite.api.RpcServer;
import dev.lite.api.SessionLostException;
import dev.lite.testing.Waits;
import dev.lite.tier.testing.CallContexts;
import dev.lite.tier.testing.CallFailures;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls of applications with LITE's client through channels, and their replies. */
class ChannelCallsTest extends ClientChannelCases {
    ChannelCallsTest(Between between) {
        super(between);
    }

    @ParameterizedTest
    @CsvSource({"n0, false", "n0, true", "n1, false", "n1, true"})
    void manyThreadsOfBothKindsGetTheirOwnReplies(String node, boolean handlers) {
        Lite at = attach(node);
        List<Thread> serving = new ArrayList<>();
        RpcServer server;
        if (handlers) {
            server = at.rpc().register("negate", 4, ClientChannelCases::negated);
        } else {
            server = at.rpc().serve("negate");
            for (int i = 0; i < 4; i++) {
                serving.add(thread(i % 2 == 0, () -> serve(server)));
            }
        }
        RpcClient client = caller.rpc().bind(node, "negate");
        callUntilThereIsAChannel(client, 0);
        AtomicInteger right = new AtomicInteger();
        List<Thread> calling = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            int first = i * 1000;
            calling.add(thread(i % 2 == 0, () -> {
                for (int call = first; call < first + 1000; call++) {
                    byte[] reply = client.call(number(call), GENEROUS);
                    if (number(MemorySegment.ofArray(reply)) == -call) {
                        right.incrementAndGet();
                    }
                }
            }));
        }
        calling.forEach(Waits::join);
        assertThat(right).hasValue(12_000);
        server.close();
        serving.forEach(Waits::join);
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void anApplicationServesMoreFunctionsThanItsSessionHasSlots(String node) {
        Lite at = attach(node);
        LmrHandle word = at.memory().malloc(LmrSpec.of(Long.BYTES));
        List<RpcClient> clients = new ArrayList<>();
        for (int i = 0; i < 80; i++) {
            RpcServer unused = at.rpc().register("negate" + i, 2, ClientChannelCases::negated);
            clients.add(caller.rpc().bind(node, "negate" + i));
        }
        for (int round = 1; round <= 3; round++) {
            for (RpcClient client : clients) {
                assertThat(number(MemorySegment.ofArray(client.call(number(7), GENEROUS))))
                        .isEqualTo(-7);
            }
            word.putLong(0, round);
            assertThat(word.getLong(0)).isEqualTo(round);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void aContextGoesThroughAChannelToo(String node) {
        CallContexts contexts = new CallContexts(caller, attach(node));
        RpcClient client = contexts.serve();
        Waits.until("there is a channel", () -> {
            contexts.check(client);
            return ChannelCases.mappedChannels() == 2;
        });
        contexts.check(client);
        assertThat(ChannelCases.mappedChannels()).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void everyFailureThroughAChannelHasItsStatus(String node) {
        CallFailures failures = new CallFailures(caller, attach(node));
        RpcClient client = failures.serve();
        Waits.until("there is a channel", () -> {
            failures.checkHandler(client);
            return ChannelCases.mappedChannels() == 2;
        });
        failures.checkHandler(client);
    }

    @Test
    void theStatisticsCountEveryCallAndAnswerAlsoOfAChannelThatHasEnded() {
        Lite serving = attach("n1");
        RpcServer server = serving.rpc().register("negate", 4, ClientChannelCases::negated);
        RpcClient client = caller.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        for (int i = 0; i < 10; i++) {
            byte[] unused = client.call(number(i), GENEROUS);
        }
        client.callAsync(number(10), GENEROUS).join();
        long calls = operations(caller, LiteStatistics.Kind.CALL);
        assertThat(calls).isGreaterThan(11);
        assertThat(operations(serving, LiteStatistics.Kind.ANSWER)).isEqualTo(calls);
        server.close();
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
        assertThat(operations(caller, LiteStatistics.Kind.CALL)).isEqualTo(calls);
        assertThat(operations(serving, LiteStatistics.Kind.ANSWER)).isEqualTo(calls);
    }

    private static long operations(Lite lite, LiteStatistics.Kind kind) {
        LiteStatistics.Count count = lite.statistics().operations().getOrDefault(kind, new LiteStatistics.Count(0, 0));
        assertThat(count.bytes()).isEqualTo(count.operations() * Long.BYTES);
        return count.operations();
    }

    @Test
    void aReceiveEndsAtItsDeadlineAndACallAtItsOwn() {
        RpcServer server = attach("n1").rpc().serve("negate");
        RpcClient client = caller.rpc().bind("n1", "negate");
        Thread serving = thread(false, () -> {
            for (int i = 0; i < 3; i++) {
                RpcCall call = server.receive(GENEROUS);
                call.reply(negated(call));
            }
        });
        for (int i = 0; i < 3; i++) {
            client.call(number(1), GENEROUS);
        }
        Waits.join(serving);
        // Until calls go through a channel, and then some more. The caller maps a channel a moment before it uses it.
        Waits.until("calls go through a channel", () -> {
            LiteTimeoutException late =
                    catchThrowableOfType(LiteTimeoutException.class, () -> client.call(number(2), SHORT));
            assertThat(late).isNotNull();
            return ChannelCases.mappedChannels() == 2
                    && String.valueOf(late.getMessage()).contains("call of \"negate\" at node n1");
        });
        for (int i = 0; i < 3; i++) {
            assertThatThrownBy(() -> client.call(number(3), SHORT))
                    .isInstanceOf(LiteTimeoutException.class)
                    .hasMessageContaining("call of \"negate\" at node n1");
        }
        CompletableFuture<byte[]> last = client.callAsync(number(4), GENEROUS);
        RpcCall call = server.receive(GENEROUS);
        while (number(call.request()) != 4) { // a call that was queued at the node
            call = server.replyAndReceive(call, negated(call), GENEROUS);
        }
        assertThatThrownBy(() -> {
                    while (true) {
                        server.receive(SHORT).fail("late"); // a call that was queued at the node
                    }
                })
                .isInstanceOf(LiteTimeoutException.class);
        call.reply(negated(call));
        assertThat(number(MemorySegment.ofArray(last.join()))).isEqualTo(-4);
        server.close();
        assertThatThrownBy(() -> server.receive(SHORT)).isInstanceOf(SessionLostException.class);
    }

    @Test
    void aCallThroughAChannelBehavesLikeOneThroughTheNodes() {
        RpcServer server = attach("n1").rpc().serve("negate");
        Thread first = thread(true, () -> serveOne(server));
        RpcClient client = caller.rpc().bind("n1", "negate");
        client.call(number(1), GENEROUS);
        Waits.join(first);
        Waits.until("there is a channel", () -> ChannelCases.mappedChannels() == 2);
        CompletableFuture<byte[]> failing = client.callAsync(number(2), GENEROUS);
        RpcCall call = server.receive(GENEROUS);
        assertThat(call.callerNode()).isEqualTo("n0");
        assertThat(call.callerPrincipal()).isNotBlank();
        call.fail("no such order");
        assertThatThrownBy(failing::join)
                .cause()
                .isInstanceOf(RpcFailedException.class)
                .hasMessageContaining("no such order");
        assertThatThrownBy(() -> call.reply(number(1))).isInstanceOf(IllegalStateException.class);

        MemorySegment small = MemorySegment.ofArray(new byte[7]);
        CompletableFuture<Long> tooLong =
                CompletableFuture.supplyAsync(() -> client.call(MemorySegment.ofArray(number(3)), small, GENEROUS));
        RpcCall next = server.receive(GENEROUS);
        assertThatThrownBy(() -> next.reply(number(3)))
                .isInstanceOf(LimitExceededException.class)
                .hasMessageContaining("at most 7");
        next.reply(new byte[] {1});
        assertThat(tooLong.join()).isEqualTo(1);

        for (int length : new int[] {0, 1, 4096, 65_536}) {
            byte[] request = new byte[length];
            CompletableFuture<byte[]> echo = client.callAsync(request, GENEROUS);
            RpcCall received = server.receive(GENEROUS);
            received.reply(received.request());
            assertThat(echo.join()).isEqualTo(request);
        }
        assertThatThrownBy(() -> client.call(new byte[65_537], GENEROUS)).isInstanceOf(LimitExceededException.class);
    }

    private static void serveOne(RpcServer server) {
        RpcCall call = server.receive(GENEROUS);
        call.reply(negated(call));
    }
}
