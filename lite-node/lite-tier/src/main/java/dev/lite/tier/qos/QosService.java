package dev.lite.tier.qos;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.Priority;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.cluster.qos.QosPolicy.Mode;
import dev.lite.cluster.qos.QosPolicy.Quota;
import dev.lite.os.waiting.RepeatingThread;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.qos.QosStatus.ClassStatus;
import dev.lite.tier.qos.SessionQos.Part;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A node's policy, and its parts in the sessions. Any thread. While the mode is OFF and no quota is set, there is no thread,
 * nothing is counted, and an operation on mapped memory costs what it costs without this class.
 */
public final class QosService implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(QosService.class);

    private static final long REFILL_NS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long TICK_NS = TimeUnit.MILLISECONDS.toNanos(20);

    /** How the driver of transfers serves a policy. */
    public interface Transfers {
        /** Memory of other nodes, over all lanes. */
        RemoteMemory all();

        /** Over the lanes that the policy reserves for a priority. */
        RemoteMemory onLanesOf(QosPolicy policy, Priority priority);

        /** Why no lanes can be reserved, with the value and the limit; empty if they can. */
        Optional<String> whyNoLanes();
    }

    private final Transfers transfers;
    private final Runnable gatesChanged;
    private final LongFunction<Permits> permits;
    private final Machine machine;
    /** Of operations that need a fabric, and of those on mapped memory. */
    private final ClassCounts high = new ClassCounts();

    private final ClassCounts low = new ClassCounts();
    private final ClassCounts highMapped = new ClassCounts();
    private final ClassCounts lowMapped = new ClassCounts();
    private final LowLimit links;
    private final LowLimit mapped;
    /** Of sessions of high priority, and of low. */
    private final ProcessorShares highShares = new ProcessorShares();

    private final ProcessorShares lowShares = new ProcessorShares();
    /**
     * By the node's id. Bound: {@link dev.lite.cluster.ClusterDirectory#NODE_ID_MAX} and one, since the ids
     * of nodes that are gone stay theirs. Each has some hundred bytes, and as many for each open session that
     * used it.
     */
    private final Map<Integer, LinkWindow> windows = new ConcurrentHashMap<>();

    @GuardedBy("this")
    private final Set<SessionQos> sessions = new HashSet<>();

    @GuardedBy("this")
    private Map<String, PrincipalQuota> quotas = Map.of();

    private volatile QosPolicy policy = QosPolicy.OFF;

    @GuardedBy("this")
    private @Nullable Thread ticker;

    @GuardedBy("this")
    private boolean closed;

    @GuardedBy("this")
    private @Nullable Measure measure;

    /** @param gatesChanged called after {@link SessionQos#isGated} of a session may have changed, without a lock */
    public QosService(Transfers transfers, Runnable gatesChanged) {
        this(transfers, gatesChanged, rate -> new RateLimiterPermits("lite-qos", rate), new ThisMachine());
    }

    /** For tests: with another source of permits, and another machine. */
    QosService(Transfers transfers, Runnable gatesChanged, LongFunction<Permits> permits, Machine machine) {
        this.transfers = transfers;
        this.gatesChanged = gatesChanged;
        this.permits = permits;
        this.machine = machine;
        links = new LowLimit(permits);
        mapped = new LowLimit(permits);
    }

    /** The policy in effect. */
    public QosPolicy policy() {
        return policy;
    }

    /** Whether a principal has a quota, so that all its operations must pass this node. */
    public boolean hasQuota(String principal) {
        return policy.quotas().containsKey(principal);
    }

    /** A session begins. */
    public synchronized SessionQos open(String principal, Priority priority) {
        SessionQos session = new SessionQos(
                this,
                principal,
                priority,
                new ProcessorShares.Share(permits),
                new Part(null, null, transfers.all(), transfers.all(), false));
        sessions.add(session);
        session.set(part(session));
        return session;
    }

    synchronized void closed(SessionQos session) {
        if (sessions.remove(session)) {
            links.limiter.forget(session);
            mapped.limiter.forget(session);
            quotas.values().forEach(quota -> quota.forget(session));
            windows.values().forEach(window -> window.forget(session));
            session.share.limiter.unlimit(); // nobody refills it any more
        }
    }

    /**
     * Changes the policy. Operations that wait continue under the new one.
     *
     * @throws IllegalArgumentException if this node cannot follow it, with what, the value and the limit; the former policy
     *     stays
     */
    public QosPolicy set(QosPolicy next) {
        return change(before -> next);
    }

    /** {@link #set} of what a function makes of the current policy; two changes at a time follow one another. */
    public QosPolicy change(Function<QosPolicy, QosPolicy> change) {
        QosPolicy next;
        synchronized (this) {
            next = closed ? QosPolicy.OFF : change.apply(policy);
            if (next.mode() == Mode.HW_SEP) {
                transfers.whyNoLanes().ifPresent(reason -> {
                    throw new IllegalArgumentException("mode is HW_SEP: " + reason);
                });
            }
            if (next.equals(policy)) {
                return policy;
            }
            startOrStop(next); // before the change: the system may have no thread left
            policy = next;
            changeQuotas(next.quotas());
            links.reset();
            mapped.reset();
            boolean unusedHigh = highShares.end(shares(Priority.HIGH));
            boolean unusedLow = lowShares.end(shares(Priority.LOW));
            measure = null;
            sessions.forEach(session -> session.set(part(session)));
        }
        gatesChanged.run();
        log.info(
                "quality of service mode={} quotas={}",
                next.mode(),
                next.quotas().size());
        return next;
    }

    @GuardedBy("this")
    private void changeQuotas(Map<String, Quota> next) {
        Map<String, PrincipalQuota> now = new HashMap<>();
        next.forEach((principal, quota) -> {
            PrincipalQuota before = quotas.get(principal);
            now.put(
                    principal,
                    before != null && before.quota.equals(quota) ? before : new PrincipalQuota(quota, permits));
        });
        quotas.values().stream().filter(before -> !now.containsValue(before)).forEach(PrincipalQuota::end);
        quotas = now;
    }

    @GuardedBy("this")
    private Part part(SessionQos session) {
        QosPolicy now = policy;
        PrincipalQuota quota = quotas.get(session.principal());
        if (now.mode() == Mode.OFF && quota == null) {
            return new Part(null, null, transfers.all(), transfers.all(), false);
        }
        return new Part(
                flow(session, Priority.HIGH, quota),
                flow(session, Priority.LOW, quota),
                memory(now, session, Priority.HIGH),
                memory(now, session, Priority.LOW),
                quota != null
                        || sharesOf(session.priority()).isOn()
                        || (session.priority() == Priority.LOW && mapped.limiter.isLimited()));
    }

    private ProcessorShares sharesOf(Priority priority) {
        return priority == Priority.HIGH ? highShares : lowShares;
    }

    @GuardedBy("this")
    private List<ProcessorShares.Share> shares(Priority priority) {
        return sessions.stream()
                .filter(session -> session.priority() == priority)
                .map(session -> session.share)
                .toList();
    }

    private Flow flow(SessionQos session, Priority priority, @Nullable PrincipalQuota quota) {
        boolean isHigh = priority == Priority.HIGH;
        return new Flow(
                session,
                session.principal(),
                priority,
                isHigh ? high : low,
                isHigh ? highMapped : lowMapped,
                links.limiter,
                mapped.limiter,
                session.share.limiter,
                quota);
    }

    private RemoteMemory memory(QosPolicy now, SessionQos session, Priority priority) {
        return switch (now.mode()) {
            case OFF -> transfers.all();
            case HW_SEP -> transfers.onLanesOf(now, priority);
            case SW_PRI ->
                new ScheduledMemory(
                        transfers.all(),
                        node -> windows.computeIfAbsent(node, any -> new LinkWindow()),
                        session,
                        priority);
        };
    }

    @GuardedBy("this")
    private void startOrStop(QosPolicy next) {
        boolean needed = next.mode() == Mode.SW_PRI || !next.quotas().isEmpty();
        Thread now = ticker;
        if (needed && now == null) {
            Thread thread = RepeatingThread.unstarted("lite-qos", this::step, log::error);
            thread.start(); // it waits for this lock
            ticker = thread;
        } else if (!needed && now != null) {
            ticker = null;
            LockSupport.unpark(now);
        }
    }

    /** Without this thread, limited operations would wait for ever: it continues after any failure. */
    private boolean step() {
        if (!isTicker()) {
            return false;
        }
        tick(System.nanoTime());
        LockSupport.parkNanos(this, givesPermits() ? REFILL_NS : TICK_NS);
        return true;
    }

    private boolean givesPermits() {
        return links.limiter.isLimited()
                || mapped.limiter.isLimited()
                || highShares.isOn()
                || lowShares.isOn()
                || !policy.quotas().isEmpty();
    }

    private synchronized boolean isTicker() {
        return ticker == Thread.currentThread();
    }

    /** Gives permits, and evaluates the policy now and then. */
    void tick(long nowNs) {
        boolean changed = false;
        synchronized (this) {
            if (policy.mode() == Mode.SW_PRI) {
                changed = evaluate(nowNs);
            }
            links.limiter.refill();
            mapped.limiter.refill();
            if (highShares.isOn() || lowShares.isOn()) {
                sessions.forEach(session -> session.share.limiter.refill());
            }
            for (PrincipalQuota quota : quotas.values()) {
                quota.refill();
            }
        }
        if (changed) {
            gatesChanged.run();
        }
    }

    /** Returns whether the gates of sessions have changed. */
    @GuardedBy("this")
    private boolean evaluate(long nowNs) {
        Measure its = measure;
        if (its == null) {
            measure = new Measure(high, low, machine, nowNs);
            return false;
        }
        its.sample();
        double seconds = (nowNs - its.lastNs()) / 1e9;
        if (nowNs - its.lastNs() < TICK_NS) {
            return false;
        }
        boolean lowChanged = its.tick(policy, nowNs, links, mapped);
        boolean highChanged = highShares.tick(shares(Priority.HIGH), its.wanted(), seconds);
        lowChanged |= mapped.limiter.isLimited() // then its order is fair
                ? lowShares.end(shares(Priority.LOW))
                : lowShares.tick(shares(Priority.LOW), its.wanted(), seconds);
        boolean changed = false;
        for (SessionQos session : sessions) {
            if (session.priority() == Priority.LOW ? lowChanged : highChanged) {
                session.set(part(session));
                changed = true;
            }
        }
        return changed;
    }

    /** The policy and what it does now. */
    public QosStatus status() {
        int highSessions;
        int all;
        synchronized (this) {
            all = sessions.size();
            highSessions = (int) sessions.stream()
                    .filter(session -> session.priority() == Priority.HIGH)
                    .count();
        }
        return new QosStatus(
                policy,
                links.limiter.perSecond(),
                mapped.limiter.perSecond(),
                links.load(),
                mapped.load(),
                status(highSessions, high.sums().plus(highMapped.sums())),
                status(all - highSessions, low.sums().plus(lowMapped.sums())));
    }

    private static ClassStatus status(int sessions, ClassCounts.Sums sums) {
        return new ClassStatus(
                sessions,
                sums.operations(),
                sums.bytes(),
                sums.nanos(),
                sums.queued(),
                sums.queuedNs(),
                sums.refused());
    }

    /** Ends the thread and all limits. A change that comes later, or meanwhile, changes nothing. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
        }
        QosPolicy unused = set(QosPolicy.OFF);
    }
}
