package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LiteException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Unrecoverable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes this process's registration, and makes it again when its session has expired.
 *
 * <p>The incarnation is the version of the node's id znode. Raising it and creating the registration is one transaction
 * that checks the previous version. So two processes with one name never both succeed, and a registration's incarnation is
 * larger than that of every earlier registration.
 */
final class Registrar implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Registrar.class);
    private static final Duration RETRY = Duration.ofSeconds(1);

    /** The server expires sessions at ticks, so up to one tick after the timeout. */
    private static final double SESSION_TIMEOUT_SLACK = 1.5;

    /** For another process's timeout, which its registration names: a wrong one must not keep this node waiting. */
    private static final long OTHERS_TIMEOUT_MS_MAX = 120_000;

    private final ZooKeeperSession session;
    private final ZooKeeperPaths paths;
    private final NodeIdStore ids;
    private final ListenerThread listeners;
    private final ScheduledExecutorService thread;

    /** Constant across sessions: a registration with this owner and another session is a leftover of this process. */
    private final String owner = UUID.randomUUID().toString();

    /** Held while a registration is made; guards what follows. */
    private final ReentrantLock lock = new ReentrantLock();

    private @Nullable NodeAdvert advert;
    private @Nullable NodeRecord registered;
    private @Nullable String managementUrl;

    Registrar(ZooKeeperSession session, ZooKeeperPaths paths, ListenerThread listeners, String threadName) {
        this.session = session;
        this.paths = paths;
        this.listeners = listeners;
        ids = new NodeIdStore(session, paths);
        thread = Executors.newSingleThreadScheduledExecutor(
                Thread.ofPlatform().name(threadName).daemon().factory());
    }

    int claimId(String name, int heldId, Deadline deadline) {
        return ids.claim(name, heldId, deadline);
    }

    NodeRecord register(NodeAdvert newAdvert, Deadline deadline) {
        lock.lock();
        try {
            if (advert != null) {
                throw new IllegalStateException(
                        "this directory is registered as the node \"%s\" already".formatted(advert.name()));
            }
            listeners.forgetRegistration();
            int id = claimId(newAdvert.name(), newAdvert.heldId(), deadline);
            NodeRecord record = make(newAdvert, id, true, deadline);
            advert = newAdvert;
            registered = record;
            return record;
        } finally {
            lock.unlock();
        }
    }

    /** @param released whether this process holds nothing under an earlier registration; else it may only find that */
    private NodeRecord make(NodeAdvert wanted, int id, boolean released, Deadline deadline) {
        String what = "register the node " + wanted.name();
        while (true) {
            CompletableFuture<?> synced = session.sync(paths.live(wanted.name()));
            CompletableFuture<Answer<ZooKeeperSession.Data>> readingId = session.getData(paths.id(wanted.name()));
            CompletableFuture<Answer<ZooKeeperSession.Data>> readingLive = session.getData(paths.live(wanted.name()));
            session.await(synced, deadline, what);
            ZooKeeperSession.Data idData =
                    session.await(readingId, deadline, what).get();
            Answer<ZooKeeperSession.Data> live = session.await(readingLive, deadline, what);
            if (!released && !isMine(live)) {
                throw new ClusterUnavailableException(
                        "the registration of the node %s went while it was verified".formatted(wanted.name()));
            }
            List<Op> operations = new ArrayList<>();
            if (!live.is(Code.NONODE)) {
                Optional<LiveEntry> there = LiveEntry.parse(live);
                boolean forged = live.get().trusted().isEmpty(); // it must not keep this node away
                if (!forged) {
                    if (there.isEmpty() || !there.get().owner().equals(owner)) {
                        awaitLeave(live.path(), there, deadline, what);
                        continue;
                    }
                    if (live.get().stat().getEphemeralOwner() == session.sessionId()) {
                        if (isPublished(there.get(), live, deadline)) {
                            return there.get().node(); // made before, or by an attempt whose answer was lost
                        }
                        continue;
                    }
                }
                // Forged, or left by an older session of this process: then it would be removed when that session times
                // out.
                operations.add(Op.delete(live.path(), live.get().stat().getVersion()));
            }
            int before = idData.stat().getVersion();
            NodeRecord record = NodeIds.record(wanted, id, before + 1L);
            operations.add(session.setDataOp(paths.id(wanted.name()), idData.bytes(), idData.stat()));
            operations.add(
                    session.createOp(paths.live(wanted.name()), entry(record).toBytes(), CreateMode.EPHEMERAL));
            Answer<List<OpResult>> made =
                    session.await(session.multi(paths.live(wanted.name()), operations), deadline, what);
            if (made.isOk()) {
                return record;
            }
            if (!made.is(Code.BADVERSION) && !made.is(Code.NODEEXISTS) && !made.is(Code.NONODE)) {
                throw made.unexpected();
            }
        }
    }

    private LiveEntry entry(NodeRecord record) {
        return new LiveEntry(owner, record, managementUrl, session.sessionTimeoutMs());
    }

    /** Adds the management URL to this process's registration; false if the registration changed meanwhile. */
    private boolean isPublished(LiveEntry entry, Answer<ZooKeeperSession.Data> live, Deadline deadline) {
        if (Objects.equals(entry.managementUrl(), managementUrl)) {
            return true;
        }
        byte[] bytes = entry(entry.node()).toBytes();
        Op change = session.setDataOp(live.path(), bytes, live.get().stat());
        Answer<List<OpResult>> changed =
                session.await(session.multi(live.path(), List.of(change)), deadline, "publish the management URL");
        if (!changed.isOk() && !changed.is(Code.BADVERSION) && !changed.is(Code.NONODE)) {
            throw changed.unexpected();
        }
        return changed.isOk();
    }

    /** Publishes the URL soon, and again with every later registration. Waits while a registration is being made. */
    void publishManagementUrl(String url) {
        lock.lock();
        try {
            managementUrl = url;
        } finally {
            lock.unlock();
        }
        verifySoon();
    }

    /** Whether the registration exists and belongs to this session. */
    private boolean isThere(NodeRecord record, Deadline deadline) {
        String what = "verify the registration of the node " + record.name();
        CompletableFuture<?> synced = session.sync(paths.live(record.name()));
        CompletableFuture<Answer<ZooKeeperSession.Data>> reading = session.getData(paths.live(record.name()));
        session.await(synced, deadline, what);
        Answer<ZooKeeperSession.Data> live = session.await(reading, deadline, what);
        return isMine(live)
                && LiveEntry.parse(live)
                        .filter(entry -> entry.node().incarnation() == record.incarnation())
                        .isPresent();
    }

    /** Whether a registration belongs to this process and this session. */
    private boolean isMine(Answer<ZooKeeperSession.Data> live) {
        return live.isOk()
                && live.get().stat().getEphemeralOwner() == session.sessionId()
                && LiveEntry.parse(live)
                        .filter(entry -> entry.owner().equals(owner))
                        .isPresent();
    }

    /** Whether this is the current registration; waits while one is being made. */
    boolean isRegistered(NodeRecord record) {
        lock.lock();
        try {
            return NodeIds.isRegistered(record, registered);
        } finally {
            lock.unlock();
        }
    }

    /** The registration of a dead process disappears when its session times out; that of a live process stays. */
    private void awaitLeave(String path, Optional<LiveEntry> other, Deadline deadline, String what) {
        long others = other.map(LiveEntry::sessionTimeoutMs).orElse(0L);
        long longest = Math.max(session.sessionTimeoutMs(), Math.min(others, OTHERS_TIMEOUT_MS_MAX));
        Duration time = Duration.ofMillis((long) (longest * SESSION_TIMEOUT_SLACK));
        // A caller may try again. But if a lost registration cannot be made again, that is final. So the
        // other one has its whole time, however long the release of what this process held has taken.
        Deadline leave = registered == null ? deadline.atMost(time) : Deadline.in(time);
        long startNs = System.nanoTime();
        log.info("{} exists already; waiting up to {} ms for it to disappear", path, leave.remainingNs() / 1_000_000);
        CompletableFuture<Void> changed = new CompletableFuture<>();
        Answer<?> there = session.await(session.exists(path, event -> changed.complete(null)), deadline, what);
        if (!there.isOk()) {
            return;
        }
        try {
            changed.get(leave.remainingNs(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            Duration waited = Duration.ofNanos(System.nanoTime() - startNs);
            throw other.map(entry -> NodeIds.nameTaken(entry.node(), waited))
                    .orElseThrow(() -> new ClusterUnavailableException(
                            "%s is not a registration that this version can read".formatted(path), e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ClusterUnavailableException("interrupted while waiting for %s to leave".formatted(path), e);
        } catch (ExecutionException e) {
            throw new AssertionError("the watcher only completes", e);
        }
    }

    /** Checks on the registrar's own thread that the registration still exists, and makes it again if not. */
    void verifySoon() {
        schedule(Duration.ZERO);
    }

    private void schedule(Duration delay) {
        try {
            Future<?> unused = thread.schedule(this::verify, delay.toNanos(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            log.trace("closed: nothing to verify", e);
        }
    }

    private void verify() {
        lock.lock();
        try {
            NodeAdvert mine = advert;
            NodeRecord before = registered;
            if (mine == null || before == null || !session.isUp()) {
                return; // the next connection triggers it
            }
            Deadline deadline = Deadline.in(Duration.ofMillis(2 * session.sessionTimeoutMs()));
            boolean lost = !isThere(before, deadline);
            if (lost && !listeners.notifyAndWait(DirectoryListener::registrationLost, deadline)) {
                log.warn("The node {} is not registered again yet: it has not released what it had", mine.name());
                schedule(RETRY);
                return;
            }
            NodeRecord now = make(mine, before.id(), lost, deadline); // else the next attempt reports the loss first
            if (now.incarnation() != before.incarnation()) {
                registered = now;
                log.info(
                        "registered again: node={} id={} incarnation={} (was {})",
                        now.name(),
                        now.id(),
                        now.incarnation(),
                        before.incarnation());
                listeners.notifyOfRegistration(listener -> listener.registeredAgain(now));
            }
        } catch (ClusterUnavailableException e) {
            log.warn("The registration could not be verified: {}", e.getMessage());
            schedule(RETRY);
        } catch (LiteException e) {
            advert = null;
            registered = null;
            log.error("The registration is lost: {}", e.getMessage());
            listeners.notifyOfRegistration(listener -> listener.registrationRefused(String.valueOf(e.getMessage())));
        } catch (RuntimeException | Error e) { // without a next attempt the node would stay unregistered
            Unrecoverable.report(e);
            log.error("The registration could not be verified", e);
            schedule(RETRY);
        } finally {
            lock.unlock();
        }
    }

    /** Whether these registrations lack this process's own, or may lack it; it must then be verified. */
    boolean isMissingIn(List<NodeRecord> nodes) {
        if (!lock.tryLock()) {
            return true; // one is being made or verified, which may have looked before it went
        }
        try {
            NodeRecord mine = registered;
            return mine != null && !nodes.contains(mine);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }
}
