package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.Priority;
import dev.lite.api.RpcCall;
import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.session.protocol.SessionArea;
import dev.lite.testing.Waits;
import dev.lite.tier.channel.NodeChannels;
import dev.lite.tier.node.LiteNode;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Calls that pass the nodes although there are channels, or because there may be none. */
class CallsBesideChannelsTest extends ClientChannelCases {
    CallsBesideChannelsTest(Between between) {
        super(between);
    }

    /** Else those that get one of the few places first keep it, and the calls of the others are received only through channels. */
    @Test
    void functionsWithChannelsTakeTurnsForTheirCallsThroughTheNodesIfOthersHoldThePlacesForReceives() {
        Lite at = attach("n1");
        List<RpcServer> functions = new ArrayList<>();
        List<Thread> serving = new ArrayList<>();
        for (int i = 0; i < SessionArea.SLOTS_MAX / 2; i++) {
            RpcServer server = at.rpc().serve("without" + i);
            functions.add(server);
            serving.add(Thread.ofPlatform().start(() -> serve(server)));
            assertIsServed(throughNodes("without" + i));
        }
        long before = ChannelCases.mappedChannels();
        for (int i = 0; i < 16; i++) {
            RpcServer server = at.rpc().serve("with" + i);
            functions.add(server);
            for (int thread = 0; thread < 2; thread++) {
                serving.add(Thread.ofPlatform().start(() -> serve(server)));
            }
            callUntilThereIsAChannel(caller.rpc().bind("n1", "with" + i), before + 2L * i);
        }
        for (int i = 0; i < 16; i++) {
            assertIsServed(throughNodes("with" + i));
        }
        functions.forEach(RpcServer::close);
        serving.forEach(Waits::join);
    }

    private RpcClient throughNodes(String function) {
        return caller.rpc().bind("n1", function).withPriority(Priority.LOW);
    }

    private static void assertIsServed(RpcClient client) {
        assertThat(number(MemorySegment.ofArray(client.call(number(7), GENEROUS))))
                .isEqualTo(-7);
    }

