package dev.lite.tier.lmr;

import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.Permission;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.control.ControlKind;
import dev.lite.tier.memory.Mapping;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Free, grant and move by a handle. This node performs them for a named LMR, whose record is in the directory, and for
 * an LMR that it created. For other LMRs it calls the node that created them. Free and grant change the record here,
 * each with a compare-and-set; {@link Moves} moves. Any thread; blocks up to the deadline.
 */
public final class MasterOperations {
    /**
     * Maximum number of principals with grants on an LMR. Beyond it, a grant may only take from the default permissions, as
     * long as the record is not too long.
     */
    static final int GRANTS_MAX = 1000;

    private final LmrRecords records;
    private final Mappers mappers;
    private final UnfinishedMoves unfinishedMoves;
    private final Moves moves;
    private final LmrCalls calls;
    private final Reclaimer reclaimer;

    /** Registers the handlers. */
    MasterOperations(
            LmrRecords records,
            Mappers mappers,
            UnfinishedMoves unfinishedMoves,
            Moves moves,
            LmrCalls calls,
            Reclaimer reclaimer) {
        this.records = records;
        this.mappers = mappers;
        this.unfinishedMoves = unfinishedMoves;
        this.moves = moves;
        this.calls = calls;
        this.reclaimer = reclaimer;
        calls.serveChange(
                ControlKind.FREE_LMR,
                (id, principal, none, permissions, deadline) -> free(null, id, principal, deadline));
        calls.serveChange(
                ControlKind.GRANT,
                (id, principal, grantee, permissions, deadline) ->
                        grant(null, id, principal, grantee, permissions, deadline));
        calls.serveChange(
                ControlKind.MOVE,
                (id, principal, node, permissions, deadline) -> moves.move(null, id, principal, node, deadline));
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
            before = change(name, id, deadline, current -> {
                LmrRecords.requireMaster(current, principal, "free");
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
            grant(mapping.name().orElse(null), mapping.id(), principal, grantee, bits, deadline);
        }
    }

    private void grant(
            @Nullable String name, long id, String master, String grantee, int permissions, Deadline deadline) {
        change(name, id, deadline, current -> {
            LmrRecords.requireMaster(current, master, "grant");
            Map<String, Integer> grants = new HashMap<>(current.grants());
            if (permissions == current.defaultPermissions()) {
                grants.remove(grantee); // it has them without a grant
            } else {
                grants.put(grantee, permissions);
            }
            if (grants.values().stream().noneMatch(bits -> (bits & Permission.MASTER.bit()) != 0)) {
                throw new LmrPermissionException("LMR %d: \"%s\" is its last master and must stay one, not get only %s"
                        .formatted(id, grantee, Permission.fromBits(permissions)));
            }
            requireRoom(current, grants, permissions);
            return current.withGrants(grants);
        });
        mappers.notifyOfChange(name, id, deadline);
    }

    /** A master can always take permissions away, so these grants do not count. */
    private static void requireRoom(LmrRecord current, Map<String, Integer> grants, int permissions) {
        boolean more = grants.size() > current.grants().size();
        if (more && grants.size() > GRANTS_MAX && (permissions & ~current.defaultPermissions()) != 0) {
            throw new LimitExceededException("LMR %d has grants for %d principals; the limit is %d"
                    .formatted(current.id(), current.grants().size(), GRANTS_MAX));
        }
    }

    /** See {@link dev.lite.api.LmrHandle#moveTo}. */
    public void move(Mapping mapping, String principal, String node, Deadline deadline) {
        if (isElsewhere(mapping)) {
            calls.moveAtCreator(mapping.id(), principal, node, deadline);
        } else {
            moves.move(mapping.name().orElse(null), mapping.id(), principal, node, deadline);
        }
    }

    /** Changes the record of an LMR once no move is in progress; returns the former record. */
    private LmrRecord change(@Nullable String name, long id, Deadline deadline, UnaryOperator<LmrRecord> changed) {
        while (true) {
            LmrRecords.Found found = unfinishedMoves.awaitSettled(name, id, deadline);
            if (records.replace(name, found, changed.apply(found.lmr()), deadline)) {
                return found.lmr();
            }
            if (deadline.passed()) {
                throw new LiteTimeoutException(deadline.expired("changing the record of LMR " + id));
            }
        }
    }
}
