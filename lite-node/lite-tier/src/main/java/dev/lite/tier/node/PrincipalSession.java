package dev.lite.tier.node;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.Lifetime;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Priority;
import dev.lite.api.SessionLostException;
import dev.lite.cluster.LmrRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.Unrecoverable;
import dev.lite.session.async.AsyncOperations;
import dev.lite.session.async.HelpedFutures;
import dev.lite.tier.Admission;
import dev.lite.tier.FairShares;
import dev.lite.tier.NameRules;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.RemoteWork;
import dev.lite.tier.TierHandle;
import dev.lite.tier.TierRpc;
import dev.lite.tier.TierSession;
import dev.lite.tier.TierSync;
import dev.lite.tier.lmr.LmrServices;
import dev.lite.tier.lmr.MemoryService;
import dev.lite.tier.memory.BulkOperations;
import dev.lite.tier.memory.HandleOwner;
import dev.lite.tier.memory.LowMapping;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.qos.SessionQos;
import dev.lite.tier.sync.SessionSync;
import dev.lite.tier.sync.SyncService;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The session of one application or embedded caller. */
final class PrincipalSession implements TierSession, HandleOwner {
    private static final Logger log = LoggerFactory.getLogger(PrincipalSession.class);

    private static final long CREATE_PAUSE_NS = 2_000_000;

    private static final int OF_SESSION_MIN = 1024;

    /** A session with many named LMRs looks for so many at each new one: if others free all of them, they get fewer. */
    private static final int LOOKED_FOR = 2;

    private final LiteNode node;
    private final LmrServices lmrs;
    private final TierRpc rpc;
    private final String principal;
    private final int handlesMax;
    private final FairShares.@Nullable Share places;
    private final Duration deadline;
    private final SessionSync sync;
    private final SessionQos qos;
    private final NameRules names;

    @GuardedBy("this")
    private int handles;

    @GuardedBy("this")
    private final Map<Long, LmrRecord> ofSession = new HashMap<>(); // LMRs to free at the end; names are below

    /** From so many on, the LMRs that others have freed are looked for. */
    @GuardedBy("this")
    private int ofSessionMax = OF_SESSION_MIN;

    /** Their names. Those that were looked for last are the last ones. */
    @GuardedBy("this")
    private final Map<Long, String> namesOfSession = new LinkedHashMap<>();

    @GuardedBy("this")
    private final Set<Long> untilFreed = new HashSet<>(); // in ofSession only until they are published

    @GuardedBy("this")
    private final Set<Long> publishing = new HashSet<>(); // the publishing thread frees them if the session closes

    @GuardedBy("this")
    private final Set<Mapping> prepared = new HashSet<>(); // not published yet

    @GuardedBy("this")
    private boolean closed;

    @GuardedBy("this")
    private boolean placesReturned;

    @GuardedBy("this")
    private boolean released;

    @GuardedBy("this")
    private Runnable whenClosed = () -> {};

    private final AsyncOperations async;

    PrincipalSession(
            LiteNode node,
            LmrServices lmrs,
            TierRpc rpc,
            SyncService sync,
            String principal,
            SessionQos qos,
            NameRules names,
            int handlesMax,
            FairShares.@Nullable Share places,
            Duration deadline) {
        this.places = places;
        this.node = node;
        this.lmrs = lmrs;
        this.async = new AsyncOperations(
                AsyncOperations.OPERATIONS_DEFAULT,
                new HelpedFutures(lmrs.remoteMemory().polling()));
        this.rpc = rpc;
        this.principal = principal;
        this.qos = qos;
        this.names = names;
        this.handlesMax = handlesMax;
        this.deadline = deadline;
        this.sync =
                sync.session("\"%s\" with node %s".formatted(principal, node.nodeName()), principal, deadline, names);
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
        Mapping mapping = prepare(spec, callDeadline);
        publish(mapping, callDeadline);
        return mapping;
    }

