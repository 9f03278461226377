package dev.lite.tier.node;

import dev.lite.api.Lifetime;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrSpec;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import dev.lite.cluster.LmrRecord;
import dev.lite.tier.Deadline;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.TierRpc;
import dev.lite.tier.TierSession;
import dev.lite.tier.TierSync;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.sync.SessionSync;
import dev.lite.tier.sync.SyncService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One application's or embedded caller's session. */
final class PrincipalSession implements TierSession, Mapping.Owner {
    private static final Logger log = LoggerFactory.getLogger(PrincipalSession.class);

    private final LiteNode node;
    private final MemoryService memory;
    private final TierRpc rpc;
    private final String principal;
    private final int handlesMax;
    private final Duration deadline;
    private final SessionSync sync;

    // Guarded by this.
    private int handles;
    private final Map<Long, LmrRecord> ofSession = new HashMap<>(); // LMRs to be freed at the end; their names:
    private final Map<Long, String> namesOfSession = new HashMap<>();
    private boolean closed;

    PrincipalSession(
            LiteNode node,
            MemoryService memory,
            TierRpc rpc,
            SyncService sync,
            String principal,
            int handlesMax,
            Duration deadline) {
        this.node = node;
        this.memory = memory;
        this.rpc = rpc;
        this.principal = principal;
        this.handlesMax = handlesMax;
        this.deadline = deadline;
        this.sync = sync.session("\"%s\" with node %s".formatted(principal, node.nodeName()), deadline);
    }

    @Override
    public String principal() {
        return principal;
    }

    @Override
    public String nodeName() {
        return node.nodeName();
    }

    @Override
    public List<NodeInfo> nodes() {
        return node.nodes();
    }

    @Override
    public TierRpc rpc() {
        return rpc;
    }

    @Override
    public Mapping malloc(LmrSpec spec, Duration callDeadline) {
        countHandle();
        boolean kept = false;
        try {
            Mapping mapping = memory.malloc(this, principal, spec, Deadline.in(callDeadline));
            kept = keep(mapping, spec.lifetime() == Lifetime.SESSION);
            if (!kept) {
                memory.free(spec.name(), mapping.lmr(), Deadline.in(callDeadline));
                throw ended();
            }
            return mapping;
        } finally {
            if (!kept) {
                uncountHandle();
            }
        }
    }

    @Override
    public Mapping map(String name, Set<Permission> permissions, Duration callDeadline) {
        if (permissions.isEmpty()) {
            throw new IllegalArgumentException(
                    "LMR \"%s\" is to be mapped for no permission; at least 1 is needed".formatted(name));
        }
        countHandle();
        boolean kept = false;
        try {
            Mapping mapping = memory.map(this, principal, name, permissions, Deadline.in(callDeadline));
            kept = keep(mapping, false);
            if (!kept) {
                mapping.unmap();
                throw ended();
            }
            return mapping;
        } finally {
            if (!kept) {
                uncountHandle();
            }
        }
    }

    @Override
    public TierSync sync() {
        return sync;
    }

    private synchronized void countHandle() {
        if (closed) {
            throw ended();
        }
        if (handles >= handlesMax) {
            throw new LimitExceededException(
                    "the session of \"%s\" has %d handles; the limit is %d (lite.node.limits.handles-per-session)"
                            .formatted(principal, handles, handlesMax));
        }
        handles++;
    }

    private synchronized void uncountHandle() {
        handles--;
    }

    /** Enters what a call made; false when the session ended meanwhile. */
    private synchronized boolean keep(Mapping mapping, boolean untilEnd) {
        if (closed) {
            return false;
        }
        if (untilEnd) {
            ofSession.put(mapping.id(), mapping.lmr());
            mapping.name().ifPresent(name -> namesOfSession.put(mapping.id(), name));
        }
        return true;
    }

    private SessionLostException ended() {
        return new SessionLostException(
                "the session of \"%s\" with node %s has ended".formatted(principal, nodeName()));
    }

    @Override
    public RemoteMemory remoteMemory() {
        return memory.remoteMemory();
    }

    @Override
    public Duration deadline() {
        return deadline;
    }

    @Override
    public String nodeName(int id) {
        return memory.nodeName(id);
    }

    @Override
    public void unmapped(Mapping mapping) {
        memory.unmapped(mapping);
        uncountHandle();
    }

    @Override
    public void free(Mapping mapping) {
        memory.free(mapping.name().orElse(null), mapping.lmr(), Deadline.in(deadline));
        synchronized (this) {
            ofSession.remove(mapping.id());
            namesOfSession.remove(mapping.id());
        }
    }

    @Override
    public void close() {
        List<LmrRecord> toFree;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            toFree = new ArrayList<>(ofSession.values());
        }
        rpc.close();
        sync.endWaits();
        List<Mapping> mine = memory.mappingsOf(this);
        try {
            memory.endAll(mine, ended());
        } catch (LiteTimeoutException e) {
            // No handle works any more. The reclamation of each LMR waits for those operations itself.
            log.info("session of {} ended: {}", principal, e.getMessage());
        }
        sync.close(); // after the last write that was made under a lock
        for (LmrRecord lmr : toFree) {
            @Nullable String name = namesOfSession.get(lmr.id());
            memory.freeLater(name, lmr);
        }
        node.sessionClosed(this);
    }
}
