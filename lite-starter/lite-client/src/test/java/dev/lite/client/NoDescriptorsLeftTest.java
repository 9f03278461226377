package dev.lite.client;

import static dev.lite.client.SessionFixture.LONG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.api.RpcClient;
import dev.lite.api.RpcServer;
import dev.lite.os.SharedMemory;
import dev.lite.session.channel.ChannelArea;
import dev.lite.session.protocol.SessionMessage.ChannelClose;
import dev.lite.session.protocol.SessionMessage.ChannelOffered;
import dev.lite.session.protocol.SessionMessage.ChannelOpen;
import dev.lite.session.protocol.SessionMessage.ChannelOpened;
import dev.lite.session.protocol.SessionMessage.FromNode;
import dev.lite.testing.NoDescriptors;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** The node passes the descriptor of a channel to an application that has reached its limit of open ones. */
@Isolated("for a moment its process can open nothing")
class NoDescriptorsLeftTest {
    private static final byte[] REQUEST = {1};
    private static final ChannelArea AREA = new ChannelArea(2, 128);

    private SessionFixture fixture;
    private SharedMemory memory;

    @BeforeEach
    void open() throws IOException {
        fixture = new SessionFixture(LONG);
        memory = AREA.create();
    }

    @AfterEach
    void close() throws IOException {
        memory.close();
        fixture.close();
    }

    /** Sends a message with a descriptor; returns the number of the channel that the application then refuses. */
    private long refusedAfter(FromNode message) {
        fixture.node.reply(message, memory.descriptor());
        return fixture.node.awaitRequest(ChannelClose.class).channel();
    }

    @Test
    void theApplicationRefusesAChannelThatIsOfferedAndKeepsItsSession() {
        RpcServer server = fixture.lite.rpc().serve("f");
        ChannelArea tooLarge = new ChannelArea(64, 128);
        assertThat(refusedAfter(new ChannelOffered(6, 1, tooLarge, "node-1", "web", null)))
                .isEqualTo(6);

        long refused = NoDescriptors.during(() -> refusedAfter(new ChannelOffered(7, 1, AREA, "node-1", "web", null)));

        assertThat(refused).isEqualTo(7);
        assertThat(fixture.lite.nodes()).hasSize(1);
        server.close();
    }

    @Test
    void callsGoThroughTheNodeIfAChannelThatIsOpenedCannotBeUsed() {
        fixture.node.holdRequests(ChannelOpen.class::isInstance);
        long first = askForChannel("f-1");
        ChannelArea tooLarge = new ChannelArea(64, 128);
        assertThat(refusedAfter(new ChannelOpened(first, 6, tooLarge, null))).isEqualTo(6);
        long second = askForChannel("f-2");

        long refused = NoDescriptors.during(() -> refusedAfter(new ChannelOpened(second, 7, AREA, null)));

        assertThat(refused).isEqualTo(7);
        assertThat(call("f-2")).isEqualTo(REQUEST);
    }

    /** Calls a function through the node, which begins to ask for a channel; returns the number of that request. */
    private long askForChannel(String function) {
        assertThat(call(function)).isEqualTo(REQUEST);
        return fixture.node.awaitHeldRequest().requestId();
    }

    private byte[] call(String function) {
        RpcClient client = fixture.lite.rpc().bind("n", function);
        return client.call(REQUEST, LONG);
    }
}
