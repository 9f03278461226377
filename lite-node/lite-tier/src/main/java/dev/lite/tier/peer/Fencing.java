package dev.lite.tier.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LiteException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.DirectoryListener;
import dev.lite.cluster.Epoch;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.RepeatingThread;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This node's part in the epochs (architecture §9):
 * <ul>
 *   <li>It cuts its links to removed processes, then acknowledges the epoch.
 *   <li>It decides which processes are fenced. Other nodes may take over the locks and memory of a fenced process. The epoch
 *       alone is no proof for a node that was removed itself, since its acknowledgement is not required: it also checks that
 *       its own links are cut. A node is gone only if its last incarnation is fenced. Only the directory knows that
 *       incarnation: a node registers, connects and maps before other nodes are notified.
 *   <li>When this node's own registration is lost, it cuts all links before it registers again. It makes new links only
 *       when no process that was removed meanwhile can access its memory.
 * </ul>
 *
 * <p>Any thread. One thread ("lite-fencing") acknowledges and rejoins; it blocks while there is nothing to do. Without
 * a leading manager there are no new epochs: no process is removed, and a dead node keeps what it had.
 */
public final class Fencing implements DirectoryListener, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Fencing.class);
    private static final Duration CALL = Duration.ofSeconds(5);
    private static final long CUT_NS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long IDLE_NS = TimeUnit.SECONDS.toNanos(5);

    private final int self;
    private final ClusterDirectory directory;
    private final PeerLinks links;
    private final Map<Integer, Long> lastKnown = new ConcurrentHashMap<>(); // node id → its latest known incarnation
    private final SharedRead incarnations; // keeps them in lastKnown
    private final Thread thread;
    private final ReentrantLock lock = new ReentrantLock();
    private final Semaphore pokes = new Semaphore(0); // a permit for every change since the thread's last check

    private volatile Rejoin rejoin = Rejoin.NOTHING;
    private volatile Epoch epoch = Epoch.NONE;
    private volatile NodeRecord registration;
    private long waitNs; // until the next check without a change; confined to the thread
    private volatile boolean closed;

    @GuardedBy("lock")
    private boolean lost; // from the loss of a registration until the links resume under the next one

    @GuardedBy("lock")
    private boolean again; // while lost: this node is registered again

    @GuardedBy("lock")
    private long acknowledged;

    private long former; // the last registration under which this node acted; used by the constructor and the thread

    /** Callbacks of the tier for the loss of this node's registration. */
    public interface Rejoin {
        /** Does nothing; used until the tier exists. */
        Rejoin NOTHING = new Rejoin() {
            @Override
            public void giveUp(Deadline deadline) {}

            @Override
            public void wasFenced(long incarnation, Deadline deadline) {}

            @Override
            public void resume() {}

            @Override
            public void quiesce(int node, Deadline deadline) {}

            @Override
            public void fenced() {}
        };

        /** Gives up everything granted to this node under the lost registration. The links are already cut. */
        void giveUp(Deadline deadline);

        /**
         * This node was fenced before it registered again, so others got what it had. Called again if it fails.
         *
         * @param incarnation the last one under which this node acted
         */
        void wasFenced(long incarnation, Deadline deadline);

        /** Resumes under the new registration. Links are made from now on. Must not block for long. */
        void resume();

        /** Waits until this node has finished all requests that a node sent before its connection was cut. */
        void quiesce(int node, Deadline deadline);

        /** Another process was fenced. Must not block for long. */
        void fenced();
    }

    /** Does not start yet. Call {@link #read} first, then {@link #start}. */
    public Fencing(NodeRecord registration, ClusterDirectory directory, PeerLinks links) {
        this.self = registration.id();
        this.registration = registration;
        this.former = registration.incarnation();
        this.directory = directory;
        this.links = links;
        this.incarnations = new SharedRead(
                "reading the nodes' incarnations",
                deadline -> directory.incarnationsNow(deadline.remaining()).forEach(this::noteIncarnation));
        this.thread = RepeatingThread.unstarted("lite-fencing", this::step, log::error);
    }

    /** Reads the epoch. Call after the registration and before any link is made. */
    public void read(Deadline deadline) {
        update(directory.epochNow(deadline.remaining()));
    }

    /** Begins to listen to the directory. */
    public void start(Rejoin tier) {
        rejoin = tier;
        nodesChanged(directory.nodes()); // first: the listener may get a later list at once
        directory.addListener(this);
        thread.start();
        if (epoch.removals().stream().anyMatch(Epoch.Removal::fenced)) {
            tier.fenced(); // fenced before this node started, which may be the only node
        }
    }

    /** This process's current or last registration. */
    public NodeRecord registration() {
        return registration;
    }

    /** Whether this node's registration is lost and its links have not resumed yet. */
    public boolean isLost() {
        lock.lock();
        try {
            return lost;
        } finally {
            lock.unlock();
        }
    }

    /** Whether a process of a node is fenced: it can no longer access anything, also not this node's memory. */
    public boolean isFenced(int node, long incarnation) {
        Epoch now = epoch;
        return now.isFenced(node, incarnation) && links.isCutFrom(node, now);
    }

    /** The last incarnation of a node that an epoch has fenced; 0 if none has. */
    public long fencedUpTo(int node) {
        return epoch.fencedUpTo(node);
    }

    /**
     * Whether every process of a node that registered before this call is fenced. Neither the epoch nor the list of
     * nodes tells: a node registers before this node hears of it. So if the node looks gone, this reads from the
     * directory which incarnations exist. May block up to the deadline; false if the directory does not answer.
     */
    public boolean isGone(int node, Deadline deadline) {
        return areGone(Set.of(node), deadline).contains(node);
    }

    /** Those of the nodes that are {@linkplain #isGone gone}; reads the directory at most once. */
    public Set<Integer> areGone(Set<Integer> nodes, Deadline deadline) {
        Set<Integer> gone = new TreeSet<>(nodes);
        gone.removeIf(node -> !looksGone(node));
        if (!gone.isEmpty()) {
            try {
                incarnations.read(deadline);
            } catch (ClusterUnavailableException e) {
                log.debug("cannot tell whether the nodes {} are gone: {}", gone, e.getMessage());
                return Set.of();
            }
            gone.removeIf(node -> !looksGone(node));
        }
        return gone;
    }

    /** Whether every known process of a node is fenced and the node is not connected. */
    private boolean looksGone(int node) {
        return node != self
                && links.peer(node) == null
                && isFenced(node, Math.max(1, lastKnown.getOrDefault(node, 0L)));
    }

    /**
     * Whether a connected node's answers hold for all of its known processes: every process before the connected one is
     * fenced, and none registered after it. Always true for this node.
     */
    public boolean isSettled(int node) {
        if (node == self) {
            return true;
        }
        Peer peer = links.peer(node);
        long incarnation = peer == null ? 0 : links.incarnationOf(peer);
        return incarnation > 0
                && incarnation >= lastKnown.getOrDefault(node, 0L)
                && epoch.fencedUpTo(node) >= incarnation - 1;
    }

    /**
     * The other nodes with a process that registered before this call and is not fenced: whether live or not, and
     * whether this node knows of it or not.
     *
     * @throws ClusterUnavailableException if the directory does not answer
     */
    public Set<Integer> notFenced(Deadline deadline) {
        incarnations.read(deadline);
        Set<Integer> nodes = new TreeSet<>();
        lastKnown.forEach((node, incarnation) -> {
            if (!isFenced(node, incarnation)) {
                nodes.add(node);
            }
        });
        nodes.remove(self);
        return nodes;
    }

    private void noteIncarnation(int node, long incarnation) {
        lastKnown.merge(node, incarnation, Long::max);
    }

    @Override
    public void nodesChanged(List<NodeRecord> nodes) {
        nodes.forEach(node -> noteIncarnation(node.id(), node.incarnation()));
        links.setLive(nodes);
        pokes.release();
    }

    @Override
    public void epochChanged(Epoch changed) {
        update(changed);
        pokes.release();
    }

    private void update(Epoch changed) {
        Epoch before;
        lock.lock();
        try {
            before = epoch;
            boolean newer = changed.number() > before.number()
                    || (changed.number() == before.number()
                            && changed.pending().size() < before.pending().size());
            if (!newer) {
                return;
            }
            epoch = changed;
        } finally {
            lock.unlock();
        }
        changed.members().forEach(member -> noteIncarnation(member.id(), member.incarnation()));
        links.setEpoch(changed);
        if (changed.removals().stream()
                .anyMatch(removal -> removal.incarnation() > before.fencedUpTo(removal.id()) && removal.fenced())) {
            rejoin.fenced();
        }
    }

    @Override
    public void registrationLost() {
        lock.lock();
        try {
            lost = true;
            again = false;
        } finally {
            lock.unlock();
        }
        log.warn("the registration of this node is lost; cutting its links and giving up what it holds");
        links.suspend();
        rejoin.giveUp(Deadline.in(CALL));
    }

    @Override
    public void registrationRefused(String reason) {
        registrationLost(); // no next registration follows
    }

    @Override
    public void registeredAgain(NodeRecord now) {
        if (!isLost()) {
            registrationLost(); // the directory saw only the next registration, so close were the two
        }
        lock.lock();
        try {
            registration = now;
            acknowledged = 0;
            lost = true;
            again = true;
        } finally {
            lock.unlock();
        }
        pokes.release();
    }

    /** Waits for a change and handles it; false if this object is closed. On the thread only. */
    private boolean step() throws InterruptedException {
        if (pokes.tryAcquire(waitNs, TimeUnit.NANOSECONDS)) {
            pokes.drainPermits(); // one check sees all changes before it
        }
        if (closed) {
            return false;
        }
        waitNs = 0; // after a failure the next step tries at once
        try {
            waitNs = work() ? IDLE_NS : CUT_NS;
        } catch (LiteException e) {
            log.info("cannot acknowledge an epoch without the directory; retrying: {}", e.getMessage());
            waitNs = TimeUnit.MILLISECONDS.toNanos(200);
        }
        return true;
    }

    /** Returns true if there is nothing to do until the next change. */
    private boolean work() {
        NodeRecord as = registration;
        if (isLost()) {
            if (!isRegisteredAgain()) {
                return true; // the directory notifies
            }
            if (!rejoined(as)) {
                return false;
            }
        }
        Epoch now = epoch;
        if (now.pending().isEmpty() || now.number() <= acknowledgedNow()) {
            return true;
        }
        if (!links.isCut(now)) {
            return false;
        }
        now.pending().forEach(removal -> rejoin.quiesce(removal.id(), Deadline.in(CALL)));
        if (!directory.acknowledge(as, now.number(), CALL)) {
            return false;
        }
        lock.lock();
        try {
            if (registration.incarnation() == as.incarnation()) {
                acknowledged = Math.max(acknowledged, now.number());
            }
        } finally {
            lock.unlock();
        }
        log.info("acknowledged epoch={} as incarnation={}", now.number(), as.incarnation());
        return true;
    }

    private boolean isRegisteredAgain() {
        lock.lock();
        try {
            return again;
        } finally {
            lock.unlock();
        }
    }

    private long acknowledgedNow() {
        lock.lock();
        try {
            return acknowledged;
        } finally {
            lock.unlock();
        }
    }

    /** Resumes under the new registration once the old links and all processes that were removed meanwhile are gone. */
    private boolean rejoined(NodeRecord as) {
        read(Deadline.in(CALL));
        if (!links.isSuspended() || !links.isCut(epoch)) {
            return false;
        }
        if (epoch.isFenced(self, former)) {
            rejoin.wasFenced(former, Deadline.in(CALL));
        }
        lock.lock();
        try {
            if (!again || registration.incarnation() != as.incarnation()) {
                return false;
            }
            lost = false;
            again = false;
            former = as.incarnation();
            links.resume();
        } finally {
            lock.unlock();
        }
        rejoin.resume();
        log.info("rejoined as incarnation={} in epoch={}", as.incarnation(), epoch.number());
        return true;
    }

    /** Ends the thread and aborts its directory request in flight. */
    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }
}
