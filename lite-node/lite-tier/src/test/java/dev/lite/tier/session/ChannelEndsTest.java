package dev.lite.tier.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.LiteException.Code;
import dev.lite.session.protocol.ProtocolException;
import dev.lite.session.protocol.SessionMessage.ChannelEnded;
import dev.lite.session.protocol.SessionMessage.ChannelRetired;
import dev.lite.session.protocol.SessionMessage.Done;
import dev.lite.session.protocol.SessionMessage.Failed;
import dev.lite.session.protocol.SessionMessage.RpcKind;
import dev.lite.testing.Waits;
import dev.lite.tier.session.ChannelClient.Offer;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** All that ends a channel between two applications: both are told, and nothing is left. */
@ParameterizedClass
@EnumSource(
        value = Between.class,
        names = {"ONE_HOST", "TCP"})
class ChannelEndsTest extends ChannelCases {
    ChannelEndsTest(Between between) {
        super(between);
    }

    /** What ends a channel that is open. */
    enum End {
        CALLER_CLOSES("the calling application closed the channel", false, true),
        SERVER_CLOSES("the serving application closed the channel", true, false),
        CALLER_DETACHES("the session of the calling application ended", false, true),
        SERVER_DETACHES("the session of the serving application ended", true, false),
        CALLERS_NODE_STOPS("", true, true),
        SERVERS_NODE_STOPS("", true, true),
        REGISTRATION_LOST("", true, true);

        final String reason;
        final boolean callerTold;
        final boolean serverTold;

        End(String reason, boolean callerTold, boolean serverTold) {
            this.reason = reason;
            this.callerTold = callerTold;
            this.serverTold = serverTold;
        }
    }

    @ParameterizedTest
    @EnumSource
    void whateverEndsAChannelBothApplicationsOfTwoNodesAreTold(End end) throws ProtocolException {
        start("n1");
        assertBothAreTold(end, "n1");
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "REGISTRATION_LOST")
    void whateverEndsAChannelBothApplicationsOfOneNodeAreTold(End end) throws ProtocolException {
        start("n0");
        assertBothAreTold(end, "n0");
    }

    private void assertBothAreTold(End how, String serversNode) throws ProtocolException {
        Numbers channel = connect();
        switch (how) {
            case CALLER_CLOSES -> assertThat(caller.close(channel.caller())).isInstanceOf(Done.class);
            case SERVER_CLOSES -> assertThat(server.close(channel.server())).isInstanceOf(Done.class);
            case CALLER_DETACHES -> caller.close();
            case SERVER_DETACHES -> server.close();
            case CALLERS_NODE_STOPS -> cluster().stop("n0");
            case SERVERS_NODE_STOPS -> cluster().stop(serversNode);
            case REGISTRATION_LOST -> cluster().directory(1).expireSession();
        }
        if (how.callerTold) {
            ChannelEnded ended = caller.ended();
            assertThat(ended.channel()).isEqualTo(channel.caller());
            assertThat(ended.reason()).contains(how.reason);
        }
        if (how.serverTold) {
            ChannelEnded ended = server.ended();
            assertThat(ended.channel()).isEqualTo(channel.server());
            assertThat(ended.reason()).contains(how.reason);
        }
    }

    /** What makes the caller close a channel when its calls have ended. */
    enum Retirement {
        FUNCTION_CLOSED("the server of the function \"f\" was closed"),
        SECOND_SERVER("the function \"f\" has another server"),
        EMBEDDED_SERVER("the function \"f\" has another server");

        final String reason;

        Retirement(String reason) {
            this.reason = reason;
        }
    }

    @ParameterizedTest
    @EnumSource
    void theCallerOnAnotherNodeClosesAChannelThatIsRetired(Retirement how) throws ProtocolException {
        start("n1");
        assertCallerIsAsked(how, "n1");
    }