    @Override
    public Mapping createOrMap(LmrSpec spec, Set<Permission> permissions, Duration callDeadline) {
        LtMemory.checkCreateOrMap(spec, permissions);
        requireMap(Objects.requireNonNull(spec.name()));
        requireCreate(spec); // both, so that the answer does not tell whether it exists
        Deadline until = Deadline.in(callDeadline);
        while (true) {
            try {
                return map(() -> lmrs.memory().mapSame(this, principal, spec, permissions, until));
            } catch (LmrNotFoundException none) {
                // Create it here, unless another caller is faster.
            }
            try {
                Mapping mapping = prepare(spec, Permission.toBits(permissions), until);
                publish(mapping, spec.lifetime() == Lifetime.UNTIL_FREED, until);
                return mapping;
            } catch (LmrExistsException another) {
                if (until.passed()) {
                    throw another; // callers keep creating and freeing it
                }
            }
            Polling.sleepNs(CREATE_PAUSE_NS);
        }
    }

    @Override
    public Mapping prepare(LmrSpec spec, Duration callDeadline) {
        requireCreate(spec);
        return prepare(spec, MemoryService.ALL_PERMISSIONS, Deadline.in(callDeadline));
    }

    private void requireCreate(LmrSpec spec) {
        String name = spec.name();
        if (name != null) {
            names.require(principal, NameRules.Use.CREATE, name);
        }
    }

    private void requireMap(String name) {
        names.require(principal, NameRules.Use.MAP, name);
    }

    private Mapping prepare(LmrSpec spec, int granted, Deadline until) {
        if (spec.name() != null) {
            forgetFreedNames(until);
        }
        countHandle();
        boolean counted = true;
        try {
            Mapping mapping = lmrs.memory().prepare(this, principal, spec, granted, until);
            counted = false; // from now on, release() of the mapping counts down
            boolean kept;
            synchronized (this) {
                kept = !closed;
                if (kept) {
                    forgetFreed();
                    ofSession.put(mapping.id(), mapping.lmr());
                    mapping.name().ifPresent(name -> namesOfSession.put(mapping.id(), name));
                    prepared.add(mapping);
                    if (spec.lifetime() == Lifetime.UNTIL_FREED) {
                        untilFreed.add(mapping.id());
                    }
                }
            }
            if (!kept) {
                lmrs.memory().discard(mapping);
                throw ended();
            }
            mapping.gate(); // a change may have missed it before it was in the table
            return mapping;
        } finally {
            if (counted) {
                uncountHandle();
            }
        }
    }

    @Override
    public void publish(TierHandle handle, Duration callDeadline) {
        publish(handle, false, Deadline.in(callDeadline));
    }

    private void publish(TierHandle handle, boolean shared, Deadline until) {
        Mapping mapping = own(handle);
        synchronized (this) {
            if (!prepared.remove(mapping)) {
                throw new IllegalStateException("%s is published already, or ended".formatted(mapping));
            }
            if (closed) {
                throw ended(); // its close freed the LMR
            }
            publishing.add(mapping.id());
        }
        boolean published = false;
        try {
            lmrs.memory().publish(mapping, shared, until);
            published = true;
        } finally {
            ifPublished(mapping, published);
        }
    }

    private void ifPublished(Mapping mapping, boolean published) {
        boolean late;
        boolean untilItIsFreed;
        synchronized (this) {
            publishing.remove(mapping.id());
            untilItIsFreed = untilFreed.remove(mapping.id());
            late = closed && published;
            if (!published || untilItIsFreed || late) {
                forget(mapping.id());
            }
        }
        if (late) {
            // By its name, others may have mapped an LMR that outlives this session. Without a name, nobody can find
            // it.
            if (!untilItIsFreed || mapping.name().isEmpty()) {
                lmrs.masterOperations().freeLater(mapping.name().orElse(null), mapping.lmr());
            }
            throw ended();
        }
    }

    /** Anonymous LMRs that others have freed: a session that makes LMRs for others may last for very many. */
    @GuardedBy("this")
    private void forgetFreed() {
        if (ofSession.size() >= ofSessionMax) {
            Set<Long> named = namesOfSession.keySet();
            ofSession
                    .keySet()
                    .removeIf(id -> !named.contains(id) && !lmrs.records().knows(id));
            ofSessionMax = Math.max(OF_SESSION_MIN, 2 * ofSession.size());
        }
    }

