package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * A directory within this process, for tests and single-process tools: the sessions that were opened on one {@link Store}
 * see each other. {@link #setAvailable} and {@link #expireSession} play the faults of a real one. Nothing here waits, so
 * no deadline ever passes.
 */
public final class InMemoryDirectory implements ClusterDirectory {
    private final Store store;
    private final ListenerThread listeners = new ListenerThread("lite-directory-in-memory");

    // Guarded by the store.
    private boolean available = true;
    private boolean closed;
    private List<NodeRecord> nodesHeard = List.of();
    private @Nullable NodeAdvert advert;
    private final Map<String, List<Runnable>> watches = new HashMap<>();

    private InMemoryDirectory(Store store) {
        this.store = store;
    }

    /** What the sessions share; any thread. Its lock is held shortly and never while a listener runs. */
    public static final class Store {
        private final List<InMemoryDirectory> sessions = new CopyOnWriteArrayList<>();
        private final TreeMap<String, VersionedRecord> records = new TreeMap<>();
        private final Map<String, Integer> ids = new HashMap<>();
        private final Map<String, Long> incarnations = new HashMap<>();
        private final Map<String, Registration> live = new HashMap<>();
        private int lastVersion;

        /** A new session. */
        public InMemoryDirectory open() {
            synchronized (this) {
                InMemoryDirectory session = new InMemoryDirectory(this);
                session.nodesHeard = nodes();
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

        private void tellNodes() {
            List<NodeRecord> nodes = nodes();
            for (InMemoryDirectory session : sessions) {
                if (session.available) {
                    session.nodesHeard = nodes;
                    session.listeners.tell(listener -> listener.nodesChanged(nodes));
                }
            }
        }

        private void tellChanged(String name) {
            for (InMemoryDirectory session : sessions) {
                if (session.available) {
                    session.watches.getOrDefault(name, List.of()).forEach(session.listeners::tellSafely);
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
            int id = store.claimId(newAdvert.name(), newAdvert.heldId());
            Registration other = store.live.get(newAdvert.name());
            if (other != null) {
                throw NodeIds.nameTaken(other.record(), Duration.ZERO);
            }
            NodeRecord record = put(newAdvert, id);
            advert = newAdvert;
            return record;
        }
    }

    private NodeRecord put(NodeAdvert newAdvert, int id) {
        long incarnation = store.incarnations.merge(newAdvert.name(), 1L, Long::sum);
        NodeRecord record = NodeIds.record(newAdvert, id, incarnation);
        store.live.put(newAdvert.name(), new Registration(record, this));
        store.tellNodes();
        return record;
    }

    /**
     * Whether this session reaches the store from now on. The registration outlives being unavailable; follow it with
     * {@link #expireSession} to play a long absence.
     */
    public void setAvailable(boolean nowAvailable) {
        synchronized (store) {
            if (available == nowAvailable || closed) {
                return;
            }
            available = nowAvailable;
            listeners.tell(listener -> listener.availabilityChanged(nowAvailable));
            if (nowAvailable) {
                List<NodeRecord> nodes = store.nodes();
                nodesHeard = nodes;
                listeners.tell(listener -> listener.nodesChanged(nodes));
                watches.values().forEach(ofName -> ofName.forEach(listeners::tellSafely));
                registerAgainIfLost();
            }
        }
    }

    /** Ends this session as a directory does that has not heard of it: the registration goes, and comes back anew. */
    public void expireSession() {
        synchronized (store) {
            if (advert == null || closed) {
                return;
            }
            Registration mine = store.live.get(advert.name());
            if (mine != null && mine.owner() == this) {
                store.live.remove(advert.name());
                store.tellNodes();
            }
            if (available) {
                registerAgainIfLost();
            }
        }
    }

    private void registerAgainIfLost() {
        NodeAdvert lost = advert;
        if (lost == null) {
            return;
        }
        Registration current = store.live.get(lost.name());
        if (current == null) {
            NodeRecord record = put(lost, store.claimId(lost.name(), lost.heldId()));
            listeners.tell(listener -> listener.registeredAgain(record));
        } else if (current.owner() != this) {
            advert = null;
            String reason = String.valueOf(
                    NodeIds.nameTaken(current.record(), Duration.ZERO).getMessage());
            listeners.tell(listener -> listener.registrationRefused(reason));
        }
    }

    @Override
    public List<NodeRecord> nodes() {
        synchronized (store) {
            return nodesHeard;
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
    public boolean isAvailable() {
        synchronized (store) {
            return available && !closed;
        }
    }

    @Override
    public void addListener(DirectoryListener listener) {
        synchronized (store) {
            List<NodeRecord> nodes = nodesHeard;
            listeners.add(listener, added -> added.nodesChanged(nodes));
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

    /** Versions come from one counter of the store, so that a name made again never has a version that it had before. */
    private int putRecord(String name, byte[] record) {
        int version = ++store.lastVersion;
        store.records.put(name, new VersionedRecord(record.clone(), version));
        store.tellChanged(name);
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
            store.tellChanged(name);
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
            listeners.tellSafely(changed);
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
                store.tellNodes();
            }
        }
        listeners.close();
    }
}
