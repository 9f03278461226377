package dev.lite.cluster;

import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
import java.time.Duration;

/** The rules of names and numbers of nodes, and the words in which a node is refused: the same in every directory. */
final class NodeIds {
    private NodeIds() {}

    static void checkHeldId(NodeAdvert advert) {
        int id = advert.heldId();
        if (id != NodeAdvert.NO_ID && (id < 0 || id > ClusterDirectory.NODE_ID_MAX)) {
            throw new IllegalArgumentException("the node \"%s\" holds the id %d; ids are 0 to %d"
                    .formatted(advert.name(), id, ClusterDirectory.NODE_ID_MAX));
        }
    }

    static NodeRecord record(NodeAdvert advert, int id, long incarnation) {
        return new NodeRecord(advert.name(), id, incarnation, advert.host(), advert.arenaBytes(), advert.fabrics());
    }

    static NodeUnreachableException heldIdDiffers(NodeAdvert advert, int known) {
        return new NodeUnreachableException(
                "the arena of the node \"%s\" belongs to the id %d, but this cluster knows the node by the id %d; is it the arena of another cluster?"
                        .formatted(advert.name(), advert.heldId(), known));
    }

    static NodeUnreachableException heldIdTaken(NodeAdvert advert, String owner) {
        return new NodeUnreachableException(
                "the arena of the node \"%s\" belongs to the id %d, but in this cluster that is the id of the node \"%s\"; was the node renamed, or is it the arena of another cluster?"
                        .formatted(advert.name(), advert.heldId(), owner));
    }

    static LimitExceededException exhausted(NodeAdvert advert) {
        return new LimitExceededException("no id is left for the node \"%s\": all %d are given to other names"
                .formatted(advert.name(), ClusterDirectory.NODE_ID_MAX + 1));
    }

    static NodeUnreachableException nameTaken(NodeRecord other, Duration waited) {
        String wait = waited.isZero() ? "" : "; waited %d ms for it to leave".formatted(waited.toMillis());
        return new NodeUnreachableException(
                "a node named \"%s\" is registered already, from the host %s (id %d, incarnation %d)%s"
                        .formatted(other.name(), other.host(), other.id(), other.incarnation(), wait));
    }
}