    /** Named LMRs that others have freed. The directory tells, so it is asked for a few at a time. */
    private void forgetFreedNames(Deadline until) {
        List<Map.Entry<Long, String>> some;
        synchronized (this) {
            if (namesOfSession.size() < OF_SESSION_MIN) {
                return;
            }
            some = namesOfSession.entrySet().stream()
                    .filter(each -> !lmrs.records().knows(each.getKey())) // it is not published yet
                    .limit(LOOKED_FOR)
                    .map(Map.Entry::copyOf)
                    .toList();
            some.forEach(each -> {
                namesOfSession.remove(each.getKey());
                namesOfSession.put(each.getKey(), each.getValue());
            });
        }
        try {
            for (Map.Entry<Long, String> each : some) {
                if (lmrs.records().find(each.getValue(), each.getKey(), until).isEmpty()) {
                    forget(each.getKey());
                }
            }
        } catch (LiteException e) {
            log.debug("session of {}: the LMRs that others freed are not forgotten yet: {}", principal, e.getMessage());
        }
    }

    private synchronized void forget(long id) {
        ofSession.remove(id);
        namesOfSession.remove(id);
    }

    @Override
    public Mapping map(String name, Set<Permission> permissions, Duration callDeadline) {
        LtMemory.checkMap(name, permissions);
        requireMap(name);
        return map(() -> lmrs.memory().map(this, principal, name, permissions, Deadline.in(callDeadline)));
    }

    @Override
    public Mapping map(long id, Set<Permission> permissions, Duration callDeadline) {
        LtMemory.checkMap(id, permissions);
        return map(() -> lmrs.memory().map(this, principal, id, permissions, Deadline.in(callDeadline)));
    }

    private Mapping map(Supplier<Mapping> make) {
        countHandle();
        boolean counted = true;
        try {
            Mapping mapping = make.get();
            counted = false; // from now on, release() of the mapping counts down
            if (isClosed()) {
                mapping.unmap();
                throw ended();
            }
            mapping.gate(); // a change may have missed it before it was in the table
            return mapping;
        } finally {
            if (counted) {
                uncountHandle();
            }
        }
    }