    @Test
    void callsThroughTheNodesReachAServerThatHasChannels() {
        Lite at = attach("n1");
        RpcServer server = at.rpc().serve("negate");
        List<Thread> serving = List.of(thread(false, () -> serve(server)), thread(true, () -> serve(server)));
        RpcClient client = caller.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        // An embedded application has no channel.
        RpcClient throughNodes = nodes.node("n0").attach("embedded").rpc().bind("n1", "negate");
        AtomicInteger right = new AtomicInteger();
        List<Thread> calling = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            RpcClient its = i % 2 == 0 ? client : throughNodes;
            calling.add(thread(false, () -> {
                for (int call = 0; call < 500; call++) {
                    if (number(MemorySegment.ofArray(its.call(number(call), GENEROUS))) == -call) {
                        right.incrementAndGet();
                    }
                    if (call % 100 == 0) {
                        Waits.pass(SHORT); // all threads of the server fall asleep
                    }
                }
            }));
        }
        calling.forEach(Waits::join);
        assertThat(right).hasValue(2000);
        server.close();
        serving.forEach(Waits::join);
    }

    @Test
    void aReplyThroughTheNodesIsSentAlsoIfTheLastChannelHasEndedMeanwhile() {
        RpcServer server = attach("n1").rpc().serve("negate");
        Lite leaving = attach("n0");
        Thread serving = thread(false, () -> serveUntilZero(server));
        RpcClient client = leaving.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        client.call(number(0), GENEROUS);
        Waits.join(serving);
        CompletableFuture<byte[]> throughNodes =
                nodes.node("n0").attach("embedded").rpc().bind("n1", "negate").callAsync(number(5), GENEROUS);
        RpcCall call = server.receive(GENEROUS);
        leaving.close();
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
        assertThatThrownBy(() -> server.replyAndReceive(call, negated(call), SHORT))
                .isInstanceOf(LiteTimeoutException.class);
        assertThat(number(MemorySegment.ofArray(throughNodes.join()))).isEqualTo(-5);
    }

    @Test
    void aCallThatCameBesideTheChannelsIsReceivedNextAlsoIfTheLastChannelHasEndedMeanwhile() {
        RpcServer server = attach("n1").rpc().serve("negate");
        Lite leaving = attach("n0");
        Thread serving = thread(false, () -> serveUntilZero(server));
        callUntilThereIsAChannel(leaving.rpc().bind("n1", "negate"), 0);
        leaving.rpc().bind("n1", "negate").call(number(0), GENEROUS);
        Waits.join(serving);
        RpcClient throughNodes = nodes.node("n0").attach("embedded").rpc().bind("n1", "negate");
        CompletableFuture<byte[]> first = throughNodes.callAsync(number(5), GENEROUS);
        RpcCall call = server.receive(GENEROUS);
        CompletableFuture<byte[]> second = throughNodes.callAsync(number(6), GENEROUS);
        Waits.until("the node has passed both calls to the application", () -> callsReceivedAt("n1") == 2);
        leaving.close();
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);

        RpcCall next = server.replyAndReceive(call, negated(call), GENEROUS);

        assertThat(number(next.request())).isEqualTo(6);
        next.reply(negated(next));
        assertThat(number(MemorySegment.ofArray(first.join()))).isEqualTo(-5);
        assertThat(number(MemorySegment.ofArray(second.join()))).isEqualTo(-6);
    }

    @Test
    void aSecondServerOfTheFunctionGetsCallsToo() {
        RpcClient client = caller.rpc().bind("n1", "negate");
        AtomicInteger first = new AtomicInteger();
        AtomicInteger second = new AtomicInteger();
        attach("n1").rpc().register("negate", 1, call -> {
            if (number(call.request()) == 2) {
                Waits.pass(SHORT);
            }
            first.incrementAndGet();
            return negated(call);
        });
        callUntilThereIsAChannel(client, 0);
        CompletableFuture<byte[]> underWay = client.callAsync(number(2), GENEROUS);
        Lite other = attach("n1");
        RpcServer its = other.rpc().register("negate", 1, call -> {
            second.incrementAndGet();
            return negated(call);
        });
        Waits.until("both have calls", () -> {
            client.call(number(1), GENEROUS);
            return second.get() > 10;
        });
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
        its.close();
        callUntilThereIsAChannel(client, 0);
        assertThat(first.get()).isPositive();
        assertThat(number(MemorySegment.ofArray(underWay.join()))).isEqualTo(-2);
    }

    @Test
    void callsPassTheNodesAsLongAsTheirPrincipalGetsNoChannels() {
        attach("n1").rpc().register("negate", 2, ClientChannelCases::negated);
        RpcClient client = caller.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        NodeChannels channels = nodes.node("n0").channels();
        channels.passNodes((principal, betweenHosts) -> true);
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
        for (int call = 1; call <= 100; call++) {
            assertThat(number(MemorySegment.ofArray(client.call(number(call), GENEROUS))))
                    .isEqualTo(-call);
        }
        assertThat(ChannelCases.mappedChannels()).isZero();
        channels.passNodes((principal, betweenHosts) -> false);
        callUntilThereIsAChannel(client, 0);
    }

    @Test
    void callsUnderWayEndWellWhenNewOnesMustPassTheNodes() {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch mayEnd = new CountDownLatch(1);
        attach("n1").rpc().register("negate", 2, call -> {
            if (number(call.request()) == 2) {
                begun.countDown();
                Waits.await(mayEnd);
            }
            return negated(call);
        });
        RpcClient client = caller.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        CompletableFuture<byte[]> underWay = client.callAsync(number(2), GENEROUS);
        Waits.await(begun);
        nodes.node("n0").channels().passNodes((principal, betweenHosts) -> true);
        for (int call = 3; call <= 20; call++) {
            assertThat(number(MemorySegment.ofArray(client.call(number(call), GENEROUS))))
                    .isEqualTo(-call);
        }
        mayEnd.countDown();
        assertThat(number(MemorySegment.ofArray(underWay.join()))).isEqualTo(-2);
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
    }

    @Test
    void underAPolicyCallsToOtherHostsPassTheNodes() {
        attach("n1").rpc().register("negate", 2, ClientChannelCases::negated);
        RpcClient client = caller.rpc().bind("n1", "negate");
        callUntilThereIsAChannel(client, 0);
        LiteNode node = nodes.node("n0");
        QosPolicy unused = node.qos().set(QosPolicy.OFF.withMode(QosPolicy.Mode.SW_PRI));
        if (between == Between.ONE_HOST) {
            client.call(number(1), GENEROUS);
            assertThat(ChannelCases.mappedChannels()).isEqualTo(2);
            return;
        }
        Waits.until("no channel is mapped any more", () -> ChannelCases.mappedChannels() == 0);
        for (int call = 1; call <= 100; call++) {
            assertThat(number(MemorySegment.ofArray(client.call(number(call), GENEROUS))))
                    .isEqualTo(-call);
        }
        assertThat(ChannelCases.mappedChannels()).isZero();
        QosPolicy unusedToo = node.qos().set(QosPolicy.OFF);
        callUntilThereIsAChannel(client, 0);
    }
}
