package dev.lite.cluster;

import dev.lite.cluster.EpochStore.Ack;
import dev.lite.cluster.EpochStore.Known;
import dev.lite.simulate.engine.Simulation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * What the servers of a simulated directory have. Nothing in here is interrupted by another thread, so each method happens at one
 * moment of the history.
 */
public final class SimulatedStore {
    private record Registration(NodeRecord record, Object session) {}

    private record Acknowledged(Ack ack, Object session) {}

    private static final String ORDERS = ClusterDirectory.INTERNAL_PREFIX + "orders/";
    private static final JsonMapper JSON = JsonMapper.builder()
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .build();

    final SimulatedNet net;
    private final Simulation simulation;
    private final TreeMap<String, VersionedRecord> records = new TreeMap<>();
    private final TreeMap<String, Integer> ids = new TreeMap<>();
    private final Map<String, Long> incarnations = new HashMap<>();
    private final Map<String, Long> registeredNs = new HashMap<>();
    private final TreeMap<String, Registration> live = new TreeMap<>();
    private final TreeMap<Integer, Acknowledged> acks = new TreeMap<>();
    private final TreeMap<String, Published> functions = new TreeMap<>();
    private final List<SimulatedDirectory> directories = new ArrayList<>();
    private final List<SimulatedLeadership> candidates = new ArrayList<>();
    private final Set<Object> ended = Collections.newSetFromMap(new IdentityHashMap<>());
    private Epoch epoch = Epoch.NONE;
    private int epochVersion;
    private long incarnationsBefore;
    private int recordVersion;
    private @Nullable SimulatedLeadership leader;
    private Consumer<List<Order>> whenOrdersChange = orders -> {};
    private Consumer<NodeRecord> whenRegistered = record -> {};

    /** Without nodes, names and managers. */
    public SimulatedStore(Simulation simulation) {
        this.simulation = simulation;
        this.net = new SimulatedNet(simulation);
    }

    /** The probability that a request or an answer is lost. */
    public void setLossRate(double rate) {
        net.setLossRate(rate);
    }

    /** The longest that most news of a change travels to a listener. */
    public void setNewsNsMax(long ns) {
        net.setNewsNsMax(ns);
    }

    /** The first incarnation of each node follows this one. */
    public void beginIncarnationsAt(long last) {
        incarnationsBefore = last;
    }

    /** Sets what follows each registration, at the same moment. */
    public void whenRegistered(Consumer<NodeRecord> action) {
        whenRegistered = action;
    }

    /** Sets what follows each change of the operator's orders, at the same moment. */
    public void whenOrdersChange(Consumer<List<Order>> action) {
        whenOrdersChange = action;
    }

    /** The epoch. */
    public Epoch epoch() {
        return epoch;
    }

    /** The registered nodes in the order of their ids. */
    public List<NodeRecord> nodes() {
        return live.values().stream()
                .map(Registration::record)
                .sorted(Comparator.comparingInt(NodeRecord::id))
                .toList();
    }

    /** The number of records whose names begin so. */
    public int records(String prefix) {
        return records.subMap(prefix, prefix + Character.MAX_VALUE).size();
    }

    /** All names. */
    public List<String> names() {
        return List.copyOf(records.keySet());
    }

    void open(SimulatedDirectory directory) {
        directories.add(directory);
    }

    void close(SimulatedDirectory directory) {
        directories.remove(directory);
    }

    int claimId(String name, int heldId) {
        Integer known = ids.get(name);
        if (known != null) {
            if (heldId != NodeAdvert.NO_ID && heldId != known) {
                throw NodeIds.heldIdDiffers(name, heldId, known);
            }
            return known;
        }
        int id = heldId != NodeAdvert.NO_ID ? heldId : ids.size();
        ids.forEach((other, taken) -> {
            if (taken == id) {
                throw NodeIds.heldIdTaken(name, id, other);
            }
        });
        ids.put(name, id);
        return id;
    }

    /** Returns null while another session has the name, and for a session that has ended. */
    @Nullable
    NodeRecord register(NodeAdvert advert, Object session) {
        if (ended.contains(session)) {
            return null;
        }
        Registration other = live.get(advert.name());
        if (other != null) {
            return other.session() == session ? other.record() : null;
        }
        int id = claimId(advert.name(), advert.heldId());
        NodeRecord record = NodeIds.record(
                advert, id, incarnations.merge(advert.name(), 1 + incarnationsBefore, (last, first) -> last + 1));
        live.put(advert.name(), new Registration(record, session));
        registeredNs.put(advert.name(), simulation.nowNs());
        simulation.note("directory registers %s as incarnation %d".formatted(record.name(), record.incarnation()));
        whenRegistered.accept(record);
        nodesChanged();
        return record;
    }

    boolean isRegistered(NodeRecord record, Object session) {
        Registration mine = live.get(record.name());
        return mine != null && mine.session() == session && mine.record().incarnation() == record.incarnation();
    }

    @Nullable
    NodeRecord registered(String name) {
        Registration there = live.get(name);
        return there == null ? null : there.record();
    }

