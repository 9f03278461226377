package dev.lite.cluster;

import static dev.lite.cluster.ClusterDirectoryContract.DEADLINE;
import static dev.lite.cluster.ClusterDirectoryContract.RACERS;
import static dev.lite.cluster.ClusterDirectoryContract.advert;
import static dev.lite.cluster.ClusterDirectoryContract.race;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.NodeUnreachableException;
import dev.lite.testing.Waits;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Registrations, and the notifications about them. */
interface MembershipCases extends DirectoryCases {

    private static NodeAdvert holding(String name, int id) {
        return new NodeAdvert(name, id, "host", 1 << 20, Map.of());
    }

    @Test
    default void everySessionSeesANodeFromItsRegistrationToItsEnd() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        RecordingListener recorded = new RecordingListener();
        other.addListener(recorded);

        NodeRecord registered = one.register(advert("a"), DEADLINE);

        assertThat(registered)
                .isEqualTo(new NodeRecord(
                        "a", 0, registered.incarnation(), "host-of-a/boot", 1 << 20, Map.of("shm", "/x/a")));
        assertThat(other.nodesNow(DEADLINE)).containsExactly(registered);
        Waits.until(
                "the listener is notified of the join",
                () -> recorded.lastNodes().equals(List.of("a")));
        assertThat(other.nodes()).containsExactly(registered);

        one.close();

