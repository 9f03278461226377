package dev.lite.tier.lmr;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.memory.MappingOwner;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Every mapping of this node by its LMR, so that a master's word reaches all of them; also one that is just being made:
 * word of a change that arrives between the reading of the LMR's record and the entry here is remembered, so that the
 * caller that makes the mapping reads the record again. The last {@value #CHANGES_KEPT} changes are kept; a slower caller
 * reads it again, too.
 */
public final class MappingTable {
    private static final int CHANGES_KEPT = 4096;

    @GuardedBy("this")
    private final Map<Long, List<Mapping>> byLmr = new HashMap<>();

    @GuardedBy("this")
    private final long[] changed = new long[CHANGES_KEPT]; // LMR ids; number n is at n % CHANGES_KEPT

    @GuardedBy("this")
    private long changes;

    /** A point in time, to be asked for before the LMR's record is read. */
    synchronized long now() {
        return changes;
    }

    /**
     * Enters a mapping.
     *
     * @param since from {@link #now}
     * @return false when its LMR may have changed since; the mapping is not entered then
     */
    synchronized boolean add(Mapping mapping, long since) {
        if (changes - since > CHANGES_KEPT) {
            return false;
        }
        long id = mapping.id();
        for (long change = since; change < changes; change++) {
            if (changed[(int) (change % CHANGES_KEPT)] == id) {
                return false;
            }
        }
        byLmr.computeIfAbsent(id, key -> new ArrayList<>(1)).add(mapping);
        return true;
    }

    /** Removes a mapping; one that is not in the table is ignored. */
    public synchronized void remove(Mapping mapping) {
        List<Mapping> ofLmr = byLmr.get(mapping.id());
        if (ofLmr != null && ofLmr.remove(mapping) && ofLmr.isEmpty()) {
            byLmr.remove(mapping.id());
        }
    }

    /** All mappings of an LMR that changes; those that are being made do not get in. */
    synchronized List<Mapping> change(long lmrId) {
        changed[(int) (changes++ % CHANGES_KEPT)] = lmrId;
        List<Mapping> ofLmr = byLmr.get(lmrId);
        return ofLmr == null ? List.of() : List.copyOf(ofLmr);
    }

    /** All mappings that fulfil a condition, of all LMRs; those that are being made do not get in. */
    synchronized List<Mapping> changeAll(Predicate<Mapping> condition) {
        changes += CHANGES_KEPT + 1L; // too many for every caller that asked before
        return find(condition);
    }

    /** Every mapping of an owner. */
    public List<Mapping> of(MappingOwner owner) {
        return find(mapping -> mapping.owner() == owner);
    }

    /** All mappings that fulfil a condition. */
    synchronized List<Mapping> find(Predicate<Mapping> condition) {
        List<Mapping> found = new ArrayList<>();
        byLmr.values().forEach(ofLmr -> ofLmr.stream().filter(condition).forEach(found::add));
        return found;
    }

    /** How many mappings there are. */
    public synchronized int size() {
        return byLmr.values().stream().mapToInt(List::size).sum();
    }
}
