package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LiteException.Code;
import dev.lite.session.channel.LinkKeys;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.session.protocol.SessionProtocol;
import dev.lite.testing.Waits;
import dev.lite.tier.channel.ChannelTimes;
import dev.lite.tier.session.ChannelClient.Offer;
import dev.lite.tier.session.ChannelClient.Opened;
import dev.lite.tier.testing.TestCluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Channels whose ends have a connection: who gets one, and that nothing is left of it. */
@ParameterizedClass
@EnumSource(
        value = Between.class,
        names = {"TCP", "PLAIN_TCP", "TLS"})
@Isolated("it counts the descriptors of its process")
class LinksTest extends ChannelCases {
    LinksTest(Between between) {
        super(between);
    }

    @Test
    void theApplicationsHaveAConnectionAndItsKeysAndTheNodesKeepNothing() throws ProtocolException {
        start("n1");
        long before = channelDescriptors();
        List<LinkKeys> seen = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            long request = caller.ask(client);
            try (Offer offer = server.offered()) {
                assertThat(server.take(offer.message().channel())).isInstanceOf(Done.class);
                try (Opened channel = caller.opened(request)) {
                    LinkKeys atCaller = Objects.requireNonNull(channel.keys());
                    LinkKeys atServer = Objects.requireNonNull(offer.message().keys());
                    assertThat(atCaller.isNone()).isEqualTo(between == Between.PLAIN_TCP);
                    assertThat(atServer.send()).isEqualTo(atCaller.receive());
                    assertThat(atServer.receive()).isEqualTo(atCaller.send());
                    if (!atCaller.isNone()) {
                        assertThat(seen).doesNotContain(atCaller);
                        assertThat(atCaller.send()).isNotEqualTo(atCaller.receive());
                        seen.add(atCaller);
                    }
                    Waits.until(
                            "only the two applications have a descriptor", () -> channelDescriptors() == before + 2);
                }
            }
        }
        assertACallPasses();
        Waits.until("no descriptor of a channel is left", () -> channelDescriptors() == before);
    }

    @Test
    void anApplicationOfAnOlderVersionGetsNone() throws ProtocolException {
        start("n1");
        int older = SessionProtocol.LINKS_VERSION - 1;
        ChannelClient old = new ChannelClient(socket("n0"), older);
        opened.push(old);
        Failed asCaller = old.failure(old.ask(old.open(RpcKind.CLIENT, "n1", "f")));
        assertThat(asCaller.message()).contains("the calling application is of an older version");
        assertThat(asCaller.code()).isEqualTo(Code.RPC_FAILED.number());

        ChannelClient oldServer = new ChannelClient(socket("n1"), older);
        opened.push(oldServer);
        assertThat(oldServer.serve("g")).isPositive();
        Failed asServer = caller.failure(caller.ask(caller.open(RpcKind.CLIENT, "n1", "g")));
        assertThat(asServer.message()).contains("the application that serves the function is of an older version");

        // On one host it gets channels.
        ChannelClient near = new ChannelClient(socket("n1"), older);
        opened.push(near);
        long request = near.ask(near.open(RpcKind.CLIENT, "n1", "g"));
        assertThat(oldServer.takeNext()).isPositive();
        try (Opened channel = near.opened(request)) {
            assertThat(channel.keys()).isNull();
        }
        assertThat(connect().caller()).isPositive();
    }

    @Test
    void applicationsOfAnOlderVersionCallEachOtherThroughTheNodes() throws ProtocolException {
        start("n1");
        int older = SessionProtocol.LINKS_VERSION - 1;
        ChannelClient oldCaller = new ChannelClient(socket("n0"), older);
        opened.push(oldCaller);
        ChannelClient oldServer = new ChannelClient(socket("n1"), older);
        opened.push(oldServer);
        long atServer = oldServer.serve("g");
        long atCaller = oldCaller.open(RpcKind.CLIENT, "n1", "g");
        assertThat(oldCaller.failure(oldCaller.ask(atCaller)).message()).contains("older version");
        oldServer.receive(1, atServer);
        oldCaller.call(1, atCaller, 41);
        Waits.until("the call is there", () -> oldServer.isDone(1));
        assertThat(oldServer.status(1)).isZero();
        oldServer.answer(2, atServer, 1);
        Waits.until("the reply is there", () -> oldCaller.isDone(1));
        assertThat(oldCaller.status(1)).isZero();
        assertThat(oldCaller.number(1)).isEqualTo(42);
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void theOptionOfEitherNodeTurnsThemOff(String offAt) throws ProtocolException {
        TestCluster nodes = new TestCluster(directory, between.fabric(directory));
        Map<String, String> off = new HashMap<>(TestCluster.TCP);
        off.put("channels", "false");
        var callers = nodes.config("n0").toBuilder();
        var servers = nodes.config("n1").toBuilder();
        (offAt.equals("n0") ? callers : servers).fabricOptions("tcp", off);
        start("n1", nodes, callers.build(), servers.build());
        long startNs = System.nanoTime();
        assertRefused(
                Code.RPC_FAILED,
                "the fabric tcp of node %s makes no channels to node %s"
                        .formatted(offAt, offAt.equals("n0") ? "n1" : "n0"));
        assertThat(System.nanoTime() - startNs)
                .as("refused before anything waits for a connection")
                .isLessThan(Waits.scaled(Duration.ofMillis(1500)).toNanos());
    }

    /** More than a connection of nodes keeps or opens at a time. */
    @Test
    void offersThatAreRefusedOrNotAnsweredLeaveNoDescriptor() throws ProtocolException {
        start("n1");
        long before = channelDescriptors();
        for (int i = 0; i < 20; i++) {
            long request = caller.ask(client);
            try (Offer offer = server.offered()) {
                assertThat(server.close(offer.message().channel())).isInstanceOf(Done.class);
                assertThat(caller.failure(request).message()).contains("the serving application closed the channel");
                assertThat(server.take(offer.message().channel())).isInstanceOf(Failed.class);
            }
        }
        ChannelTimes.setAnswerMax(cluster().node("n1").channels(), Waits.seconds(0.5));
        for (int round = 0; round < 2; round++) {
            List<Long> requests = new ArrayList<>();
            List<Offer> offers = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                requests.add(caller.ask(client));
            }
            for (int i = 0; i < 10; i++) {
                offers.add(server.offered());
            }
            for (long request : requests) {
                assertThat(caller.failure(request).message()).contains("not done within its deadline");
            }
            for (Offer offer : offers) {
                assertThat(server.ended().reason()).isNotEmpty();
                assertThat(server.take(offer.message().channel())).isInstanceOf(Failed.class);
                offer.close();
            }
        }
        ChannelTimes.setAnswerMax(cluster().node("n1").channels(), GENEROUS);
        Waits.until("no descriptor of a channel is left", () -> channelDescriptors() == before);
        assertThat(connect().caller()).isPositive();
    }

    /** In whichever step it is: the shortest deadlines pass before the nodes have made the connection. */
    @Test
    void anOpenWhoseDeadlinePassesInAnyStepLeavesNoDescriptor() throws ProtocolException {
        start("n1");
        long before = channelDescriptors();
        for (int i = 0; i < 60; i++) {
            long request = caller.ask(client, Duration.ofNanos(i * 100_000L));
            assertThat(caller.failure(request).message()).isNotEmpty();
        }
        Waits.until("no descriptor of a channel is left", () -> {
            server.closeOffers();
            return channelDescriptors() == before;
        });
        server.closeOffers();
        assertThat(connect().caller()).isPositive();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aSessionThatEndsMeanwhileLeavesNoDescriptor(boolean callers) throws ProtocolException {
        start("n1");
        long before = channelDescriptors();
        for (int i = 0; i < 10; i++) {
            ChannelClient going = attach(callers ? "n0" : "n1");
            if (callers) {
                assertThat(going.ask(going.open(RpcKind.CLIENT, "n1", "f"))).isPositive();
                if (i % 2 == 0) {
                    server.offered().close();
                }
                going.close();
            } else {
                assertThat(going.serve("g" + i)).isPositive();
                long request = caller.ask(caller.open(RpcKind.CLIENT, "n1", "g" + i));
                if (i % 2 == 0) {
                    going.offered().close();
                }
                going.close();
                assertThat(caller.failure(request).message()).isNotEmpty();
            }
        }
        Waits.until("no descriptor of a channel is left", () -> {
            server.closeOffers();
            return channelDescriptors() == before;
        });
        server.closeOffers();
        assertThat(connect().caller()).isPositive();
    }
}
