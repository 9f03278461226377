package dev.lite.cluster;

import dev.lite.os.waiting.Deadline;
import dev.lite.simulate.engine.Simulation;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A process's client of a {@link SimulatedStore}. Each kind of news travels by itself, so a change of the epoch may be heard
 * before the change of the nodes that it is about, and the other way round. What a cache holds changes when its news arrives.
 * After a lost session it registers again as the real client does.
 */
public final class SimulatedDirectory implements ClusterDirectory {
    /** How long the directory keeps what belongs to a session that does not answer. */
    public static final long SESSION_TIMEOUT_NS = 300_000_000;

    private static final long REGISTER_RETRY_NS = 100_000_000;
    private static final long NAME_RETRY_NS = 5_000_000;

    private final SimulatedStore store;
    private final SimulatedNet net;
    private final SimulatedNet.Line line = new SimulatedNet.Line();
    private final Simulation simulation;
    private final String process;
    private final ListenerThread listeners;
    private final LinkedBlockingQueue<Runnable> registrar = new LinkedBlockingQueue<>();
    private final Thread registrarThread;
    private final Map<String, java.util.List<Runnable>> watches = new HashMap<>();

    private Object session = new Object();
    private boolean connected = true;
    private boolean closed;
    private List<NodeRecord> cachedNodes;
    private Epoch cachedEpoch;
    private @Nullable NodeAdvert advert;
    private @Nullable NodeRecord registered;
    private long nodesHeardNs;
    private long epochHeardNs;
    private long incarnationsReadNs;
    private double lossFailureRate;

    /** Opens a session of the calling thread's process. */
    public SimulatedDirectory(SimulatedStore store, String process) {
        this.store = store;
        this.net = store.net;
        this.simulation = net.simulation();
        this.process = process;
        this.cachedNodes = store.nodes();
        this.cachedEpoch = store.epoch();
        this.listeners = new ListenerThread("lite-directory");
        listeners.execute(() -> {}); // its thread belongs to this process
        this.registrarThread = Thread.ofPlatform().name("lite-registrar").start(this::runRegistrar);
        store.open(this);
    }

    SimulatedNet.Line line() {
        return line;
    }

    private <T> T call(String what, Duration deadline, Supplier<T> request) {
        return net.call(line, process + " " + what, deadline, () -> connected && !closed, request);
    }

    @Override
    public int claimId(String name, int heldId, Duration deadline) {
        NodeIds.check(name, heldId);
        return call("claim an id", deadline, () -> store.claimId(name, heldId));
    }

    @Override
    public NodeRecord register(NodeAdvert newAdvert, Duration deadline) {
        NodeIds.check(newAdvert.name(), newAdvert.heldId());
        NodeRecord made = make(newAdvert, Deadline.in(deadline));
        advert = newAdvert;
        registered = made;
        registrar.add(this::verify); // the session may have ended while the answer travelled
        return made;
    }

    private NodeRecord make(NodeAdvert wanted, Deadline deadline) {
        while (true) {
            Object mine = session;
            Optional<NodeRecord> made =
                    call("register", deadline.remaining(), () -> Optional.ofNullable(store.register(wanted, mine)));
            if (made.isPresent()) {
                return made.get();
            }
            NodeRecord other = store.registered(wanted.name());
            if (other != null && deadline.remainingNs() < 2 * NAME_RETRY_NS) {
                throw NodeIds.nameTaken(other, deadline.duration());
            }
            net.sleep(NAME_RETRY_NS, "register");
        }
    }