    /** The last incarnation that a name got; 0 when none. */
    public long lastIncarnation(String name) {
        return incarnations.getOrDefault(name, 0L);
    }

    /** When a name was last registered. */
    public long registeredNs(String name) {
        return registeredNs.getOrDefault(name, 0L);
    }

    /** Removes what lives as long as this session. */
    void expire(Object session) {
        ended.add(session);
        acks.values().removeIf(ack -> ack.session() == session);
        functions.values().removeIf(published -> published.session() == session);
        if (live.values().removeIf(registration -> registration.session() == session)) {
            nodesChanged();
        }
    }

    private void nodesChanged() {
        directories.forEach(SimulatedDirectory::nodesChanged);
    }

    boolean acknowledge(NodeRecord as, long number, Object session) {
        Registration mine = live.get(as.name());
        if (mine == null || mine.session() != session || mine.record().incarnation() != as.incarnation()) {
            return false;
        }
        Acknowledged before = acks.get(as.id());
        if (before == null
                || before.ack().incarnation() != as.incarnation()
                || before.ack().epoch() < number) {
            acks.put(as.id(), new Acknowledged(new Ack(as.incarnation(), number), session));
            simulation.note("directory: %s acknowledges epoch %d".formatted(as.name(), number));
        }
        return true;
    }

    Map<Integer, Long> incarnations() {
        Map<Integer, Long> byId = new TreeMap<>();
        ids.forEach((name, id) -> byId.put(id, lastIncarnation(name)));
        return byId;
    }

    int epochVersion() {
        return epochVersion;
    }

    List<Known> known() {
        return ids.entrySet().stream()
                .map(id -> new Known(id.getValue(), id.getKey(), incarnations.getOrDefault(id.getKey(), 0L)))
                .toList();
    }

    void publishFunctions(NodeRecord as, Set<String> served, Object session) {
        functions.put(as.name(), new Published(served, session));
    }

    List<String> nodesServing(String function) {
        return functions.entrySet().stream()
                .filter(node -> node.getValue().functions().contains(function))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** The functions of a node, as long as its session lives. */
    private record Published(Set<String> functions, Object session) {}

    Map<Integer, Ack> acks() {
        Map<Integer, Ack> now = new TreeMap<>();
        acks.forEach((id, ack) -> now.put(id, ack.ack()));
        return now;
    }

    boolean replaceEpoch(int version, Epoch next) {
        if (version != epochVersion) {
            return false;
        }
        epoch = next;
        epochVersion++;
        simulation.note("directory has " + next + ", removals " + next.removals());
        directories.forEach(SimulatedDirectory::epochChanged);
        return true;
    }

    boolean create(String name, byte[] record) {
        VersionedRecord there = records.get(name);
        if (there != null) {
            return Arrays.equals(there.bytes(), record);
        }
        put(name, record);
        return true;
    }

    private int put(String name, byte[] record) {
        records.put(name, new VersionedRecord(record.clone(), ++recordVersion));
        directories.forEach(directory -> directory.recordChanged(name));
        if (name.startsWith(ORDERS)) {
            whenOrdersChange.accept(JSON.readValue(record, OrderBook.class).orders());
        }
        return recordVersion;
    }

    Optional<VersionedRecord> read(String name) {
        return Optional.ofNullable(records.get(name))
                .map(record -> new VersionedRecord(record.bytes().clone(), record.version()));
    }

    Optional<Integer> compareAndSet(String name, int expected, byte[] record) {
        VersionedRecord there = records.get(name);
        return there == null || there.version() != expected ? Optional.empty() : Optional.of(put(name, record));
    }

    boolean delete(String name, int expected) {
        VersionedRecord there = records.get(name);
        if (there == null) {
            return true;
        }
        if (there.version() != expected) {
            return false;
        }
        records.remove(name);
        directories.forEach(directory -> directory.recordChanged(name));
        return true;
    }

    List<String> names(String prefix, String after, int limit) {
        boolean skips = after.compareTo(prefix) >= 0;
        return records.tailMap(skips ? after : prefix, !skips).keySet().stream()
                .takeWhile(name -> name.startsWith(prefix))
                .limit(limit)
                .toList();
    }

    void stand(SimulatedLeadership candidate) {
        candidates.add(candidate);
        if (leader == null) {
            elect();
        }
    }

    void standDown(SimulatedLeadership candidate) {
        candidates.remove(candidate);
        if (leader == candidate) {
            elect();
        }
    }

    /** Makes another manager lead, if there is one; the former one hears of it later. */
    public void elect() {
        SimulatedLeadership former = leader;
        List<SimulatedLeadership> others =
                candidates.stream().filter(candidate -> candidate != former).toList();
        leader = !others.isEmpty()
                ? others.get(net.random().nextInt(others.size()))
                : candidates.contains(former) ? former : null;
        candidates.forEach(SimulatedLeadership::leaderChanged);
    }

    boolean leads(SimulatedLeadership candidate) {
        return leader == candidate;
    }
}
