package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.os.waiting.Deadline;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** The epoch and its acknowledgements in ZooKeeper. The epoch's znode is never deleted, so its version only grows. */
final class ZooKeeperEpochs implements EpochStore, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ZooKeeperEpochs.class);
    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int NOT_MADE = -1;

    private final ZooKeeperSession session;
    private final ZooKeeperPaths paths;
    private final LiveNodes live;
    private final Function<Duration, Deadline> begin;
    private final ListenerThread listeners;
    private final CuratorCache cache;
    private volatile Epoch cached = Epoch.NONE;

    /** @param begin starts a request: makes its deadline and waits for the connection */
    ZooKeeperEpochs(
            ZooKeeperSession session,
            ZooKeeperPaths paths,
            LiveNodes live,
            ListenerThread listeners,
            Function<Duration, Deadline> begin) {
        this.session = session;
        this.paths = paths;
        this.live = live;
        this.listeners = listeners;
        this.begin = begin;
        cache = session.cache(
                paths.epoch,
                CuratorCacheListener.builder()
                        .forCreatesAndChanges(
                                (before, after) -> session.trusted(after).ifPresent(this::changed))
                        .build(),
                CuratorCache.Options.SINGLE_NODE_CACHE);
    }

    void start() {
        cache.start();
    }

    Epoch cached() {
        return cached;
    }

    private void changed(byte[] bytes) {
        listeners.execute(() -> {
            try {
                update(decode(bytes));
            } catch (ClusterUnavailableException e) {
                log.error("The epoch cannot be read; this process keeps {}", cached, e);
            }
        });
    }

    /** Runs on the listener thread. A watch may be late: a newer epoch is never replaced by an older one. */
    private void update(Epoch epoch) {
        if (isNewer(epoch, cached)) {
            cached = epoch;
            listeners.notifyLater(listener -> listener.epochChanged(epoch));
        }
    }

    /** With the same number, an epoch changes only when removals become fenced. */
    static boolean isNewer(Epoch one, Epoch other) {
        if (one.number() != other.number()) {
            return one.number() > other.number();
        }
        return one.pending().size() < other.pending().size();
    }

    Epoch now(Deadline deadline) {
        CompletableFuture<?> synced = session.sync(paths.epoch);
        CompletableFuture<Answer<ZooKeeperSession.Data>> reading = session.getData(paths.epoch);
        session.await(synced, deadline, "read the epoch");
        Answer<ZooKeeperSession.Data> answer = session.await(reading, deadline, "read the epoch");
        return answer.is(Code.NONODE) ? Epoch.NONE : decode(answer.get().bytes());
    }

    /**
     * The last incarnation of each node, by id: the versions of the nodes' id znodes.
     *
     * @throws ClusterUnavailableException also if somebody without the cluster's secret wrote one: without that node, others would take its
     *     memory while it still uses it
     */
    Map<Integer, Long> incarnations(Deadline deadline) {
        String what = "read the incarnations of the nodes";
        CompletableFuture<?> synced = session.sync(paths.ids);
        CompletableFuture<Answer<List<String>>> names = session.children(paths.ids);
        session.await(synced, deadline, what);
        Map<Integer, Long> last = new HashMap<>();
        for (ZooKeeperSession.Data id : ids(session.await(names, deadline, what).get(), deadline, what)) {
            last.put(idOf(id), (long) id.stat().getVersion());
        }
        return last;
    }

    @Override
    public Snapshot snapshot(Duration duration) {
        Deadline deadline = begin.apply(duration);
        String what = "read the cluster's epoch";
        // One after the other; Snapshot explains why.
        CompletableFuture<?> synced = session.sync(paths.epoch);
        CompletableFuture<Answer<ZooKeeperSession.Data>> reading = session.getData(paths.epoch);
        CompletableFuture<Answer<List<String>>> names = session.children(paths.ids);
        session.await(synced, deadline, what);
        Answer<ZooKeeperSession.Data> epoch = session.await(reading, deadline, what);
        boolean made = !epoch.is(Code.NONODE);
        List<Known> known = known(session.await(names, deadline, what).get(), deadline, what);
        List<NodeRecord> nodes = live.now(deadline);
        return new Snapshot(
                made ? decode(epoch.get().bytes()) : Epoch.NONE,
                made ? epoch.get().stat().getVersion() : NOT_MADE,
                known,
                nodes,
                acks(nodes, deadline, what));
    }

    private List<Known> known(List<String> names, Deadline deadline, String what) {
        List<Known> known = new ArrayList<>();
        for (ZooKeeperSession.Data id : ids(names, deadline, what)) {
            if (id.trusted().isPresent()) { // a forged id must not keep the others from being removed
                String name = id.path().substring(paths.ids.length() + 1);
                known.add(new Known(idOf(id), name, id.stat().getVersion()));
            }
        }
        return known;
    }

    private List<ZooKeeperSession.Data> ids(List<String> names, Deadline deadline, String what) {
        List<CompletableFuture<Answer<ZooKeeperSession.Data>>> reading =
                names.stream().map(name -> session.getData(paths.id(name))).toList();
        return reading.stream()
                .map(pending -> session.await(pending, deadline, what).get())
                .toList();
    }

    private static int idOf(ZooKeeperSession.Data id) {
        return NodeIdStore.parse(id.path(), new String(id.bytes(), StandardCharsets.UTF_8));
    }

    private Map<Integer, Ack> acks(List<NodeRecord> nodes, Deadline deadline, String what) {
        Map<Integer, CompletableFuture<Answer<ZooKeeperSession.Data>>> reading = new HashMap<>();
        nodes.forEach(node -> reading.put(node.id(), session.getData(paths.ack(node.id()))));
        Map<Integer, Ack> acks = new HashMap<>();
        reading.forEach((id, pending) -> {
            Answer<ZooKeeperSession.Data> answer = session.await(pending, deadline, what);
            if (!answer.is(Code.NONODE)) {
                parseAck(answer).ifPresent(ack -> acks.put(id, ack));
            }
        });
        return acks;
    }

    @Override
    public boolean replace(Snapshot seen, Epoch next, Duration duration) {
        Deadline deadline = begin.apply(duration);
        byte[] bytes = JSON.writeValueAsBytes(next);
        Op change = seen.version() == NOT_MADE
                ? session.createOp(paths.epoch, bytes, CreateMode.PERSISTENT)
                : session.setDataOp(paths.epoch, bytes, seen.version(), 0);
        Answer<List<OpResult>> changed =
                session.await(session.multi(paths.epoch, List.of(change)), deadline, "change the epoch");
        if (!changed.isOk() && !changed.is(Code.BADVERSION) && !changed.is(Code.NODEEXISTS)) {
            throw changed.unexpected();
        }
        return changed.isOk();
    }

    /**
     * Writes an acknowledgement that lives as long as this session.
     *
     * @return false when a later incarnation of the node has written one
     */
    boolean acknowledge(NodeRecord as, long epoch, Deadline deadline) {
        String path = paths.ack(as.id());
        String what = "acknowledge epoch " + epoch;
        Ack mine = new Ack(as.incarnation(), epoch);
        while (true) {
            Answer<ZooKeeperSession.Data> there = session.await(session.getData(path), deadline, what);
            List<Op> operations = new ArrayList<>();
            if (!there.is(Code.NONODE)) {
                Ack before = parseAck(there).orElse(mine);
                if (before.incarnation() > mine.incarnation()) {
                    return false;
                }
                boolean ofThisSession = there.get().stat().getEphemeralOwner() == session.sessionId();
                if (ofThisSession && before.incarnation() == mine.incarnation() && before.epoch() > epoch) {
                    return true;
                }
                operations.add(
                        Op.delete(path, there.get().stat().getVersion())); // it would disappear with its own session
            }
            operations.add(session.createOp(path, JSON.writeValueAsBytes(mine), CreateMode.EPHEMERAL));
            Answer<List<OpResult>> written = session.await(session.multi(path, operations), deadline, what);
            if (written.isOk()) {
                return true;
            }
            if (!written.is(Code.BADVERSION) && !written.is(Code.NODEEXISTS) && !written.is(Code.NONODE)) {
                throw written.unexpected();
            }
        }
    }

    private static Epoch decode(byte[] bytes) {
        try {
            Epoch epoch = JSON.readValue(bytes, Epoch.class);
            if (epoch != null) {
                return epoch;
            }
        } catch (JacksonException e) {
            throw new ClusterUnavailableException("the epoch cannot be read: " + e.getOriginalMessage(), e);
        }
        throw new ClusterUnavailableException("the epoch cannot be read: it is null");
    }

    /** Returns empty and logs when the content is invalid; it is then ignored. */
    private static Optional<Ack> parseAck(Answer<ZooKeeperSession.Data> answer) {
        try {
            return answer.get().trusted().map(bytes -> JSON.readValue(bytes, Ack.class));
        } catch (JacksonException e) {
            log.warn("The acknowledgement {} is ignored: {}", answer.path(), e.getOriginalMessage());
            return Optional.empty();
        }
    }

    @Override
    public void close() {
        cache.close();
    }
}
