package dev.lite.cluster;

import dev.lite.os.waiting.Deadline;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.zookeeper.KeeperException.Code;

/** The registrations: cached through a watch, or read from ZooKeeper. Any thread. */
final class LiveNodes implements AutoCloseable {
    private final ZooKeeperSession session;
    private final ZooKeeperPaths paths;
    private final ListenerThread listeners;
    private final Consumer<List<NodeRecord>> onChange;
    private final CuratorCache cache;
    private final AtomicBoolean refreshQueued = new AtomicBoolean();

    /** False until the first answer, so that an empty list is reported only when it is real. */
    private volatile boolean known;

    private volatile List<NodeRecord> cached = List.of();
    private volatile Map<String, String> managementUrls = Map.of();

    /** @param onChange receives each new list, on the listener thread */
    LiveNodes(
            ZooKeeperSession session,
            ZooKeeperPaths paths,
            ListenerThread listeners,
            Consumer<List<NodeRecord>> onChange) {
        this.session = session;
        this.paths = paths;
        this.listeners = listeners;
        this.onChange = onChange;
        cache = session.cache(
                paths.live,
                CuratorCacheListener.builder()
                        .forAll((type, before, after) -> queueRefresh())
                        .forInitialized(() -> {
                            known = true;
                            queueRefresh();
                        })
                        .build());
    }

    void start() {
        cache.start();
    }

    /** The cached registrations, in the order of the ids. */
    List<NodeRecord> cached() {
        return cached;
    }

    /** The cached management URLs, by node name. */
    Map<String, String> managementUrls() {
        return managementUrls;
    }

    boolean isKnown() {
        return known;
    }

    /** Combines changes that arrive together into one refresh. */
    private void queueRefresh() {
        if (known && refreshQueued.compareAndSet(false, true)) {
            listeners.execute(() -> {
                refreshQueued.set(false);
                refresh();
            });
        }
    }

    private void refresh() {
        List<LiveEntry> entries;
        try (var data = cache.stream()) {
            entries = data.filter(child -> child.getPath().startsWith(paths.live + "/"))
                    .flatMap((ChildData child) ->
                            session.trusted(child).flatMap(bytes -> LiveEntry.parse(child.getPath(), bytes)).stream())
                    .toList();
        }
        Map<String, String> urls = new HashMap<>();
        for (LiveEntry entry : entries) {
            String url = entry.managementUrl();
            if (url != null) {
                urls.put(entry.node().name(), url);
            }
        }
        managementUrls = Map.copyOf(urls);
        List<NodeRecord> nodes = entries.stream()
                .map(LiveEntry::node)
                .sorted(Comparator.comparingInt(NodeRecord::id))
                .toList();
        if (!nodes.equals(cached)) {
            cached = nodes;
            onChange.accept(nodes);
        }
    }

    List<NodeRecord> now(Deadline deadline) {
        CompletableFuture<?> synced = session.sync(paths.live);
        CompletableFuture<Answer<List<String>>> listing = session.children(paths.live);
        session.await(synced, deadline, "list the nodes");
        Answer<List<String>> names = session.await(listing, deadline, "list the nodes");
        if (names.is(Code.NONODE)) {
            return List.of();
        }
        List<CompletableFuture<Answer<ZooKeeperSession.Data>>> entries = new ArrayList<>();
        for (String name : names.get()) {
            entries.add(session.getData(paths.live(name)));
        }
        List<NodeRecord> nodes = new ArrayList<>();
        for (CompletableFuture<Answer<ZooKeeperSession.Data>> pending : entries) {
            Answer<ZooKeeperSession.Data> entry = session.await(pending, deadline, "list the nodes");
            if (!entry.is(Code.NONODE)) { // left meanwhile
                LiveEntry.parse(entry).ifPresent(live -> nodes.add(live.node()));
            }
        }
        nodes.sort(Comparator.comparingInt(NodeRecord::id));
        return List.copyOf(nodes);
    }

    @Override
    public void close() {
        cache.close();
    }
}
