package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LiteException.Code;
import dev.lite.api.RpcServer;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionMessage.ChannelRetired;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.testing.Waits;
import dev.lite.tier.channel.ChannelTimes;
import dev.lite.tier.channel.NodeChannels;
import dev.lite.tier.channel.SessionChannels;
import dev.lite.tier.session.ChannelClient.Offer;
import dev.lite.tier.session.ChannelClient.Opened;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Opening channels between two applications, and what is refused. */
@ParameterizedClass
@EnumSource(
        value = Between.class,
        names = {"ONE_HOST", "TCP"})
@Isolated("it counts the descriptors of its process")
class ChannelsTest extends ChannelCases {
    ChannelsTest(Between between) {
        super(between);
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void aCallPassesFromOneApplicationToTheOther(String serversNode) throws ProtocolException {
        start(serversNode);
        assertACallPasses();
    }

    @Test
    void bothApplicationsGetTheSameSealedMemoryAndNobodyElseKeepsIt() throws ProtocolException {
        start("n0");
        long before = channelDescriptors();
        long request = caller.ask(client);
        Offer offer = server.offered();
        assertThat(server.take(offer.message().channel())).isInstanceOf(Done.class);
        Opened channel = caller.opened(request);
        ChannelArea area = channel.area();
        assertThat(area).isEqualTo(offer.message().area());
        try (SharedMemory atCaller = channel.memory();
                SharedMemory atServer =
                        SharedMemory.fromDescriptor(offer.carrier().descriptors()[0], area.bytes(), true)) {
            RawMemory.putLong(atCaller.address() + 4096, 42);
            assertThat(RawMemory.getLong(atServer.address() + 4096)).isEqualTo(42);
            Waits.until("only the two applications have its descriptor", () -> channelDescriptors() == before + 2);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void aChannelIsRefusedUnlessOneAttachedApplicationServesTheFunction(String serversNode) throws ProtocolException {
        start(serversNode);
        long second = server.serve("f");
        assertRefused(Code.RPC_FAILED, "\"f\" has 2 servers at node " + serversNode);
        assertThat(server.closeServer(second)).isInstanceOf(Done.class);
        assertThat(connect().caller()).isPositive();

        assertThat(server.closeServer(served)).isInstanceOf(Done.class);
        assertRefused(Code.RPC_FAILED, "nobody serves the function \"f\" at node " + serversNode);

        RpcServer inside = embedded(serversNode).rpc().serve("f");
        opened.push(inside);
        assertRefused(Code.RPC_FAILED, "no attached application serves the function \"f\" at node " + serversNode);
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void anApplicationMayRefuseAnOffer(String serversNode) throws ProtocolException {
        start(serversNode);
        long request = caller.ask(client);
        try (Offer offer = server.offered()) {
            assertThat(server.close(offer.message().channel())).isInstanceOf(Done.class);
        }
        assertThat(caller.failure(request).message()).contains("the serving application closed the channel");
        assertThat(server.hasEnded()).isFalse();
        assertThat(connect().caller()).isPositive();
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void anApplicationThatNeverAnswersAnOfferDelaysNobody(String serversNode) throws ProtocolException {
        start(serversNode);
        List<Long> requests = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            requests.add(caller.ask(client));
        }
        List<Offer> offers = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            offers.add(server.offered());
        }
        // Each of these binds a function, which takes a control request between the nodes.
        ChannelClient other = attach(serversNode);
        for (int i = 0; i < 20; i++) {
            long its = other.serve("g" + i);
            long to = caller.open(RpcKind.CLIENT, serversNode, "g" + i);
            long request = caller.ask(to);
            assertThat(other.takeNext()).isPositive();
            caller.opened(request).close();
            assertThat(other.closeServer(its)).isInstanceOf(Done.class);
        }
        assertThat(requests).as("all are done before the offers' deadline").noneMatch(caller::isAnswered);
        for (long request : requests) {
            assertThat(caller.failure(request).message()).contains("not done within its deadline of 2 s");
        }
        for (Offer offer : offers) {
            assertThat(server.ended().reason()).contains("2 s");
            assertThat(server.take(offer.message().channel())).isInstanceOf(Failed.class);
            offer.close();
        }
        assertThat(connect().caller()).isPositive();
    }

    @Test
    void numbersThatAnApplicationWasNotGivenHaveNoEffect() throws ProtocolException {
        start("n1");
        Numbers channel = connect();
        for (long wrong : new long[] {-1, 0, 2, Long.MAX_VALUE, Long.MIN_VALUE}) {
            assertThat(caller.take(wrong)).isInstanceOf(Failed.class);
            assertThat(caller.close(wrong)).isInstanceOf(Done.class);
            assertThat(caller.failure(caller.ask(wrong)).message())
                    .contains("no function to call has the number " + wrong);
        }
        // The caller's end is not offered; and a function that is served is none to call.
        assertThat(caller.take(channel.caller())).isInstanceOf(Failed.class);
        assertThat(server.failure(server.ask(served)).message())
                .contains("no function to call has the number " + served);
        assertThat(caller.failure(caller.ask(client, Duration.ofNanos(Long.MIN_VALUE)))
                        .message())
                .contains("deadline");
        assertThat(server.hasEnded()).isFalse();
        assertThat(caller.hasEnded()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void anApplicationHasABoundedNumberOfChannels(String serversNode) throws ProtocolException {
        start(serversNode);
        Numbers one = connect();
        for (int i = 1; i < SessionChannels.CALLER_MAX; i++) {
            assertThat(connect().caller()).isPositive();
        }
        assertRefused(Code.LIMIT_EXCEEDED, "calls through 32 channels; the limit is 32");
        ChannelClient other = attach("n0");
        long to = other.open(RpcKind.CLIENT, serversNode, "f");
        assertThat(other.failure(other.ask(to)).message()).contains("is called through 32 channels; the limit is 32");
        assertThat(caller.close(one.caller())).isInstanceOf(Done.class);
        assertThat(server.ended().channel()).isEqualTo(one.server());
        long request = other.ask(to);
        assertThat(server.takeNext()).isPositive();
        other.opened(request).close();
    }

    @Test
    void aNodeHasABoundedNumberOfChannels() throws ProtocolException {
        start("n1", 3, 2);
        assertThat(connect().caller()).isPositive();
        assertThat(connect().caller()).isPositive();
        assertRefused(Code.LIMIT_EXCEEDED, "the applications of node n1 have 2 ends of channels; the limit is 2");
        ChannelClient local = attach("n0");
        long unused = local.serve("g");
        // One of its two ends would be within the limit.
        long to = caller.open(RpcKind.CLIENT, "n0", "g");
        assertThat(caller.failure(caller.ask(to)).message())
                .contains("the applications of node n0 have 3 ends of channels; the limit is 3");
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void channelsMayBeOffAtEitherNode(String offAt) throws ProtocolException {
        start("n1", offAt.equals("n0") ? 0 : 256, offAt.equals("n1") ? 0 : 256);
        assertRefused(Code.RPC_FAILED, "channels are off at node " + offAt);
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void aTakenChannelEndsTheReceivesThatWaitForItsFunction(String serversNode) throws ProtocolException {
        start(serversNode);
        long other = server.serve("g");
        server.receive(1, served);
        server.receive(2, served);
        server.receive(3, other);
        Waits.pass(Duration.ofMillis(50)); // nothing outside of the node shows that they wait
        long request = caller.ask(client);
        try (Offer offer = server.offered()) {
            assertThat(server.isDone(1) || server.isDone(2)).isFalse();
            assertThat(server.take(offer.message().channel())).isInstanceOf(Done.class);
            assertThat(server.isDone(1) && server.isDone(2)).isTrue();
            assertThat(server.status(1)).isEqualTo(Code.TIMEOUT.number());
            caller.opened(request).close();
            // Also one that begins later and does not know of the channel.
            server.receive(1, served);
            Waits.until("it ended", () -> server.isDone(1));
            server.receiveBesideChannels(1, served);
            Waits.pass(Duration.ofMillis(50)); // likewise
            assertThat(server.isDone(1)).isFalse();
            server.close(offer.message().channel());
            Waits.until("it ended", () -> server.isDone(1));
            assertThat(server.status(1)).isEqualTo(Code.TIMEOUT.number());
        }
        assertThat(server.isDone(3)).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void manyChannelsLeaveNoDescriptor(String serversNode) throws ProtocolException {
        start(serversNode);
        long before = channelDescriptors();
        for (int i = 0; i < 100; i++) {
            long request = caller.ask(client);
            if (i % 4 == 0) {
                try (Offer offer = server.offered()) {
                    assertThat(server.close(offer.message().channel())).isInstanceOf(Done.class);
                }
                assertThat(caller.failure(request).message()).isNotEmpty();
                continue;
            }
            long atServer = server.takeNext();
            try (Opened channel = caller.opened(request)) {
                assertThat(i % 2 == 0 ? caller.close(channel.number()) : server.close(atServer))
                        .isInstanceOf(Done.class);
            }
        }
        Waits.until("no descriptor of a channel is left", () -> channelDescriptors() == before);
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void aPrincipalWhoseCallsPassTheNodesGetsNoneAndLosesThoseThatItHas(String serversNode) throws ProtocolException {
        start(serversNode);
        long before = channelDescriptors();
        Numbers channel = connect();
        NodeChannels node = cluster().node("n0").channels();
        ChannelTimes.setRetirement(node, Waits.seconds(0.5));
        node.passNodes((principal, betweenHosts) -> false);
        assertThat(caller.hasEnded()).isFalse();
        node.passNodes((principal, betweenHosts) -> principal.startsWith("uid:"));
        ChannelRetired retired = caller.retired();
        assertThat(retired.channel()).isEqualTo(channel.caller());
        assertThat(retired.reason()).contains("pass the nodes");
        // The application does not close it.
        assertThat(caller.ended().channel()).isEqualTo(channel.caller());
        assertThat(server.ended().channel()).isEqualTo(channel.server());
        assertRefused(Code.RPC_FAILED, "pass the nodes, because of its priority or its quota");
        Waits.until("no descriptor of a channel is left", () -> channelDescriptors() == before);
        node.passNodes((principal, betweenHosts) -> false);
        assertThat(connect().caller()).isPositive();
    }

    /** Between the look whether the principal may have one, and the moment in which others see the channel. */
    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void aPrincipalGetsNoneIfItsCallsPassTheNodesSinceAMoment(String serversNode) throws ProtocolException {
        start(serversNode);
        NodeChannels node = cluster().node("n0").channels();
        node.passNodes((principal, betweenHosts) -> {
            node.passNodes((any, anywhere) -> true);
            return false;
        });
        assertRefused(Code.RPC_FAILED, "pass the nodes, because of its priority or its quota");
    }
}
