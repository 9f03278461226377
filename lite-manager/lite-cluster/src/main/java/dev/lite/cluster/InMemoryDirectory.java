package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A directory within this process, for tests and single-process tools: sessions opened on one {@link Store} see each other.
 * {@link #setAvailable} and {@link #expireSession} simulate faults. Nothing here blocks, so deadlines never pass.
 *
 * <p>The store also acts as the manager, unless {@linkplain Store#setKeeper disabled}: each change makes a new epoch
 * immediately, and the last missing acknowledgement fences its removals.
 */
public final class InMemoryDirectory implements ClusterDirectory {
    private static final long RETRY_MS = 50;

    private final Store store;
    private final ListenerThread listeners = new ListenerThread("lite-directory-in-memory");
    private final Executor again = CompletableFuture.delayedExecutor(RETRY_MS, TimeUnit.MILLISECONDS);

    // Guarded by the store.
    private boolean available = true;
    private boolean closed;
    private List<NodeRecord> cachedNodes = List.of();
    private Epoch cachedEpoch = Epoch.NONE;
    private Map<String, Set<String>> cachedFunctions = Map.of();
    private @Nullable NodeAdvert advert;
    private final Map<String, List<Runnable>> watches = new HashMap<>();
    private @Nullable NodeRecord registered;
    private @Nullable String managementUrl;

    private InMemoryDirectory(Store store) {
        this.store = store;
    }

    /** The state shared by the sessions. Any thread. Its lock is held briefly and never while a listener runs. */
    public static final class Store {
        private final List<InMemoryDirectory> sessions = new CopyOnWriteArrayList<>();
        private final TreeMap<String, VersionedRecord> records = new TreeMap<>();
        private final Map<String, Integer> ids = new HashMap<>();
        private final Map<String, Long> incarnations = new HashMap<>();
        private final Map<String, Registration> live = new HashMap<>();
        private final Map<Integer, EpochStore.Ack> acks = new HashMap<>();
        private final TreeMap<String, Set<String>> functions = new TreeMap<>(); // by node; replaced, not changed
        private final StoredEpoch epochs = new StoredEpoch();
        private boolean keeps = true;
        private int lastVersion;

        /**
         * Enables or disables making epochs, as a leading manager does; initially enabled. Enabling also handles the
         * changes missed before.
         */
        public void setKeeper(boolean nowKeeps) {
            synchronized (this) {
                keeps = nowKeeps;
                keep();
            }
        }

        private void keep() {
            EpochKeeper keeper = new EpochKeeper(epochs, deadline -> true);
            while (keeps && keeper.doWork(Duration.ZERO) > 0) {
                notifyEpoch();
            }
        }

        private void notifyEpoch() {
            Epoch epoch = epochs.epoch;
            for (InMemoryDirectory session : sessions) {
                session.update(epoch);
            }
        }

        /** Guarded by the store's lock. */
        private final class StoredEpoch implements EpochStore {
            private Epoch epoch = Epoch.NONE;
            private int version;

            @Override
            public Snapshot snapshot(Duration deadline) {
                List<Known> known = ids.entrySet().stream()
                        .map(id -> new Known(id.getValue(), id.getKey(), incarnations.getOrDefault(id.getKey(), 0L)))
                        .toList();
                return new Snapshot(epoch, version, known, nodes(), Map.copyOf(acks));
            }

            @Override
            public boolean replace(Snapshot seen, Epoch next, Duration deadline) {
                epoch = next;
                version++;
                return true;
            }
        }

        /** Opens a session. */
        public InMemoryDirectory open() {
            synchronized (this) {
                InMemoryDirectory session = new InMemoryDirectory(this);
                session.cachedNodes = nodes();
                session.cachedFunctions = Map.copyOf(functions);
                session.cachedEpoch = epochs.epoch;
                sessions.add(session);
                return session;
            }
        }

        private List<NodeRecord> nodes() {
            return live.values().stream()
                    .map(Registration::record)
                    .sorted(Comparator.comparingInt(NodeRecord::id))
                    .toList();
        }

        private void notifyNodes() {
            List<NodeRecord> nodes = nodes();
            for (InMemoryDirectory session : sessions) {
                if (session.available) {
                    session.cachedNodes = nodes;
                    session.cachedFunctions = Map.copyOf(functions);
                    session.listeners.notifyLater(listener -> listener.nodesChanged(nodes));
                }
            }
            keep();
        }

        private void notifyFunctions() {
            for (InMemoryDirectory session : sessions) {
                if (session.available) {
                    session.cachedFunctions = Map.copyOf(functions);
                }
            }
        }

        private void notifyChanged(String name) {
            for (InMemoryDirectory session : sessions) {
                if (session.available) {
                    session.watches.getOrDefault(name, List.of()).forEach(session.listeners::execute);
                }
            }
        }

        private int claimId(String name, int heldId) {
            Integer known = ids.get(name);
            if (known != null) {
                if (heldId != NodeAdvert.NO_ID && heldId != known) {
                    throw NodeIds.heldIdDiffers(name, heldId, known);
                }
                return known;
            }
            if (heldId != NodeAdvert.NO_ID) {
                ids.forEach((other, id) -> {
                    if (id == heldId) {
                        throw NodeIds.heldIdTaken(name, heldId, other);
                    }
                });
                ids.put(name, heldId);
                return heldId;
            }
            BitSet taken = new BitSet(NODE_ID_MAX + 1);
            ids.values().forEach(taken::set);
            int id = taken.nextClearBit(0);
            if (id > NODE_ID_MAX) {
                throw NodeIds.exhausted(name);
            }
            ids.put(name, id);
            return id;
        }
    }

    private record Registration(NodeRecord record, InMemoryDirectory owner) {}

    @Override
    public int claimId(String name, int heldId, Duration deadline) {
        NodeIds.check(name, heldId);
        synchronized (store) {
            requireAvailable();
            return store.claimId(name, heldId);
        }
    }

    @Override
    public NodeRecord register(NodeAdvert newAdvert, Duration deadline) {
        NodeIds.check(newAdvert.name(), newAdvert.heldId());
        synchronized (store) {
            requireAvailable();
            if (advert != null) {
                throw new IllegalStateException(
                        "this directory is registered as the node \"%s\" already".formatted(advert.name()));
            }
            listeners.forgetRegistration();
            int id = store.claimId(newAdvert.name(), newAdvert.heldId());
            Registration other = store.live.get(newAdvert.name());
            if (other != null) {
                throw NodeIds.nameTaken(other.record(), Duration.ZERO);
            }
            advert = newAdvert;
            return put(newAdvert, id);
        }
    }

    private NodeRecord put(NodeAdvert newAdvert, int id) {
        long incarnation = store.incarnations.merge(newAdvert.name(), 1L, Long::sum);
        NodeRecord record = NodeIds.record(newAdvert, id, incarnation);
        store.live.put(newAdvert.name(), new Registration(record, this));
        registered = record;
        store.notifyNodes();
        return record;
    }

    /**
     * Makes the store reachable or unreachable for this session. The registration survives; also call {@link
     * #expireSession} to simulate a long outage.
     */
    public void setAvailable(boolean nowAvailable) {
        synchronized (store) {
            if (available == nowAvailable || closed) {
                return;
            }
            available = nowAvailable;
            listeners.notifyLater(listener -> listener.availabilityChanged(nowAvailable));
            if (nowAvailable) {
                List<NodeRecord> nodes = store.nodes();
                cachedNodes = nodes;
                cachedFunctions = Map.copyOf(store.functions);
                listeners.notifyLater(listener -> listener.nodesChanged(nodes));
                watches.values().forEach(ofName -> ofName.forEach(listeners::execute));
                registerAgainIfLost();
                update(store.epochs.epoch);
            }
        }
    }

    /** Expires this session: the registration is removed and then made again. */
    public void expireSession() {
        synchronized (store) {
            if (advert == null || closed) {
                return;
            }
            Registration mine = store.live.get(advert.name());
            if (mine != null && mine.owner() == this) {
                store.live.remove(advert.name());
                store.functions.remove(advert.name());
                store.notifyNodes();
            }
            if (available) {
                registerAgainIfLost();
            }
        }
    }

    /** Requires the store's lock. The listener thread registers again after the listeners have released what this process had. */
    private void registerAgainIfLost() {
        if (isLost()) {
            listeners.execute(() -> {
                synchronized (store) {
                    if (!isLost()) {
                        return;
                    }
                }
                boolean released = listeners.notifyNow(DirectoryListener::registrationLost);
                synchronized (store) {
                    if (!released) {
                        again.execute(this::registerAgainSoon);
                    } else if (isLost()) {
                        registerAgain();
                    }
                }
            });
        }
    }

    private void registerAgainSoon() {
        synchronized (store) {
            registerAgainIfLost();
        }
    }

    private boolean isLost() {
        NodeAdvert mine = advert;
        if (mine == null || closed || !available) {
            return false;
        }
        Registration current = store.live.get(mine.name());
        return current == null || current.owner() != this;
    }

    private void registerAgain() {
        NodeAdvert lost = java.util.Objects.requireNonNull(advert);
        Registration current = store.live.get(lost.name());
        if (current == null) {
            NodeRecord record = put(lost, store.claimId(lost.name(), lost.heldId()));
            listeners.notifyOfRegistration(listener -> listener.registeredAgain(record));
        } else if (current.owner() != this) {
            advert = null;
            registered = null;
            String reason = String.valueOf(
                    NodeIds.nameTaken(current.record(), Duration.ZERO).getMessage());
            listeners.notifyOfRegistration(listener -> listener.registrationRefused(reason));
        }
    }

    @Override
    public void publishManagementUrl(String url) {
        synchronized (store) {
            managementUrl = url;
        }
    }

    @Override
    public Map<String, String> managementUrls() {
        synchronized (store) {
            Map<String, String> urls = new HashMap<>();
            store.live.forEach((name, registration) -> {
                String url = registration.owner().managementUrl;
                if (url != null) {
                    urls.put(name, url);
                }
            });
            return urls;
        }
    }

    @Override
    public List<NodeRecord> nodes() {
        synchronized (store) {
            return cachedNodes;
        }
    }

    @Override
    public List<NodeRecord> nodesNow(Duration deadline) {
        synchronized (store) {
            requireAvailable();
            return store.nodes();
        }
    }

    @Override
    public Map<Integer, Long> incarnationsNow(Duration deadline) {
        synchronized (store) {
            requireAvailable();
            Map<Integer, Long> last = new HashMap<>();
            store.ids.forEach((name, id) -> last.put(id, store.incarnations.getOrDefault(name, 0L)));
            return last;
        }
    }

    @Override
    public boolean isAvailable() {
        synchronized (store) {
            return available && !closed;
        }
    }

    @Override
    public Epoch epoch() {
        synchronized (store) {
            return cachedEpoch;
        }
    }

    @Override
    public Epoch epochNow(Duration deadline) {
        synchronized (store) {
            requireAvailable();
            return store.epochs.epoch;
        }
    }

    @Override
    public boolean acknowledge(NodeRecord as, long epoch, Duration deadline) {
        synchronized (store) {
            requireAvailable();
            if (!NodeIds.isRegistered(as, registered)) {
                return false;
            }
            store.acks.merge(
                    as.id(),
                    new EpochStore.Ack(as.incarnation(), epoch),
                    (before, now) ->
                            before.incarnation() == now.incarnation() && before.epoch() > now.epoch() ? before : now);
            store.keep();
            return true;
        }
    }

    /** Requires the store's lock. */
    private void update(Epoch epoch) {
        if (available && !epoch.equals(cachedEpoch)) {
            cachedEpoch = epoch;
            listeners.notifyLater(listener -> listener.epochChanged(epoch));
        }
    }

    @Override
    public void addListener(DirectoryListener listener) {
        synchronized (store) {
            List<NodeRecord> nodes = cachedNodes;
            Epoch epoch = cachedEpoch;
            listeners.add(listener, added -> {
                added.nodesChanged(nodes);
                if (epoch.number() > 0) {
                    added.epochChanged(epoch);
                }
            });
        }
    }

    @Override
    public boolean create(String name, byte[] record, Duration deadline) {
        RecordName.checkRecord(name, record);
        synchronized (store) {
            requireAvailable();
            VersionedRecord existing = store.records.get(name);
            if (existing != null) {
                return Arrays.equals(existing.bytes(), record);
            }
            putRecord(name, record);
            return true;
        }
    }

    /** Versions come from one counter of the store, so that a record created again never repeats a version. */
    private int putRecord(String name, byte[] record) {
        int version = ++store.lastVersion;
        store.records.put(name, new VersionedRecord(record.clone(), version));
        store.notifyChanged(name);
        return version;
    }

    @Override
    public Optional<VersionedRecord> read(String name, Duration deadline) {
        RecordName.check(name);
        synchronized (store) {
            requireAvailable();
            return Optional.ofNullable(store.records.get(name))
                    .map(record -> new VersionedRecord(record.bytes().clone(), record.version()));
        }
    }

    @Override
    public Optional<Integer> compareAndSet(String name, int expectedVersion, byte[] record, Duration deadline) {
        RecordName.checkRecord(name, record);
        synchronized (store) {
            requireAvailable();
            VersionedRecord existing = store.records.get(name);
            if (existing == null || existing.version() != expectedVersion) {
                return Optional.empty();
            }
            return Optional.of(putRecord(name, record));
        }
    }

    @Override
    public boolean delete(String name, int expectedVersion, Duration deadline) {
        RecordName.check(name);
        synchronized (store) {
            requireAvailable();
            VersionedRecord existing = store.records.get(name);
            if (existing == null) {
                return true;
            }
            if (existing.version() != expectedVersion) {
                return false;
            }
            store.records.remove(name);
            store.notifyChanged(name);
            return true;
        }
    }

    @Override
    public List<String> names(String prefix, String after, int limit, Duration deadline) {
        RecordName.checkLimit(limit);
        synchronized (store) {
            requireAvailable();
            List<String> names = new ArrayList<>();
            boolean skips = after.compareTo(prefix) >= 0;
            for (String name :
                    store.records.tailMap(skips ? after : prefix, !skips).keySet()) {
                if (!name.startsWith(prefix) || names.size() == limit) {
                    break;
                }
                names.add(name);
            }
            return List.copyOf(names);
        }
    }

    @Override
    public void watch(String name, Runnable changed) {
        RecordName.check(name);
        synchronized (store) {
            watches.computeIfAbsent(name, key -> new ArrayList<>()).add(changed);
            listeners.execute(changed);
        }
    }

    @Override
    public boolean publishFunctions(NodeRecord as, Collection<String> functions, Duration deadline) {
        FunctionNames.check(functions);
        synchronized (store) {
            requireAvailable();
            if (!NodeIds.isRegistered(as, registered)) {
                return false;
            }
            store.functions.put(as.name(), Set.copyOf(functions));
            store.notifyFunctions();
            return true;
        }
    }

    @Override
    public List<String> nodesServing(String function, Duration deadline) {
        synchronized (store) {
            return cachedFunctions.entrySet().stream()
                    .filter(node -> node.getValue().contains(function))
                    .map(Map.Entry::getKey)
                    .sorted()
                    .toList();
        }
    }

    private void requireAvailable() {
        if (closed) {
            throw new ClusterUnavailableException("the directory is closed");
        }
        if (!available) {
            throw new ClusterUnavailableException("the in-memory directory was made unavailable");
        }
    }

    @Override
    public void close() {
        synchronized (store) {
            if (closed) {
                return;
            }
            closed = true;
            store.sessions.remove(this);
            if (advert != null && store.live.values().removeIf(registration -> registration.owner() == this)) {
                store.functions.remove(advert.name());
                store.notifyNodes();
            }
        }
        listeners.close();
    }
}