    @Override
    public TierSync sync() {
        return sync;
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    @Override
    public void copy(
            TierHandle source,
            long sourceOffset,
            TierHandle target,
            long targetOffset,
            long length,
            boolean overlapAllowed,
            Duration callDeadline) {
        BulkOperations.copy(
                isLow(source) || isLow(target),
                own(source),
                sourceOffset,
                own(target),
                targetOffset,
                length,
                overlapAllowed,
                Deadline.in(callDeadline));
    }

    private static boolean isLow(TierHandle handle) {
        return handle.unwrap() instanceof LowMapping;
    }

    private Mapping own(TierHandle handle) {
        LmrHandle its = handle.unwrap() instanceof LowMapping low ? low.mapping() : handle.unwrap();
        if (its instanceof Mapping mapping && mapping.owner() == this) {
            return mapping;
        }
        throw new IllegalArgumentException("%s belongs to another session".formatted(handle));
    }

    @Override
    public void fence(Duration callDeadline) {
        if (isClosed()) {
            throw ended();
        }
        async.fence(callDeadline);
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
        if (places != null && !places.take()) {
            throw new LimitExceededException(
                    "handles at node %s: %s (lite.node.limits.handles)".formatted(nodeName(), places.describe()));
        }
        handles++;
    }

    @Override
    public synchronized int handles() {
        return handles;
    }

    private synchronized void uncountHandle() {
        handles--;
        if (places != null && !placesReturned) {
            places.giveBack();
        }
    }

    private SessionLostException ended() {
        return new SessionLostException(
                "the session of \"%s\" with node %s has ended".formatted(principal, nodeName()));
    }

    @Override
    public int locksLost() {
        return sync.locksLost();
    }

    @Override
    public RemoteMemory remoteMemory() {
        return lmrs.remoteMemory();
    }

    @Override
    public RemoteMemory remoteMemory(boolean low) {
        return qos.memory(low);
    }

    @Override
    public @Nullable Admission admission(boolean low) {
        return qos.admission(low);
    }

    @Override
    public boolean isGated() {
        return qos.isGated();
    }

    @Override
    public boolean isCounted() {
        return qos.priority() == Priority.HIGH;
    }

    @Override
    public RemoteWork remoteWork() {
        return lmrs.remoteWork();
    }

    @Override
    public AsyncOperations async() {
        return async;
    }

    @Override
    public Duration deadline() {
        return deadline;
    }

    @Override
    public String nodeName(int id) {
        return lmrs.places().nodeName(id);
    }

    @Override
    public void unmapped(Mapping mapping) {
        lmrs.mappings().remove(mapping);
        uncountHandle();
    }

    @Override
    public void free(Mapping mapping, Deadline until) {
        boolean known;
        synchronized (this) {
            known = !prepared.remove(mapping);
        }
        if (known) {
            lmrs.masterOperations().free(mapping, principal, until);
        } else {
            lmrs.masterOperations().freePrepared(mapping, until);
        }
        forget(mapping.id());
    }

    @Override
    public void grant(Mapping mapping, String grantee, Set<Permission> permissions, Deadline until) {
        lmrs.masterOperations().grant(mapping, principal, grantee, permissions, until);
    }

    @Override
    public void moveTo(Mapping mapping, String nodeToGoTo, Deadline until) {
        lmrs.masterOperations().move(mapping, principal, nodeToGoTo, until);
    }

    @Override
    public void refresh(@Nullable String name, long lmrId, Deadline callDeadline) {
        try {
            lmrs.changes().followRecord(name, lmrId, callDeadline);
        } catch (LiteException e) {
            log.debug("the record of lmr={} cannot be followed now: {}", lmrId, e.getMessage());
        }
    }

    @Override
    public void close() {
        List<LmrRecord> toFree = new ArrayList<>();
        Map<Long, String> names;
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            for (LmrRecord lmr : ofSession.values()) {
                if (!publishing.contains(lmr.id())) {
                    toFree.add(lmr);
                }
            }
            names = Map.copyOf(namesOfSession);
        }
        step(rpc::close);
        step(qos::close);
        step(sync::endWaits);
        step(this::endHandlesAndLocks);
        for (LmrRecord lmr : toFree) {
            step(() -> lmrs.masterOperations().freeLater(names.get(lmr.id()), lmr));
        }
        step(this::returnPlaces);
        node.sessionClosed(this);
        Runnable action;
        synchronized (this) {
            action = whenClosed;
            released = true;
        }
        step(action);
    }

    /** Sets an action that runs once, when the session has released everything; at once if it has already. */
    void whenClosed(Runnable action) {
        boolean now;
        synchronized (this) {
            whenClosed = action;
            now = released;
        }
        if (now) {
            action.run();
        }
    }

    /** A step of the end. If it fails, the others follow: nobody else would do them while the node lives. */
    private void step(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            Unrecoverable.report(e);
            log.error("a step of the end of the session of {} failed", principal, e);
        }
    }

    private void endHandlesAndLocks() {
        List<Mapping> mine = lmrs.mappings().of(this);
        if (endHandles(mine)) {
            sync.close();
        } else {
            log.info("session of {} ended; its locks stay held until its last operation has ended", principal);
            // The thread ends at the latest when the connection of that operation is cut, or the node stops.
            Thread unused = Thread.ofVirtual().name("lite-session-end").start(() -> closeLater(mine));
        }
    }

    private synchronized void returnPlaces() {
        if (places != null) {
            for (int handle = 0; handle < handles; handle++) {
                places.giveBack();
            }
        }
        placesReturned = true;
    }

    /** Ends the handles; false if an operation is still under way and may reach memory later. No handle works then, either. */
    private boolean endHandles(List<Mapping> mine) {
        try {
            lmrs.changes().endAll(mine, ended());
            return true;
        } catch (LiteTimeoutException e) {
            // The reclamation of each LMR waits for those operations itself.
            log.debug("session of {}: {}", principal, e.getMessage());
            return false;
        }
    }

    /**
     * Releases the locks after the last operation under them: a late write must not land while another session holds them. If the
     * node stops first, its removal from the cluster passes them on.
     */
    private void closeLater(List<Mapping> mine) {
        while (!node.isClosed()) {
            if (endHandles(mine)) {
                sync.close();
                log.info("session of {}: its last operation has ended; its locks are released", principal);
                return;
            }
        }
    }
}