    private void runRegistrar() {
        try {
            while (!closed) {
                registrar.take().run();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // closed
        }
    }

    /** As the real registrar: what was granted is given up before the process is registered again. */
    private void verify() {
        NodeAdvert mine = advert;
        if (mine == null || registered == null || !connected || closed) {
            return;
        }
        Deadline deadline = Deadline.in(Duration.ofNanos(2 * SESSION_TIMEOUT_NS));
        try {
            Object now = session;
            NodeRecord before = registered;
            if (call("verify the registration", deadline.remaining(), () -> store.isRegistered(before, now))) {
                return;
            }
            if (!listeners.notifyAndWait(DirectoryListener::registrationLost, deadline)) {
                verifyAfter(REGISTER_RETRY_NS);
                return;
            }
            NodeRecord made = make(mine, deadline);
            if (made.incarnation() != before.incarnation()) {
                registered = made;
                listeners.notifyLater(listener -> listener.registeredAgain(made));
            }
        } catch (dev.lite.api.ClusterUnavailableException e) {
            verifyAfter(REGISTER_RETRY_NS);
        } catch (dev.lite.api.LiteException e) {
            advert = null;
            registered = null;
            listeners.notifyLater(listener -> listener.registrationRefused(String.valueOf(e.getMessage())));
        }
    }

    private void verifyAfter(long ns) {
        simulation.after(ns, () -> registrar.add(this::verify));
    }

    /** A listener that fails now and then instead of handling a lost registration: it must be asked again. */
    private final class Failing implements DirectoryListener {
        private final DirectoryListener listener;

        Failing(DirectoryListener listener) {
            this.listener = listener;
        }

        @Override
        public void registrationLost() {
            if (net.random().nextDouble() < lossFailureRate) {
                simulation.note(process + " fails to handle the loss of its registration");
                String what = "the loss of the registration is not handled, on purpose";
                if (net.random().nextBoolean()) {
                    throw new IllegalStateException(what);
                }
                throw new AssertionError(what);
            }
            listener.registrationLost();
        }

        @Override
        public void registrationRefused(String reason) {
            listener.registrationRefused(reason);
        }

        @Override
        public void registeredAgain(NodeRecord now) {
            listener.registeredAgain(now);
        }

        @Override
        public void nodesChanged(List<NodeRecord> nodes) {
            listener.nodesChanged(nodes);
        }

        @Override
        public void epochChanged(Epoch epoch) {
            listener.epochChanged(epoch);
        }

        @Override
        public void availabilityChanged(boolean available) {
            listener.availabilityChanged(available);
        }
    }

    /** The probability that a listener fails to handle a lost registration, each time it is asked to. */
    public void setLossFailureRate(double rate) {
        lossFailureRate = rate;
    }

    // Faults.

    /** The process cannot reach the directory any more; its session lives on until it {@linkplain #expire expires}. */
    public void disconnect() {
        if (!closed && connected) {
            simulation.note(process + " loses the directory");
            connected = false;
            listeners.notifyLater(listener -> listener.availabilityChanged(false));
        }
    }

    /** The directory drops what belongs to the session; the process hears of it when it connects again. */
    public void expire() {
        if (!closed) {
            simulation.note("the session of " + process + " expires");
            store.expire(session);
            session = new Object();
        }
    }

    /** The process reaches the directory again. */
    public void reconnect() {
        if (!closed && !connected) {
            simulation.note(process + " reaches the directory again");
            connected = true;
            listeners.notifyLater(listener -> listener.availabilityChanged(true));
            nodesChanged();
            epochChanged();
            watches.keySet().forEach(this::recordChanged);
            registrar.add(this::verify);
        }
    }

    /** Nothing about the nodes arrives here for this time. */
    public void delayNodes(long ns) {
        simulation.note(process + " hears nothing of nodes for " + ns + " ns");
        nodesHeardNs = Math.max(nodesHeardNs, simulation.nowNs() + ns);
    }

    /** Nothing about epochs arrives here for this time. */
    public void delayEpochs(long ns) {
        simulation.note(process + " hears nothing of epochs for " + ns + " ns");
        epochHeardNs = Math.max(epochHeardNs, simulation.nowNs() + ns);
    }

    /** Whether it reaches the directory. */
    public boolean isConnected() {
        return connected;
    }

    /** The process was killed: the directory drops its session after the timeout. */
    public void abandon() {
        closed = true;
        store.close(this);
        Object mine = session;
        simulation.after(SESSION_TIMEOUT_NS / 2 + net.random().nextLong(SESSION_TIMEOUT_NS), () -> store.expire(mine));
    }

    // News. Called at the moment of the change; what arrives is what is there then.

    void nodesChanged() {
        nodesHeardNs = Math.max(nodesHeardNs, simulation.nowNs() + net.newsNs());
        simulation.at(nodesHeardNs, () -> {
            if (connected && !closed) {
                List<NodeRecord> nodes = store.nodes();
                cachedNodes = nodes;
                listeners.notifyLater(listener -> listener.nodesChanged(nodes));
                if (registered != null && !nodes.contains(registered)) {
                    registrar.add(this::verify);
                }
            }
        });
    }

    void epochChanged() {
        epochHeardNs = Math.max(epochHeardNs, simulation.nowNs() + net.newsNs());
        simulation.at(epochHeardNs, () -> {
            Epoch epoch = store.epoch();
            if (connected && !closed && ZooKeeperEpochs.isNewer(epoch, cachedEpoch)) {
                cachedEpoch = epoch;
                listeners.notifyLater(listener -> listener.epochChanged(epoch));
            }
        });
    }

    void recordChanged(String name) {
        List<Runnable> ofName = watches.getOrDefault(name, List.of());
        if (!ofName.isEmpty()) {
            simulation.after(net.newsNs(), () -> {
                if (connected && !closed) {
                    ofName.forEach(listeners::execute);
                }
            });
        }
    }

    // The rest of the interface.

    @Override
    public List<NodeRecord> nodes() {
        return cachedNodes;
    }

    @Override
    public void publishManagementUrl(String url) {
        throw new UnsupportedOperationException("a simulated node serves no HTTP");
    }

    @Override
    public Map<String, String> managementUrls() {
        return Map.of();
    }

    @Override
    public List<NodeRecord> nodesNow(Duration deadline) {
        return call("read the nodes", deadline, store::nodes);
    }

    /** When the node's thread for orders last read the incarnations. */
    public long incarnationsReadNs() {
        return incarnationsReadNs;
    }

    @Override
    public Map<Integer, Long> incarnationsNow(Duration deadline) {
        boolean forOrders = Thread.currentThread().getName().equals("lite-orders");
        return call("read the incarnations", deadline, () -> {
            if (forOrders) {
                incarnationsReadNs = simulation.nowNs();
            }
            return store.incarnations();
        });
    }

    @Override
    public boolean isAvailable() {
        return connected && !closed;
    }

    @Override
    public Epoch epoch() {
        return cachedEpoch;
    }

    @Override
    public Epoch epochNow(Duration deadline) {
        return call("read the epoch", deadline, store::epoch);
    }

    @Override
    public boolean acknowledge(NodeRecord as, long epoch, Duration deadline) {
        Object mine = session;
        return call("acknowledge epoch " + epoch, deadline, () -> {
            if (!NodeIds.isRegistered(as, registered)) {
                return false;
            }
            return store.acknowledge(as, epoch, mine);
        });
    }

    @Override
    public boolean publishFunctions(NodeRecord as, Collection<String> functions, Duration deadline) {
        FunctionNames.check(functions);
        Object mine = session;
        return call("publish functions", deadline, () -> {
            if (!NodeIds.isRegistered(as, registered)) {
                return false;
            }
            store.publishFunctions(as, Set.copyOf(functions), mine);
            return true;
        });
    }

    /** Without a cache of its own: the simulated applications call nodes by their names. */
    @Override
    public List<String> nodesServing(String function, Duration deadline) {
        return call("list the functions", deadline, () -> store.nodesServing(function));
    }

    @Override
    public void addListener(DirectoryListener listener) {
        List<NodeRecord> nodes = cachedNodes;
        Epoch epoch = cachedEpoch;
        listeners.add(new Failing(listener), added -> {
            added.nodesChanged(nodes);
            if (epoch.number() > 0) {
                added.epochChanged(epoch);
            }
        });
    }

    @Override
    public boolean create(String name, byte[] record, Duration deadline) {
        RecordName.checkRecord(name, record);
        return call("create " + name, deadline, () -> store.create(name, record));
    }

    @Override
    public Optional<VersionedRecord> read(String name, Duration deadline) {
        RecordName.check(name);
        return call("read " + name, deadline, () -> store.read(name));
    }

    @Override
    public Optional<Integer> compareAndSet(String name, int expectedVersion, byte[] record, Duration deadline) {
        RecordName.checkRecord(name, record);
        return call("change " + name, deadline, () -> store.compareAndSet(name, expectedVersion, record));
    }

    @Override
    public boolean delete(String name, int expectedVersion, Duration deadline) {
        RecordName.check(name);
        return call("delete " + name, deadline, () -> store.delete(name, expectedVersion));
    }

    @Override
    public List<String> names(String prefix, String after, int limit, Duration deadline) {
        RecordName.checkLimit(limit);
        return call("list names", deadline, () -> store.names(prefix, after, limit));
    }

    @Override
    public void watch(String name, Runnable changed) {
        RecordName.check(name);
        watches.computeIfAbsent(name, key -> new java.util.ArrayList<>()).add(changed);
        listeners.execute(changed);
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        store.close(this);
        store.expire(session);
        listeners.close();
        registrarThread.interrupt();
    }
}
