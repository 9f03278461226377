package dev.lite.tier.lmr;

import dev.lite.api.Permission;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.control.ControlKind;
import dev.lite.tier.memory.Mapping;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Free, grant and move by a handle. This node performs them for a named LMR, whose record is in the directory, and for
 * an LMR that it created. For other LMRs it calls the node that created them. Any thread; blocks up to the deadline.
 */
public final class MasterOperations {
    private final LmrRecords records;
    private final Masters masters;
    private final LmrCalls calls;
    private final Reclaimer reclaimer;

    /** Registers the handlers. */
    MasterOperations(LmrRecords records, Masters masters, LmrCalls calls, Reclaimer reclaimer) {
        this.records = records;
        this.masters = masters;
        this.calls = calls;
        this.reclaimer = reclaimer;
        calls.serveChange(
                ControlKind.FREE_LMR,
                (id, principal, none, permissions, deadline) -> free(null, id, principal, deadline));
        calls.serveChange(
                ControlKind.GRANT,
                (id, principal, grantee, permissions, deadline) ->
                        masters.grant(null, id, principal, grantee, permissions, deadline));
        calls.serveChange(
                ControlKind.MOVE,
                (id, principal, node, permissions, deadline) -> masters.move(null, id, principal, node, deadline));
    }

    private boolean isElsewhere(Mapping mapping) {
        return mapping.name().isEmpty() && !records.isMine(mapping.id());
    }

    /**
     * {@code LT_free}; returns when the LMR is freed, or at the deadline; then the reclaimer continues in the
     * background.
     */
    public void free(Mapping mapping, String principal, Deadline deadline) {
        if (isElsewhere(mapping)) {
            calls.freeAtCreator(mapping.id(), principal, deadline);
        } else {
            free(mapping.name().orElse(null), mapping.id(), principal, deadline);
        }
    }

    private void free(@Nullable String name, long id, String principal, Deadline deadline) {
        AtomicReference<@Nullable LmrRecord> asked = new AtomicReference<>();
        LmrRecord before = null;
        try {
            before = masters.change(name, id, deadline, current -> {
                Masters.requireMaster(current, principal, "free");
                asked.set(current);
                return current.withState(LmrRecord.State.FREEING);
            });
        } finally {
            LmrRecord last = asked.get();
            if (before == null && last != null && name != null) { // perhaps it was changed, and the answer is lost
                reclaimer.reclaimIfFreeing(name, last);
            }
        }
        reclaimer.reclaim(name, before, deadline);
    }

    /** Frees an unpublished LMR; returns like {@link #free(Mapping, String, Deadline)}. */
    public void freePrepared(Mapping mapping, Deadline deadline) {
        reclaimer.reclaim(mapping.name().orElse(null), mapping.lmr(), deadline);
        records.endUnpublished(mapping.id());
    }

    /** Frees an LMR in the background, at the end of its session. */
    public void freeLater(@Nullable String name, LmrRecord lmr) {
        reclaimer.reclaimLater(name, lmr);
        records.endUnpublished(lmr.id());
    }

    /** See {@link dev.lite.api.LmrHandle#grant}. */
    public void grant(
            Mapping mapping, String principal, String grantee, Set<Permission> permissions, Deadline deadline) {
        int bits = Permission.toBits(permissions);
        if (isElsewhere(mapping)) {
            calls.grantAtCreator(mapping.id(), principal, grantee, bits, deadline);
        } else {
            masters.grant(mapping.name().orElse(null), mapping.id(), principal, grantee, bits, deadline);
        }
    }

    /** See {@link dev.lite.api.LmrHandle#moveTo}. */
    public void move(Mapping mapping, String principal, String node, Deadline deadline) {
        if (isElsewhere(mapping)) {
            calls.moveAtCreator(mapping.id(), principal, node, deadline);
        } else {
            masters.move(mapping.name().orElse(null), mapping.id(), principal, node, deadline);
        }
    }
}
