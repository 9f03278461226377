package dev.lite.tier.node;

import dev.lite.os.waiting.Deadline;
import dev.lite.tier.peer.PeerLinks;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongPredicate;
import java.util.stream.Collectors;

/** Asks the nodes that made LMRs for those that are in no directory. Any thread; blocks. */
final class LmrMakers implements Orphans.Knowledge {
    private final int self;
    private final PeerLinks links;
    private final Mappers mappers;
    private final NodeCalls calls;
    private final LongPredicate own;

    /** @param own whether this node made an LMR and knows it */
    LmrMakers(int self, PeerLinks links, Mappers mappers, NodeCalls calls, LongPredicate own) {
        this.self = self;
        this.links = links;
        this.mappers = mappers;
        this.calls = calls;
        this.own = own;
    }

    @Override
    public Set<Long> known(Collection<Long> ids, Deadline deadline) {
        Map<Integer, List<Long>> byMaker = ids.stream().collect(Collectors.groupingBy(LmrRecords::creator));
        Set<Long> known = new HashSet<>();
        byMaker.forEach((maker, made) -> {
            if (maker == self) {
                made.stream().filter(own::test).forEach(known::add);
            } else if (links.peer(maker) != null) {
                known.addAll(calls.known(maker, made, deadline));
            } else if (!mappers.isGone(maker)) {
                known.addAll(made); // it cannot be asked just now
            }
        });
        return known;
    }
}
