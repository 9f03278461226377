package dev.lite.cluster;

import dev.lite.api.LimitExceededException;
import dev.lite.api.NodeUnreachableException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The rules for names and ids of nodes, and their error messages, shared by all directory implementations. */
final class NodeIds {
    private NodeIds() {}

    static void check(String name, int heldId) {
        NodeAdvert.checkName(name);
        if (heldId != NodeAdvert.NO_ID && (heldId < 0 || heldId > ClusterDirectory.NODE_ID_MAX)) {
            throw new IllegalArgumentException("the node \"%s\" holds the id %d; ids are 0 to %d"
                    .formatted(name, heldId, ClusterDirectory.NODE_ID_MAX));
        }
    }

    static NodeRecord record(NodeAdvert advert, int id, long incarnation) {
        return new NodeRecord(
                advert.name(),
                id,
                incarnation,
                advert.host(),
                advert.arenaBytes(),
                advert.fabrics(),
                advert.process(),
                advert.key(),
                advert.arenaVolatile());
    }

    /** Whether {@code record} is the registration {@code mine}. */
    static boolean isRegistered(NodeRecord record, @Nullable NodeRecord mine) {
        if (mine == null) {
            throw new IllegalStateException(
                    "this directory has not registered the node \"%s\", nor any other".formatted(record.name()));
        }
        return record.id() == mine.id() && record.incarnation() == mine.incarnation();
    }

    static NodeUnreachableException heldIdDiffers(String name, int heldId, int known) {
        return new NodeUnreachableException(
                "the arena of the node \"%s\" belongs to the id %d, but this cluster knows the node by the id %d; is it the arena of another cluster?"
                        .formatted(name, heldId, known));
    }

    static NodeUnreachableException heldIdTaken(String name, int heldId, String owner) {
        return new NodeUnreachableException(
                "the arena of the node \"%s\" belongs to the id %d, but in this cluster that is the id of the node \"%s\"; was the node renamed, or is it the arena of another cluster?"
                        .formatted(name, heldId, owner));
    }

    static LimitExceededException exhausted(String name) {
        return new LimitExceededException("no id is left for the node \"%s\": all %d are in use by other names"
                .formatted(name, ClusterDirectory.NODE_ID_MAX + 1));
    }

    static NodeUnreachableException nameTaken(NodeRecord other, Duration waited) {
        String wait = waited.isZero() ? "" : "; waited %d ms for it to leave".formatted(waited.toMillis());
        return new NodeUnreachableException(
                "a node named \"%s\" is registered already, from the host %s (id %d, incarnation %d)%s"
                        .formatted(other.name(), other.host(), other.id(), other.incarnation(), wait));
    }
}
