package dev.lite.node;

import dev.lite.api.LiteStatistics.Count;
import dev.lite.api.LiteStatistics.Kind;
import dev.lite.api.NodeInfo;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.node.NodeFigures;
import dev.lite.tier.session.SessionInfo;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The node as {@code /actuator/lite} shows it. Sizes are bytes; counts begin at the node's start.
 *
 * @param name the node's stable name
 * @param id its id
 * @param incarnation grows with each registration
 * @param epoch the number of the epoch that the node knows
 * @param draining whether it takes no new memory because an operator drains or drained it
 * @param arena its memory
 * @param sessions attached applications
 * @param links the other nodes
 * @param lockWaiters locks whose home is this node and that have waiters, by id: how many wait; at most {@value #LOCKS_MAX}
 * @param operations what applications asked this node for, by kind
 * @param transfers transfers to and from other nodes, by fabric and kind
 * @param repeatedTransfers transfers that were repeated after the loss of a connection
 * @param laneTrouble why no lanes can be reserved for a priority; empty if they can
 */
record NodeStatus(
        String name,
        int id,
        long incarnation,
        long epoch,
        boolean draining,
        Arena arena,
        List<Session> sessions,
        List<Link> links,
        Map<String, Integer> lockWaiters,
        Map<String, Count> operations,
        Map<String, Map<String, Count>> transfers,
        long repeatedTransfers,
        String laneTrouble) {
    private static final int LOCKS_MAX = 1000;

    /**
     * The node's memory.
     *
     * @param bytes of the whole arena
     * @param usedBytes of LMRs and of what the node itself needs
     * @param freeBytes free, clean or not
     * @param uncleanBytes free, but not yet overwritten with zeros
     * @param extents allocated extents
     * @param mappedLmrs LMRs with a handle at this node
     * @param handles mapped handles of all sessions
     * @param reclaiming LMRs whose memory is not free yet
     */
    record Arena(
            long bytes,
            long usedBytes,
            long freeBytes,
            long uncleanBytes,
            int extents,
            int mappedLmrs,
            int handles,
            int reclaiming) {
        private static Arena of(NodeFigures.Usage usage) {
            return new Arena(
                    usage.arenaBytes(),
                    usage.allocatedBytes(),
                    usage.freeBytes(),
                    usage.uncleanBytes(),
                    usage.extents(),
                    usage.mappedLmrs(),
                    usage.handles(),
                    usage.reclaiming());
        }
    }

    /** An attached application; see {@link SessionInfo}. */
    record Session(
            long id,
            String application,
            String principal,
            int pid,
            int uid,
            Instant since,
            List<String> locks,
            int handles,
            Map<String, Count> operations) {
        private static Session of(SessionInfo info) {
            return new Session(
                    info.id(),
                    info.application(),
                    info.principal(),
                    info.pid(),
                    info.uid(),
                    info.since(),
                    info.locks(),
                    info.handles(),
                    tags(info.operations()));
        }
    }

    /**
     * Another node.
     *
     * @param node its name
     * @param fabric the fabric that carries data to it, or "none"
     * @param lanes the connections that share its traffic
     * @param trouble why it is not connected; empty if it is, or if the reason is unknown
     */
    record Link(String node, String fabric, int lanes, String trouble) {}

    static NodeStatus of(LiteNode node, long epoch, List<SessionInfo> sessions, Map<Kind, Count> operations) {
        Map<String, Map<String, Count>> transfers = new TreeMap<>();
        node.figures().transfers().forEach((fabric, counts) -> transfers.put(fabric, tags(counts)));
        return new NodeStatus(
                node.nodeName(),
                node.self().id(),
                node.self().incarnation(),
                epoch,
                node.isDraining(),
                Arena.of(node.figures().usage()),
                sessions.stream().map(Session::of).toList(),
                links(node),
                lockWaiters(node),
                tags(operations),
                transfers,
                node.figures().repeatedTransfers(),
                node.laneTrouble());
    }

    private static Map<String, Integer> lockWaiters(LiteNode node) {
        Map<String, Integer> waiters = new TreeMap<>();
        node.figures().lockWaiters().entrySet().stream()
                .limit(LOCKS_MAX)
                .forEach(lock -> waiters.put(Long.toString(lock.getKey()), lock.getValue()));
        return waiters;
    }

    private static List<Link> links(LiteNode node) {
        return node.nodes().stream()
                .filter(peer -> peer.id() != node.self().id())
                .map(peer -> new Link(peer.name(), peer.fabric(), node.lanes(peer.id()), trouble(node, peer)))
                .toList();
    }

    private static String trouble(LiteNode node, NodeInfo peer) {
        return peer.fabric().equals("none") ? node.trouble(peer.id()) : "";
    }

    private static Map<String, Count> tags(Map<Kind, Count> counts) {
        return counts.entrySet().stream()
                .collect(Collectors.toMap(
                        entry -> entry.getKey().tag(), Map.Entry::getValue, Count::plus, TreeMap::new));
    }
}
