package dev.lite.tier.node;

import dev.lite.api.Priority;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.fabric.FabricEndpoint;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.onesided.PostedMemory;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.qos.QosService;
import java.util.Optional;

/** The lanes of each connection: all of them, or those of one priority. Any thread. */
record LaneTransfers(PostedMemory posted, PeerLinks links) implements QosService.Transfers {
    @Override
    public RemoteMemory all() {
        return posted;
    }

    @Override
    public RemoteMemory onLanesOf(QosPolicy policy, Priority priority) {
        return posted.onLanes(connection -> {
            int lanes = connection.laneCount();
            return lanes < 2 ? connection : some(connection, lanes, policy.highLanes(lanes), priority);
        });
    }

    /** The first lane also has the short messages of both priorities, so it is one of high priority. */
    private static FabricEndpoint some(FabricEndpoint connection, int lanes, int high, Priority priority) {
        return priority == Priority.HIGH ? connection.onLanes(0, high) : connection.onLanes(high, lanes - high);
    }

    @Override
    public Optional<String> whyNoLanes() {
        return links.whyNoLanes();
    }
}
