package dev.lite.tier.operator;

import dev.lite.os.waiting.Deadline;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.control.ControlKind;
import dev.lite.tier.control.ControlMessage;
import dev.lite.tier.lmr.LmrRecords;
import dev.lite.tier.lmr.Mappers;
import dev.lite.tier.lmr.UnfinishedMoves;
import dev.lite.tier.peer.PeerLinks;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** Asks LMRs' creators about LMRs that are not in the directory, and all nodes about those that they move. Any thread; blocks. */
public final class CreatorQueries {
    /** Maximum number of LMRs per message. */
    private static final int KNOWN_MAX = 200;

    private final int self;
    private final PeerLinks links;
    private final Mappers mappers;
    private final ControlChannel channel;
    private final LmrRecords records;
    private final UnfinishedMoves unfinishedMoves;

    /** Registers this node's handler with the channel. */
    public CreatorQueries(
            int self,
            PeerLinks links,
            Mappers mappers,
            LmrRecords records,
            UnfinishedMoves unfinishedMoves,
            ControlChannel channel) {
        this.self = self;
        this.links = links;
        this.mappers = mappers;
        this.channel = channel;
        this.records = records;
        this.unfinishedMoves = unfinishedMoves;
        channel.serve(ControlKind.KNOWN_LMRS, (node, request, reply) -> {
            int count = request.getCount("LMR ids", KNOWN_MAX);
            for (int left = count; left > 0; left--) {
                long id = request.getLong();
                reply.putByte(records.knows(id) || unfinishedMoves.isMoving(id) ? 1 : 0);
            }
        });
    }

    /**
     * Returns those LMRs that a node moves, or all if a node that is not gone does not answer. A move has memory before a record says so.
     * So call this after that memory was seen, and before the records are read.
     *
     * @throws dev.lite.api.ClusterUnavailableException if the directory does not answer
     */
    Set<Long> perhapsMoving(Set<Long> ids, Deadline deadline) {
        if (ids.isEmpty()) {
            return Set.of();
        }
        Set<Integer> nodes = mappers.ofRemoved(deadline);
        List<Long> asked = List.copyOf(ids);
        Set<Long> moving = ConcurrentHashMap.newKeySet();
        Set<Integer> answered = mappers.notifyAll(nodes, "the scan for orphans", node -> {
            if (node == self) {
                asked.stream().filter(unfinishedMoves::isMoving).forEach(moving::add);
            } else {
                moving.addAll(ask(node, asked, deadline));
            }
        });
        return answered.containsAll(nodes) ? moving : ids;
    }

    /**
     * Returns those LMRs that their creator knows, or whose creator cannot be asked now.
     *
     * @throws dev.lite.api.LiteException if a node does not answer
     */
    Set<Long> known(Collection<Long> ids, Deadline deadline) {
        Map<Integer, List<Long>> byMaker = ids.stream().collect(Collectors.groupingBy(LmrRecords::creator));
        Set<Long> known = new HashSet<>();
        byMaker.forEach((maker, made) -> {
            if (maker == self) {
                made.stream().filter(records::knows).forEach(known::add);
            } else if (links.peer(maker) != null) {
                known.addAll(ask(maker, made, deadline));
            } else if (!mappers.isGone(maker, deadline)) {
                known.addAll(made); // the creator cannot be asked now
            }
        });
        return known;
    }

    /**
     * Those of the LMRs without a record that their creators do not know and will never use again. The process of a
     * creator that is gone may live and return: then it learns that it has lost its LMRs.
     *
     * @throws dev.lite.api.LiteException if the directory or a node does not answer
     */
    Set<Long> forgotten(Set<Long> ids, Deadline deadline) {
        Set<Integer> creators = ids.stream().map(LmrRecords::creator).collect(Collectors.toSet());
        for (int creator : mappers.areGone(creators, deadline)) {
            records.giveUp(creator, mappers.fencedUpTo(creator), deadline);
        }
        Set<Long> forgotten = new HashSet<>(ids);
        forgotten.removeAll(known(ids, deadline)); // by a creator that has returned before it could learn
        return forgotten;
    }

    private Set<Long> ask(int node, List<Long> ids, Deadline deadline) {
        Set<Long> known = new HashSet<>();
        for (int from = 0; from < ids.size(); from += KNOWN_MAX) {
            List<Long> some = ids.subList(from, Math.min(ids.size(), from + KNOWN_MAX));
            ControlMessage request = new ControlMessage().putCount("LMR ids", some.size(), KNOWN_MAX);
            some.forEach(request::putLong);
            ControlMessage reply = channel.call(node, ControlKind.KNOWN_LMRS, request, deadline);
            for (long id : some) {
                if (reply.getByte() != 0) {
                    known.add(id);
                }
            }
        }
        return known;
    }
}
