package dev.lite.tier.peer;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.lite.api.LiteException;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.DirectoryListener;
import dev.lite.cluster.Epoch;
import dev.lite.cluster.NodeRecord;
import dev.lite.os.waiting.Deadline;
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
 * This node's part in the epochs (architecture §9): it cuts its links to who was removed and acknowledges that; it says who
 * is fenced, which is when what they had may be given to others; and when this node's own registration is lost, it cuts all
 * links before it is registered anew, and makes new ones only when nobody who was removed meanwhile can touch its memory.
 *
 * <p>Any thread may ask. One thread ("lite-fencing") acknowledges and rejoins; it sleeps while there is nothing to do.
 * Without a manager that leads there are no new epochs: nobody is removed then, and what a dead node had stays its own.
 */
public final class Fencing implements DirectoryListener, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Fencing.class);
    private static final Duration CALL = Duration.ofSeconds(5);
    private static final long CUT_NS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long IDLE_NS = TimeUnit.SECONDS.toNanos(5);

    private final int self;
    private final ClusterDirectory directory;
    private final PeerLinks links;
    private final Map<Integer, Long> lastSeen = new ConcurrentHashMap<>(); // the latest registration of each node
    private final Thread thread;
    private final ReentrantLock lock = new ReentrantLock();
    private final Semaphore pokes = new Semaphore(0); // a permit for every change since the thread's last check

    private volatile Rejoin rejoin = Rejoin.NOTHING;
    private volatile Epoch epoch = Epoch.NONE;
    private volatile NodeRecord registration;
    private volatile boolean closed;

    @GuardedBy("lock")
    private boolean lost; // from the end of a registration until the links are resumed under the next one

    @GuardedBy("lock")
    private boolean again; // while lost: it is registered anew

    @GuardedBy("lock")
    private long acknowledged;

    private long former; // the registration that this node acted as last; the constructor's and the thread's

    /** What the tier does when this node's registration is lost. */
    public interface Rejoin {
        /** For before there is a tier. */
        Rejoin NOTHING = new Rejoin() {
            @Override
            public void giveUp(Deadline deadline) {}

            @Override
            public void wasFenced() {}

            @Override
            public void resume() {}

            @Override
            public void quiesce(int node, Deadline deadline) {}

            @Override
            public void fenced() {}
        };

        /** Gives up what was granted to this node as the registration that is lost; the links are cut already. */
        void giveUp(Deadline deadline);

        /** What this node had was given to others: it was fenced before it was registered anew. Must not block for long. */
        void wasFenced();

        /** Resumes under the new registration; links are made from now on. Must not block for long. */
        void resume();

        /** Waits until this node has done all that another one asked it to do before its connection was cut. */
        void quiesce(int node, Deadline deadline);

        /** Somebody is fenced who was not before. Must not block for long. */
        void fenced();
    }

    /** Not started yet; {@link #read} comes first. */
    public Fencing(NodeRecord registration, ClusterDirectory directory, PeerLinks links) {
        this.self = registration.id();
        this.registration = registration;
        this.former = registration.incarnation();
        this.directory = directory;
        this.links = links;
        this.thread = Thread.ofPlatform().name("lite-fencing").daemon().unstarted(this::run);
    }

    /** Reads the epoch; after the registration, and before links are made. */
    public void read(Deadline deadline) {
        update(directory.epochNow(deadline.remaining()));
    }

    /** Begins to listen to the directory. */
    public void start(Rejoin tier) {
        rejoin = tier;
        directory.addListener(this);
        nodesChanged(directory.nodes());
        thread.start();
        if (epoch.removals().stream().anyMatch(Epoch.Removal::fenced)) {
            tier.fenced(); // before this node was there; it may be the only one
        }
    }

    /** The registration that this process has now, or had last. */
    public NodeRecord registration() {
        return registration;
    }

    /** Whether this node's registration is lost, and its links are not resumed yet. */
    public boolean isLost() {
        lock.lock();
        try {
            return lost;
        } finally {
            lock.unlock();
        }
    }

    /** Whether a process of a node can touch nothing any more. */
    public boolean isFenced(int node, long incarnation) {
        return epoch.isFenced(node, incarnation);
    }

    /** Whether every process of a node that was ever known is fenced, and there is no other one. */
    public boolean isGone(int node) {
        return node != self
                && links.peer(node) == null
                && epoch.fencedUpTo(node) >= Math.max(1, lastSeen.getOrDefault(node, 0L));
    }

    /**
     * Whether what a connected node says of itself is true of all of its processes: every one before the one that it is
     * connected as is fenced. Of this node it is always true.
     */
    public boolean isSettled(int node) {
        if (node == self) {
            return true;
        }
        Peer peer = links.peer(node);
        long incarnation = peer == null ? 0 : links.incarnationOf(peer);
        return incarnation > 0 && epoch.fencedUpTo(node) >= incarnation - 1;
    }

    /** The other nodes that belong to the cluster, or were removed and are not fenced yet, whether they are live or not. */
    public Set<Integer> notFenced() {
        Epoch now = epoch;
        Set<Integer> nodes = new TreeSet<>();
        now.members().forEach(member -> nodes.add(member.id()));
        now.pending().forEach(removal -> nodes.add(removal.id()));
        nodes.remove(self);
        return nodes;
    }

    @Override
    public void nodesChanged(List<NodeRecord> nodes) {
        nodes.forEach(node -> lastSeen.merge(node.id(), node.incarnation(), Long::max));
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
        log.warn("the registration of this node is lost; it cuts its links and gives up what it holds");
        links.suspend();
        rejoin.giveUp(Deadline.in(CALL));
    }

    @Override
    public void registrationRefused(String reason) {
        registrationLost(); // and there will be no next one
    }

    @Override
    public void registeredAgain(NodeRecord now) {
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

    private void run() {
        long waitNs = 0;
        while (awaitPoke(waitNs)) {
            try {
                waitNs = work() ? IDLE_NS : CUT_NS;
            } catch (LiteException e) {
                log.info("the acknowledgement of an epoch waits for the directory: {}", e.getMessage());
                waitNs = TimeUnit.MILLISECONDS.toNanos(200);
            } catch (RuntimeException e) {
                log.error("the acknowledgement of an epoch failed; trying again", e);
                waitNs = TimeUnit.MILLISECONDS.toNanos(200);
            }
        }
    }

    /** Returns whether there is nothing to do until something changes. */
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

    /** Resumes under the new registration when the old links are gone, and nobody who was removed meanwhile is left. */
    private boolean rejoined(NodeRecord as) {
        read(Deadline.in(CALL));
        if (!links.isSuspended() || !links.isCut(epoch)) {
            return false;
        }
        if (epoch.isFenced(self, former)) {
            rejoin.wasFenced();
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

    /** False when it is closed. */
    private boolean awaitPoke(long ns) {
        try {
            if (pokes.tryAcquire(ns, TimeUnit.NANOSECONDS)) {
                pokes.drainPermits(); // one check sees all changes before it
            }
            return !closed;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // close() does that
            return false;
        }
    }

    /** Ends the thread; a question to the directory that is under way is given up. */
    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }
}
