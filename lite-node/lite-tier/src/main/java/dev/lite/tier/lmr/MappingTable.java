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
 * Every mapping of this node by its LMR, so that a master's change reaches all of them. A change may arrive while a
 * caller creates a mapping: after it read the LMR's record, and before it adds the mapping here. The table remembers
 * such changes, so the caller reads the record again. It keeps the last {@value #CHANGES_KEPT} changes; a slower caller
 * must re-read.
 */
public final class MappingTable {
    private static final int CHANGES_KEPT = 4096;

    @GuardedBy("this")
    private final Map<Long, List<Mapping>> byLmr = new HashMap<>();

    @GuardedBy("this")
    private final long[] changed = new long[CHANGES_KEPT]; // LMR ids; change n is at n % CHANGES_KEPT

    @GuardedBy("this")
    private long changes;

    /** The current point in time; call this before reading the LMR's record. */
    synchronized long now() {
        return changes;
    }

    /**
     * Adds a mapping.
     *
     * @param since from {@link #now}
     * @return false if its LMR may have changed since; the mapping is not added then
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

    /** Removes a mapping; ignores a mapping that is not in the table. */
    public synchronized void remove(Mapping mapping) {
        List<Mapping> ofLmr = byLmr.get(mapping.id());
        if (ofLmr != null && ofLmr.remove(mapping) && ofLmr.isEmpty()) {
            byLmr.remove(mapping.id());
        }
    }

    /** Records a change of an LMR and returns all its mappings. Rejects mappings that callers are creating now. */
    synchronized List<Mapping> change(long lmrId) {
        changed[(int) (changes++ % CHANGES_KEPT)] = lmrId;
        List<Mapping> ofLmr = byLmr.get(lmrId);
        return ofLmr == null ? List.of() : List.copyOf(ofLmr);
    }

    /** Like {@link #change(long)}, for all LMRs: returns the mappings that match a condition. */
    synchronized List<Mapping> changeAll(Predicate<Mapping> condition) {
        changes += CHANGES_KEPT + 1L; // makes every earlier caller of now() too slow
        return find(condition);
    }

    /** Every mapping of an owner. */
    public List<Mapping> of(MappingOwner owner) {
        return find(mapping -> mapping.owner() == owner);
    }

    /** All mappings that match a condition. */
    synchronized List<Mapping> find(Predicate<Mapping> condition) {
        List<Mapping> found = new ArrayList<>();
        byLmr.values().forEach(ofLmr -> ofLmr.stream().filter(condition).forEach(found::add));
        return found;
    }

    /** The number of mappings. */
    public synchronized int size() {
        return byLmr.values().stream().mapToInt(List::size).sum();
    }
}
