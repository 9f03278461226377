package dev.lite.cluster;

import static dev.lite.cluster.ClusterDirectoryContract.DEADLINE;
import static dev.lite.cluster.ClusterDirectoryContract.advert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.testing.Waits;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Epochs: the recorded membership, and the nodes' acknowledgements. */
interface EpochCases extends DirectoryCases {

    private static void awaitMembers(ClusterDirectory directory, NodeRecord... nodes) {
        List<Epoch.Member> members = Arrays.stream(nodes)
                .map(node -> new Epoch.Member(node.id(), node.name(), node.incarnation()))
                .toList();
        Waits.until("the epoch of " + members, () -> directory.epoch().members().equals(members));
    }

    @Test
    default void everyChangeOfTheMembershipCreatesANewEpoch() {
        ClusterDirectory one = open();
        RecordingListener recorded = new RecordingListener();
        one.addListener(recorded);
        assertThat(one.epoch()).isEqualTo(Epoch.NONE);
        assertThat(one.epochNow(DEADLINE)).isEqualTo(Epoch.NONE);
        keepEpochs();

        NodeRecord a = one.register(advert("a"), DEADLINE);
        awaitMembers(one, a);
        NodeRecord b = open().register(advert("b"), DEADLINE);
        awaitMembers(one, a, b);

        assertThat(one.epochNow(DEADLINE)).isEqualTo(one.epoch());
        Waits.until("the listener is notified", () -> recorded.epochs.contains(one.epoch()));
        assertThat(recorded.epochs).isSortedAccordingTo(Comparator.comparingLong(Epoch::number));
        assertThat(recorded.epochs.getLast().removals()).isEmpty();
        RecordingListener late = new RecordingListener();
        one.addListener(late);
        Waits.until("a late listener is notified", () -> late.epochs.equals(List.of(one.epoch())));
    }

    @Test
    default void aRemovalIsFencedOnlyWhenEveryLiveNodeHasAcknowledgedIt() {
        ClusterDirectory one = open();
        ClusterDirectory two = open();
        ClusterDirectory three = open();
        NodeRecord a = one.register(advert("a"), DEADLINE);
        NodeRecord b = two.register(advert("b"), DEADLINE);
        NodeRecord c = three.register(advert("c"), DEADLINE);
        keepEpochs();
        awaitMembers(one, a, b, c);

        three.close();
        awaitMembers(one, a, b);
        awaitMembers(two, a, b);

        Epoch removed = one.epoch();
        assertThat(removed.pending())
                .containsExactly(new Epoch.Removal(c.id(), "c", c.incarnation(), removed.number(), false));
        assertThat(removed.isRemoved(c.id(), c.incarnation())).isTrue();
        assertThat(removed.isRemoved(c.id(), c.incarnation() + 1)).isFalse();
        assertThat(one.acknowledge(a, removed.number(), DEADLINE)).isTrue();
        assertThat(two.acknowledge(b, removed.number() - 1, DEADLINE)).isTrue();
        Waits.pass(Waits.scaled(Duration.ofMillis(200)));
        assertThat(one.epochNow(DEADLINE)).isEqualTo(removed);

        assertThat(two.acknowledge(b, removed.number(), DEADLINE)).isTrue();
        assertThat(two.acknowledge(b, removed.number() - 1, DEADLINE)).isTrue(); // changes nothing

        Waits.until("it is fenced", () -> one.epoch().isFenced(c.id(), c.incarnation()));
        assertThat(one.epoch().number()).isEqualTo(removed.number());
        assertThat(one.epoch().pending()).isEmpty();
        assertThat(one.epoch().isFenced(c.id(), c.incarnation() + 1)).isFalse();
        Waits.until("the other session sees it", () -> two.epoch().equals(one.epoch()));
    }

    @Test
    default void anAcknowledgementEndsWithItsRegistration() {
        ClusterDirectory one = open();
        ClusterDirectory two = open();
        NodeRecord a = one.register(advert("a"), DEADLINE);
        two.register(advert("b"), DEADLINE);
        RecordingListener recorded = new RecordingListener();
        one.addListener(recorded);
        keepEpochs();
        assertThat(one.acknowledge(a, 1000, DEADLINE)).isTrue();
        expire(one);
        Waits.until("it is registered again", () -> !recorded.registeredAgain.isEmpty());
        NodeRecord again = recorded.registeredAgain.getFirst();

        two.close();
        awaitMembers(one, again);

        Epoch removed = one.epoch();
        assertThat(removed.isRemoved(a.id(), a.incarnation())).isTrue();
        assertThat(one.acknowledge(a, removed.number(), DEADLINE)).isFalse();
        Waits.pass(Waits.scaled(Duration.ofMillis(200)));
        assertThat(one.epochNow(DEADLINE).pending()).hasSize(2);

        assertThat(one.acknowledge(again, removed.number(), DEADLINE)).isTrue();

        Waits.until("both are fenced", () -> one.epoch().pending().isEmpty());
        assertThat(one.epoch().isFenced(a.id(), a.incarnation())).isTrue();
        assertThat(one.epoch().isFenced(again.id(), again.incarnation())).isFalse();
    }

    @Test
    default void withoutAKeeperNoNodeIsRemovedAndANewKeeperCatchesUp() {
        ClusterDirectory one = open();
        NodeRecord a = one.register(advert("a"), DEADLINE);
        keepEpochs();
        awaitMembers(one, a);
        stopKeepers();
        Epoch before = one.epoch();

        ClusterDirectory passing = open();
        NodeRecord b = passing.register(advert("b"), DEADLINE);
        passing.close();
        Waits.until("it has registered and left", () -> one.nodes().equals(List.of(a)));
        assertThat(one.epochNow(DEADLINE)).isEqualTo(before);

        keepEpochs();

        Waits.until(
                "a node that was never a member is removed, too",
                () -> one.epoch().isRemoved(b.id(), b.incarnation()));
        assertThat(one.epoch().number()).isEqualTo(before.number() + 1);
    }

    @Test
    default void onlyARegisteredNodeCanAcknowledge() {
        ClusterDirectory one = open();
        NodeRecord a = open().register(advert("a"), DEADLINE);

        assertThatThrownBy(() -> one.acknowledge(a, 1, DEADLINE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("\"a\"");
    }
}
