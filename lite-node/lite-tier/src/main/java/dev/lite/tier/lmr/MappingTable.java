package dev.lite.tier.lmr;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.cluster.LmrRecord;
import dev.lite.fabric.AddressRange;
import dev.lite.tier.memory.HandleOwner;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.memory.MappingOwner;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
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

    @GuardedBy("this")
    private long losses; // of this node's registration

    @GuardedBy("this")
    private long unmappings;

    private final BooleanSupplier lost;

    /** @param lost whether this node's registration is lost; set before {@link #changeAll} is called for the loss */
    MappingTable(BooleanSupplier lost) {
        this.lost = lost;
    }

    /** The current point in time; call this before reading the LMR's record. */
    synchronized long now() {
        return changes;
    }

    /**
     * Adds a mapping. A handle that is added while this node's registration is lost is paused, like all others.
     *
     * @param since from {@link #now}
     * @return false if its LMR or its places may have changed since; the mapping is not added then
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
        byLmr.computeIfAbsent(mapping.id(), key -> new ArrayList<>(1)).add(mapping);
        if (isHandle(mapping) && lost.getAsBoolean()) {
            mapping.pause();
        }
        return true;
    }

    /** The number of losses of this node's registration so far; call this before reading a record to {@link #resume} by. */
    synchronized long losses() {
        return losses;
    }

    /** The number of memories of peers that were {@linkplain #unmap unmapped}; call this before asking for places to {@link #resume} with. */
    synchronized long unmappings() {
        return unmappings;
    }

    /**
     * Ends the pause of a mapping. A handle stays paused if this node's registration is lost, or was lost since the
     * record was read: it resumes by the record that is read under the next registration. A mapping stays paused if a memory was
     * unmapped since its places were asked for: ask again.
     *
     * @param since from {@link #losses}
     * @param placed from {@link #unmappings}
     * @return whether it was resumed
     */
    synchronized boolean resume(
            Mapping mapping, LmrRecord record, long[] places, int allowed, long since, long placed) {
        if (unmappings != placed || (isHandle(mapping) && (losses != since || lost.getAsBoolean()))) {
            return false;
        }
        mapping.resume(record, places, allowed);
        return true;
    }

    /**
     * A memory of a peer is about to be unmapped, and gives no more places. Rejects mappings and places that callers took before.
     *
     * @return the mappings with a part there
     */
    synchronized List<Mapping> unmap(AddressRange memory) {
        rejectNew();
        unmappings++;
        return find(mapping -> mapping.isMappedIn(memory));
    }

    private static boolean isHandle(Mapping mapping) {
        return mapping.owner() instanceof HandleOwner;
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

    /** Like {@link #change(long)}, for all LMRs at the loss of this node's registration: returns the handles. */
    synchronized List<Mapping> changeAll() {
        rejectNew();
        losses++;
        return find(MappingTable::isHandle);
    }

    /** Makes every earlier caller of {@link #now} too slow. */
    @GuardedBy("this")
    private void rejectNew() {
        changes += CHANGES_KEPT + 1L;
    }

    /** Every mapping of an owner. */
    public List<Mapping> of(MappingOwner owner) {
        return find(mapping -> mapping.owner() == owner);
    }

    /** All mappings that match a condition. */
    public synchronized List<Mapping> find(Predicate<Mapping> condition) {
        List<Mapping> found = new ArrayList<>();
        byLmr.values().forEach(ofLmr -> ofLmr.stream().filter(condition).forEach(found::add));
        return found;
    }

    /** The number of LMRs with at least one mapping. */
    public synchronized int lmrs() {
        return byLmr.size();
    }

    /** The number of mappings. */
    public synchronized int size() {
        return byLmr.values().stream().mapToInt(List::size).sum();
    }
}
