package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Polling;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The directory in ZooKeeper, reached with Curator.
 *
 * <p>It is one ZooKeeper session, with two threads of its own: one calls the listeners, one restores a lost registration.
 * While the connection is lost, {@link #nodes} does not change. After a reconnect the registration is verified; if it does
 * not belong to this session, it is made again with a new incarnation.
 */
public final class CuratorDirectory implements ClusterDirectory {
    private static final Logger log = LoggerFactory.getLogger(CuratorDirectory.class);
    /** A manager that begins together with the nodes leads by then. */
    private static final long MANAGER_STARTS_S = 30;

    private static final long RECONNECT_PAUSE_NS = 50_000_000;

    private final String cluster;
    private final ZooKeeperSession session;
    private final ZooKeeperPaths paths;
    private final ListenerThread listeners;
    private final LiveNodes live;
    private final Registrar registrar;
    private final RecordStore records;
    private final RecordWatches watches;
    private final ZooKeeperEpochs epochs;
    private final ZooKeeperFunctions functions;
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile boolean layoutMade;

    private CuratorDirectory(CuratorConfig config) {
        cluster = config.cluster();
        paths = new ZooKeeperPaths(cluster);
        listeners = new ListenerThread("lite-directory-" + config.cluster());
        session = new ZooKeeperSession(config, paths);
        registrar = new Registrar(session, paths, listeners, "lite-registrar-" + config.cluster());
        records = new RecordStore(session, paths);
        watches = new RecordWatches(session, listeners);
        live = new LiveNodes(session, paths, listeners, this::nodesChanged);
        epochs = new ZooKeeperEpochs(session, paths, live, listeners, this::begin);
        functions = new ZooKeeperFunctions(session, paths);
    }

    /** Starts to connect and returns immediately; the first call with a deadline waits for the connection. */
    public static CuratorDirectory open(CuratorConfig config) {
        CuratorDirectory directory = new CuratorDirectory(config);
        directory.session.start(directory::availabilityChanged);
        directory.live.start();
        directory.epochs.start();
        return directory;
    }

    /**
     * Joins the election of the cluster's leader, on this directory's session.
     *
     * @param participant the name of this participant, for display
     */
    public Leadership leadership(String participant) {
        return new CuratorLeadership(session, paths, participant);
    }

    /**
     * Maintains the cluster's epochs while this process leads, on a thread of its own, until the result is closed.
     *
     * @param leadership the leadership of this directory; close it after the returned object
     */
    public EpochKeeperThread keepEpochs(Leadership leadership) {
        Resigning resigning = new Resigning(session, paths, records, live, this::begin);
        return EpochKeeperThread.start(epochs, this, leadership, resigning::doWork);
    }

    private void availabilityChanged(boolean available) {
        listeners.notifyLater(listener -> listener.availabilityChanged(available));
        if (available) {
            registrar.verifySoon();
        }
    }

    private void nodesChanged(List<NodeRecord> nodes) {
        listeners.notifyLater(listener -> listener.nodesChanged(nodes));
        if (registrar.isMissingIn(nodes)) {
            registrar.verifySoon();
        }
    }

    @Override
    public int claimId(String name, int heldId, Duration deadline) {
        NodeIds.check(name, heldId);
        return registrar.claimId(name, heldId, begin(deadline));
    }

    @Override
    public NodeRecord register(NodeAdvert advert, Duration deadline) {
        NodeIds.check(advert.name(), advert.heldId());
        NodeRecord registered = registrar.register(advert, begin(deadline));
        CompletableFuture.delayedExecutor(MANAGER_STARTS_S, TimeUnit.SECONDS).execute(this::warnWithoutManager);
        return registered;
    }

    /** The first manager that leads makes the first epoch. */
    void warnWithoutManager() {
        if (!closed.get() && session.isUp() && epochs.cached().number() == 0) {
            log.warn(
                    "No manager has led the cluster \"{}\" yet: lost nodes are not removed, and drains do not start. Start one, or correct the name of the cluster.",
                    cluster);
        }
    }

    @Override
    public void publishManagementUrl(String url) {
        registrar.publishManagementUrl(url);
    }

    @Override
    public Map<String, String> managementUrls() {
        return live.managementUrls();
    }

    @Override
    public List<NodeRecord> nodes() {
        return live.cached();
    }

    @Override
    public List<NodeRecord> nodesNow(Duration deadline) {
        return live.now(begin(deadline));
    }

    @Override
    public Map<Integer, Long> incarnationsNow(Duration deadline) {
        return epochs.incarnations(begin(deadline));
    }

    @Override
    public boolean isAvailable() {
        return session.isUp();
    }

    @Override
    public long refusedRecords() {
        return session.refusedRecords();
    }

    @Override
    public Epoch epoch() {
        return epochs.cached();
    }

    @Override
    public Epoch epochNow(Duration deadline) {
        return epochs.now(begin(deadline));
    }

    @Override
    public boolean acknowledge(NodeRecord as, long epoch, Duration deadline) {
        return registrar.isRegistered(as) && epochs.acknowledge(as, epoch, begin(deadline));
    }

    @Override
    public void addListener(DirectoryListener listener) {
        listeners.add(listener, added -> {
            if (live.isKnown()) {
                added.nodesChanged(live.cached());
            }
            if (epochs.cached().number() > 0) {
                added.epochChanged(epochs.cached());
            }
        });
    }

    @Override
    public boolean create(String name, byte[] record, Duration deadline) {
        RecordName.checkRecord(name, record);
        return records.create(name, record, begin(deadline));
    }

    @Override
    public Optional<VersionedRecord> read(String name, Duration deadline) {
        RecordName.check(name);
        return records.read(name, begin(deadline));
    }

    @Override
    public Optional<Integer> compareAndSet(String name, int expectedVersion, byte[] record, Duration deadline) {
        RecordName.checkRecord(name, record);
        return records.compareAndSet(name, expectedVersion, record, begin(deadline));
    }

    @Override
    public boolean delete(String name, int expectedVersion, Duration deadline) {
        RecordName.check(name);
        return records.delete(name, expectedVersion, begin(deadline));
    }

    @Override
    public List<String> names(String prefix, String after, int limit, Duration deadline) {
        RecordName.checkLimit(limit);
        return records.names(prefix, after, limit, begin(deadline));
    }

    @Override
    public void watch(String name, Runnable changed) {
        RecordName.check(name);
        watches.add(paths.record(name), changed);
    }

    @Override
    public boolean publishFunctions(NodeRecord as, Collection<String> served, Duration deadline) {
        FunctionNames.check(served);
        return registrar.isRegistered(as) && functions.publish(as, served, begin(deadline));
    }

    @Override
    public List<String> nodesServing(String function, Duration deadline) {
        return functions.serving(function, functions.isFilled() ? Deadline.in(deadline) : begin(deadline));
    }

    /**
     * Waits for a connection until the layout was made once, also if the first ones are lost. After that, a lost connection
     * is an error at once.
     */
    private Deadline begin(Duration duration) {
        Deadline deadline = Deadline.in(duration);
        while (!layoutMade) {
            try {
                session.requireUp(deadline);
                makeLayout(deadline);
                layoutMade = true;
            } catch (ClusterUnavailableException e) {
                if (deadline.passed() || Thread.currentThread().isInterrupted() || !session.isLoss(e)) {
                    throw e;
                }
                Polling.sleepNs(RECONNECT_PAUSE_NS);
            }
        }
        session.requireUp(deadline);
        return deadline;
    }

    private void makeLayout(Deadline deadline) {
        for (String path : paths.layout()) {
            Answer<?> made = session.await(
                    paths.isShared(path) ? session.createShared(path) : session.createParent(path),
                    deadline,
                    "make " + path);
            if (made.is(Code.NONODE)) {
                throw new ClusterUnavailableException(
                        "ZooKeeper has no parent for %s; does the path in the connect string exist?".formatted(path));
            }
            if (!made.isOk() && !made.is(Code.NODEEXISTS)) {
                throw made.unexpected();
            }
        }
        if (session.user() != null) {
            warnIfOpen(deadline);
        }
        checkSecret(deadline);
    }

    /**
     * Checks that this process has the cluster's secret, if the cluster has one. Others would refuse all that it writes, and could
     * use neither its id nor its names.
     */
    private void checkSecret(Deadline deadline) {
        Answer<ZooKeeperSession.Data> signed =
                session.await(session.getData(paths.signed), deadline, "read " + paths.signed);
        if (signed.is(Code.NONODE)) {
            return;
        }
        if (!session.signs()) {
            throw new ClusterUnavailableException(
                    "the cluster \"%s\" has a secret, and this process has none: others would refuse all that it writes"
                            .formatted(cluster));
        }
        if (signed.get().trusted().isEmpty()) {
            throw new ClusterUnavailableException(
                    "the secret of this process is not that of the cluster \"%s\": %s in ZooKeeper is not signed with it"
                            .formatted(cluster, paths.signed));
        }
    }

    /** Credentials protect only what was created with them. */
    private void warnIfOpen(Deadline deadline) {
        List<ACL> granted = session.await(session.getAcl(paths.base), deadline, "read the owner of " + paths.base)
                .get();
        if (granted.stream().anyMatch(acl -> acl.getId().equals(ZooDefs.Ids.ANYONE_ID_UNSAFE))) {
            log.warn(
                    "{} was made without a user and password: every client of ZooKeeper may change its content. Give it to the user \"{}\" (setAcl -R).",
                    paths.base,
                    session.user());
        }
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            registrar.close();
            live.close();
            watches.close();
            epochs.close();
            functions.close();
            session.close();
            listeners.close();
        }
    }

    /** For tests that manipulate the session. */
    ZooKeeperSession session() {
        return session;
    }
}