        Waits.until(
                "the listener is notified of the leave",
                () -> recorded.lastNodes().isEmpty());
        assertThat(other.nodesNow(DEADLINE)).isEmpty();
        assertThat(other.nodes()).isEmpty();
    }

    @Test
    default void aManagementUrlIsPublishedWithoutAChangeOfTheMembership() {
        ClusterDirectory one = open();
        ClusterDirectory other = open();
        RecordingListener recorded = new RecordingListener();
        NodeRecord registered = one.register(advert("a"), DEADLINE);
        open().register(advert("b"), DEADLINE);
        Waits.until("both are seen", () -> other.nodes().size() == 2);
        other.addListener(recorded);
        Waits.until("the listener is notified", () -> recorded.lastNodes().equals(List.of("a", "b")));

        one.publishManagementUrl("http://a:7410/actuator");

        Waits.until("the URL is seen", () -> other.managementUrls().equals(Map.of("a", "http://a:7410/actuator")));
        assertThat(other.nodesNow(DEADLINE)).contains(registered);
        assertThat(recorded.nodes).hasSize(1);

        expire(one);
        Waits.until(
                "it is registered again",
                () -> other.nodes().stream().anyMatch(node -> node.incarnation() > registered.incarnation()));
        assertThat(other.managementUrls()).containsKey("a");
        one.close();
        Waits.until("it is gone with its node", () -> other.managementUrls().isEmpty());
    }

    @Test
    default void aLateListenerIsNotifiedOfTheExistingNodes() {
        ClusterDirectory one = open();
        one.register(advert("a"), DEADLINE);
        Waits.until("the node is seen", () -> !one.nodes().isEmpty());
        RecordingListener late = new RecordingListener();

        one.addListener(late);

        Waits.until(
                "the listener is notified of the node", () -> late.lastNodes().equals(List.of("a")));
    }

    @Test
    default void aThrowingListenerDoesNotPreventOtherNotifications() {
        ClusterDirectory one = open();
        one.addListener(new DirectoryListener() {
            @Override
            public void nodesChanged(List<NodeRecord> nodes) {
                throw new IllegalStateException("thrown by a test");
            }
        });
        RecordingListener recorded = new RecordingListener();
        one.addListener(recorded);

        one.register(advert("a"), DEADLINE);

        Waits.until(
                "the listener is notified of the node",
                () -> recorded.lastNodes().equals(List.of("a")));
    }

    @Test
    default void nodesWithDifferentNamesGetDifferentIdsAndAreListedInOrder() {
        List<NodeRecord> registered = race(racer -> open().register(advert("node-" + (RACERS - racer)), DEADLINE));

        assertThat(registered.stream().map(NodeRecord::id))
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, RACERS).boxed().toList());
        assertThat(open().nodesNow(DEADLINE).stream().map(NodeRecord::id))
                .containsExactlyElementsOf(IntStream.range(0, RACERS).boxed().toList());
    }

    @Test
    default void aRestartedNodeHasItsIdAndALargerIncarnation() {
        open().register(advert("other"), DEADLINE);
        ClusterDirectory first = open();
        NodeRecord before = first.register(advert("a"), DEADLINE);
        first.close();
        ClusterDirectory between = open();
        between.register(advert("between"), DEADLINE);

        NodeRecord after = open().register(holding("a", before.id()), DEADLINE);

        assertThat(after.id()).isEqualTo(before.id()).isEqualTo(1);
        assertThat(after.incarnation()).isGreaterThan(before.incarnation());
    }

    @Test
    default void theLastIncarnationsAreKnownOfLiveNodesAndOfNodesThatLeft() {
        ClusterDirectory left = open();
        int id = left.register(advert("left"), DEADLINE).id();
        left.close();
        ClusterDirectory again = open();
        NodeRecord last = again.register(advert("left"), DEADLINE);
        again.close();
        ClusterDirectory reader = open();
        NodeRecord live = reader.register(advert("live"), DEADLINE);
        int claimed = reader.claimId("claimed", NodeAdvert.NO_ID, DEADLINE);

        assertThat(reader.incarnationsNow(DEADLINE))
                .containsOnly(
                        Map.entry(id, last.incarnation()),
                        Map.entry(live.id(), live.incarnation()),
                        Map.entry(claimed, 0L));
    }

    @Test
    default void theIdOfAnExistingArenaIsKeptOrRefused() {
        NodeRecord held = open().register(holding("a", 7), DEADLINE);
        assertThat(held.id()).isEqualTo(7);

        assertThatThrownBy(() -> open().register(holding("b", 7), DEADLINE))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessageContaining("\"b\"")
                .hasMessageContaining("id 7")
                .hasMessageContaining("\"a\"");
        NodeRecord other = open().register(advert("c"), DEADLINE);
        assertThatThrownBy(() -> open().register(holding("c", 9), DEADLINE))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessageContaining("id 9")
                .hasMessageContaining("id " + other.id());
        assertThatThrownBy(() -> open().register(holding("d", 1024), DEADLINE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("1024")
                .hasMessageContaining("1023");
    }

    @Test
    default void aClaimedIdIsUsedForTheRegistration() {
        ClusterDirectory one = open();
        assertThat(one.claimId("a", 3, DEADLINE)).isEqualTo(3);
        assertThat(one.claimId("b", NodeAdvert.NO_ID, DEADLINE)).isZero();
        assertThat(one.claimId("b", NodeAdvert.NO_ID, DEADLINE)).isZero();
        assertThat(one.nodesNow(DEADLINE)).isEmpty();

        assertThat(one.register(advert("a"), DEADLINE).id()).isEqualTo(3);
        assertThatThrownBy(() -> one.claimId("c", 3, DEADLINE)).isInstanceOf(NodeUnreachableException.class);
        assertThatThrownBy(() -> one.claimId("c/d", NodeAdvert.NO_ID, DEADLINE))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    default void aSecondNodeWithALiveNameIsRefusedWithTheHostOfTheFirst() {
        NodeRecord first = open().register(advert("a"), DEADLINE);
        ClusterDirectory second = open();

        assertThatThrownBy(() -> second.register(advert("a"), Waits.seconds(2)))
                .isInstanceOf(NodeUnreachableException.class)
                .hasMessageContaining("\"a\"")
                .hasMessageContaining("host-of-a");
        assertThat(second.nodesNow(DEADLINE)).containsExactly(first);
        assertThat(second.register(advert("b"), DEADLINE).id()).isEqualTo(1);
    }

    @Test
    default void aDirectorySessionRegistersOnlyOneNode() {
        ClusterDirectory one = open();
        one.register(advert("a"), DEADLINE);

        assertThatThrownBy(() -> one.register(advert("b"), DEADLINE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("\"a\"");
    }
}
