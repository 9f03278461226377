package dev.lite.tier.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.RpcFailedException;
import org.junit.jupiter.api.Test;

/** The table of a node's ends: its limit, and ends that another node ends before they are kept. */
class ChannelTableTest {
    private final ChannelTable table = new ChannelTable("n", 2);

    @SuppressWarnings("NullAway") // the table does not use the session
    private static ChannelEnd end(long tag, long server) {
        return new ChannelEnd(null, 1, server, null, tag);
    }

    @Test
    void anEndThatOvertakesItsOpenRefusesTheServersEndOnly() {
        assertThat(table.findOrRefuse(new ChannelTable.Key(null, 7, false))).isNull();
        assertThat(table.findOrRefuse(new ChannelTable.Key(null, 8, true))).isNull();
        table.keep(end(7, ChannelEnd.CALLER));
        assertThatThrownBy(() -> table.keep(end(7, 3)))
                .isInstanceOf(RpcFailedException.class)
                .hasMessage(NodeChannels.CALLER_GONE);
        table.keep(end(8, ChannelEnd.CALLER));
        assertThat(table.find(new ChannelTable.Key(null, 7, false))).isNull();
    }

    @Test
    void theLimitCountsTheEndsThatAreKept() {
        ChannelEnd first = end(1, 3);
        table.keep(first);
        table.keep(end(1, ChannelEnd.CALLER));
        assertThatThrownBy(() -> table.keep(end(2, 3)))
                .isInstanceOf(LimitExceededException.class)
                .hasMessage("the applications of node n have 2 ends of channels; the limit is 2");
        table.forget(end(1, 3)); // another one with the same tag
        assertThatThrownBy(() -> table.keep(end(2, 3))).isInstanceOf(LimitExceededException.class);
        table.forget(first);
        table.keep(end(2, 3));
        assertThat(table.close()).hasSize(2);
        assertThatThrownBy(() -> table.keep(end(3, 3)))
                .isInstanceOf(RpcFailedException.class)
                .hasMessage("node n is stopping");
    }

    @Test
    void anEndTellsItsApplicationOnceAndNotBeforeItKnowsTheChannel() {
        ChannelEnd early = end(1, 3);
        assertThat(early.end("why")).isTrue();
        assertThat(early.end("again")).isFalse();
        assertThat(early.tellNow()).isFalse();
        assertThat(early.announce()).isEqualTo("why");
        assertThat(early.taken).isCompletedExceptionally();

        ChannelEnd late = end(2, 3);
        assertThat(late.announce()).isNull();
        assertThat(late.end("why")).isTrue();
        assertThat(late.tellNow()).isTrue();

        ChannelEnd unsaid = end(3, 3);
        assertThat(unsaid.end("its application closed it")).isTrue();
        assertThat(unsaid.announce()).isNull();
    }
}