    @ParameterizedTest
    @EnumSource
    void theCallerOnTheSameNodeClosesAChannelThatIsRetired(Retirement how) throws ProtocolException {
        start("n0");
        assertCallerIsAsked(how, "n0");
    }

    private void assertCallerIsAsked(Retirement how, String serversNode) throws ProtocolException {
        Numbers channel = connect();
        switch (how) {
            case FUNCTION_CLOSED -> assertThat(server.closeServer(served)).isInstanceOf(Done.class);
            case SECOND_SERVER -> assertThat(server.serve("f")).isPositive();
            case EMBEDDED_SERVER -> opened.push(embedded(serversNode).rpc().serve("f"));
        }
        ChannelRetired retired = caller.retired();
        assertThat(retired.channel()).isEqualTo(channel.caller());
        assertThat(retired.reason()).contains(how.reason);
        assertThat(server.hasEnded()).isFalse();
        assertThat(caller.close(channel.caller())).isInstanceOf(Done.class);
        assertThat(server.ended().channel()).isEqualTo(channel.server());
    }

    @Test
    void anEndReleasesTheChannelAtBothNodes() throws ProtocolException {
        start("n1", 1, 1);
        for (int i = 0; i < 20; i++) {
            Numbers channel = connect();
            if (i % 2 == 0) {
                assertThat(caller.close(channel.caller())).isInstanceOf(Done.class);
                assertThat(server.ended().channel()).isEqualTo(channel.server());
            } else {
                assertThat(server.close(channel.server())).isInstanceOf(Done.class);
                assertThat(caller.ended().channel()).isEqualTo(channel.caller());
            }
        }
        assertThat(caller.hasEnded()).isFalse();
        assertThat(server.hasEnded()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void aCallerThatStopsWaitingLeavesNothingBehind(String serversNode) throws ProtocolException {
        start(serversNode, 2, 1);
        long request = caller.ask(client, Waits.scaled(Duration.ofMillis(200)));
        try (Offer offer = server.offered()) {
            Failed late = caller.failure(request);
            assertThat(late.code()).isIn(Code.TIMEOUT.number(), Code.RPC_FAILED.number());
            assertThat(late.message()).contains("not done within its deadline");
            assertThat(server.ended().channel()).isEqualTo(offer.message().channel());
        }
        ChannelClient gone = attach("n0");
        long unanswered = gone.ask(gone.open(RpcKind.CLIENT, serversNode, "f"));
        assertThat(unanswered).isPositive();
        try (Offer offer = server.offered()) {
            gone.close();
            assertThat(server.ended().channel()).isEqualTo(offer.message().channel());
            assertThat(server.take(offer.message().channel())).isInstanceOf(Failed.class);
        }
        assertThat(connect().caller()).isPositive();
    }

    @ParameterizedTest
    @ValueSource(strings = {"n0", "n1"})
    void aServerThatGoesWhileItIsAskedRefuses(String serversNode) throws ProtocolException {
        start(serversNode);
        long request = caller.ask(client);
        server.offered().close();
        ChannelClient second = attach(serversNode);
        long other = second.serve("f");
        assertThat(caller.failure(request).message()).contains("has another server at node " + serversNode);
        assertThat(second.closeServer(other)).isInstanceOf(Done.class);

        long again = caller.ask(client);
        server.offered().close();
        server.close();
        assertThat(caller.failure(again).message()).contains("the session of the serving application ended");
    }

    @Test
    void anotherApplicationCannotEndAChannelByItsNumber() throws ProtocolException {
        start("n0");
        Numbers channel = connect();
        ChannelClient stranger = attach("n0");
        assertThat(stranger.close(channel.caller())).isInstanceOf(Done.class);
        assertThat(stranger.close(channel.server())).isInstanceOf(Done.class);
        assertThat(stranger.take(channel.server())).isInstanceOf(Failed.class);
        assertThat(server.hasEnded()).isFalse();
        assertThat(caller.hasEnded()).isFalse();
    }
}
