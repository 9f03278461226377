package dev.lite.tier.peer;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The data that two nodes exchange when they connect.
 *
 * @param cluster the cluster's name
 * @param nodeId the node's number
 * @param node the node's name, for messages
 * @param instance random number of the node's process; a restarted node has another one
 * @param arenaId random id of the arena; a re-adopted arena keeps its id
 * @param controlOffset offset of the node's control areas in its arena
 * @param peersMax number of its control areas
 */
public record Hello(
        String cluster, int nodeId, String node, long instance, UUID arenaId, long controlOffset, int peersMax) {
    /** The version of the protocol between nodes that this node speaks. */
    static final int PROTOCOL_VERSION = 8;

    /**
     * The oldest version with which this node works. A new version works with the one before, so that nodes can be upgraded one by one,
     * unless the protocol changes too much; then this is the same as the version.
     */
    static final int OLDEST_VERSION = 8;

    /** From this version on, a hello begins with the version, the oldest version and the node's number. */
    private static final int LAYOUT_VERSION = 8;

    /** A peer whose version is too far from this node's. */
    static final class OtherVersionException extends IllegalArgumentException {
        private static final long serialVersionUID = 1L;
        private final int nodeId;

        private OtherVersionException(String message, int nodeId) {
            super(message);
            this.nodeId = nodeId;
        }

        /** The peer's number; -1 if its hello is too old to have it at a known place. */
        int nodeId() {
            return nodeId;
        }
    }

    /** The reason why this node refuses a connection to another node; null if it accepts. */
    @Nullable
    String objectionTo(Hello other) {
        if (!other.cluster.equals(cluster)) {
            return "it belongs to cluster \"%s\", this node to \"%s\"".formatted(other.cluster, cluster);
        }
        if (other.nodeId < 0 || other.nodeId >= peersMax) {
            return "its id is %d; this node serves ids below %d (lite.node.limits.nodes)"
                    .formatted(other.nodeId, peersMax);
        }
        if (nodeId >= other.peersMax) {
            return "it serves ids below %d (lite.node.limits.nodes); this node's is %d"
                    .formatted(other.peersMax, nodeId);
        }
        return other.nodeId == nodeId ? "it has this node's id, " + nodeId : null;
    }

    /** The bytes for {@link dev.lite.fabric.FabricConfig#hello}. */
    public byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(PROTOCOL_VERSION);
            out.writeInt(OLDEST_VERSION);
            out.writeInt(nodeId);
            out.writeLong(instance);
            out.writeLong(arenaId.getMostSignificantBits());
            out.writeLong(arenaId.getLeastSignificantBits());
            out.writeLong(controlOffset);
            out.writeInt(peersMax);
            out.writeUTF(cluster);
            out.writeUTF(node);
        } catch (IOException e) {
            throw new UncheckedIOException("memory cannot fail", e);
        }
        return bytes.toByteArray();
    }

    /**
     * Reads a peer's hello. A newer version may add fields at the end, which are ignored.
     *
     * @throws OtherVersionException if one of the nodes does not work with the other's version
     * @throws IllegalArgumentException if the bytes are no hello
     */
    static Hello decode(byte[] bytes) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            int version = in.readInt();
            String objection = objectionToVersion(version, in.readInt());
            if (objection != null) {
                throw new OtherVersionException(objection, version < LAYOUT_VERSION ? -1 : in.readInt());
            }
            int nodeId = in.readInt();
            long instance = in.readLong();
            UUID arenaId = new UUID(in.readLong(), in.readLong());
            long controlOffset = in.readLong();
            int peersMax = in.readInt();
            return new Hello(in.readUTF(), nodeId, in.readUTF(), instance, arenaId, controlOffset, peersMax);
        } catch (IOException e) {
            throw new IllegalArgumentException("%d bytes are no hello of a LITE node".formatted(bytes.length), e);
        }
    }

    /** The newer of two nodes decides. A version before 8 does not say its oldest one, but is too old anyway. */
    private static @Nullable String objectionToVersion(int version, int oldest) {
        if (version < OLDEST_VERSION) {
            return "the peer speaks version %d of the node protocol, this node works with %d to %d: upgrade the peer"
                    .formatted(version, OLDEST_VERSION, PROTOCOL_VERSION);
        }
        return oldest > PROTOCOL_VERSION
                ? "the peer works with versions %d to %d of the node protocol, this node speaks %d: upgrade this node"
                        .formatted(oldest, version, PROTOCOL_VERSION)
                : null;
    }
}
