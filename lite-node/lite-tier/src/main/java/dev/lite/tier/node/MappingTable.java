package dev.lite.tier.node;

import dev.lite.tier.memory.Mapping;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Every mapping of this node by its LMR, so that a master's word reaches all of them; also one that is just being made:
 * a revocation that arrives between the reading of the LMR's record and the entry here is remembered for as long as any
 * {@code map} is under way.
 */
final class MappingTable {
    // Guarded by this.
    private final Map<Long, List<Mapping>> byLmr = new HashMap<>();
    private final Set<Long> revoked = new HashSet<>();
    private int beingMade;

    /** A {@code map} begins; it has not read the LMR's record yet. */
    synchronized void begin() {
        beingMade++;
    }

    /** The {@code map} that began is over, with or without {@link #add}. */
    synchronized void finish() {
        if (--beingMade == 0) {
            revoked.clear();
        }
    }

    /**
     * Enters a mapping, between {@link #begin} and {@link #finish}.
     *
     * @return false when its LMR was revoked since; the mapping is not entered then
     */
    synchronized boolean add(Mapping mapping) {
        if (revoked.contains(mapping.id())) {
            return false;
        }
        byLmr.computeIfAbsent(mapping.id(), id -> new ArrayList<>(1)).add(mapping);
        return true;
    }

    synchronized void remove(Mapping mapping) {
        List<Mapping> ofLmr = byLmr.get(mapping.id());
        if (ofLmr != null && ofLmr.remove(mapping) && ofLmr.isEmpty()) {
            byLmr.remove(mapping.id());
        }
    }

    /** Takes out all mappings of an LMR, and refuses those that are being made. */
    synchronized List<Mapping> revoke(long lmrId) {
        if (beingMade > 0) {
            revoked.add(lmrId);
        }
        List<Mapping> ofLmr = byLmr.remove(lmrId);
        return ofLmr == null ? List.of() : ofLmr;
    }

    /** All mappings that fulfil a condition. */
    synchronized List<Mapping> find(Predicate<Mapping> condition) {
        List<Mapping> found = new ArrayList<>();
        byLmr.values().forEach(ofLmr -> ofLmr.stream().filter(condition).forEach(found::add));
        return found;
    }

    synchronized int size() {
        return byLmr.values().stream().mapToInt(List::size).sum();
    }
}
