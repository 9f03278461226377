package dev.lite.tier.channel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.LimitExceededException;
import dev.lite.api.RpcFailedException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The table of a node's ends: its limit, and ends that another node ends before they are kept. */
class ChannelTableTest {
    private final ChannelTable table = new ChannelTable("n", 2);

    private static ChannelEnd end(long tag, long server) {
        return end("a", tag, server);
    }

    @SuppressWarnings("NullAway") // the table only reads the session's principal
    private static ChannelEnd end(String principal, long tag, long server) {
        return new ChannelEnd(new SessionChannels(null, principal, null), 1, server, null, tag);
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

    /** Keeps ends of a principal until one is refused. */
    private static List<ChannelEnd> fill(ChannelTable table, String principal, long firstTag) {
        List<ChannelEnd> kept = new ArrayList<>();
        while (true) {
            ChannelEnd next = end(principal, firstTag + kept.size(), 3);
            try {
                table.keep(next);
            } catch (LimitExceededException full) {
                return kept;
            }
            kept.add(next);
        }
    }

    @Test
    void onePrincipalLeavesEndsToTheOthersAndGetsItsOwnBack() {
        ChannelTable divided = new ChannelTable("n", 16);
        List<ChannelEnd> own = fill(divided, "a", 0);
        assertThat(own).hasSize(8);
        assertThatThrownBy(() -> divided.keep(end("a", 99, 3)))
                .isInstanceOf(LimitExceededException.class)
                .hasMessage(
                        "ends of channels of node n: \"a\" has 8 of 8; all may have 16, and one principal as many as it leaves free");
        assertThat(fill(divided, "b", 100)).hasSize(4);
        assertThat(fill(divided, "c", 200)).hasSize(2);

        own.forEach(divided::forget);
        own.forEach(divided::forget); // again: counts once
        assertThat(fill(divided, "a", 300)).hasSize(5);
    }

    @Test
    void anEndThatIsRefusedBecauseOfItsTagTakesNoPlace() {
        ChannelTable divided = new ChannelTable("n", 16);
        divided.keep(end("b", 1, 3));
        for (int again = 0; again < 16; again++) {
            assertThatThrownBy(() -> divided.keep(end("a", 1, 3)))
                    .isInstanceOf(RpcFailedException.class)
                    .hasMessage("node n has a channel with the tag 1 already");
        }
        assertThat(fill(divided, "a", 2)).hasSize(8);
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
