package dev.lite.cluster;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;

/** Watches on records. Any thread; the callbacks run on the listener thread. */
final class RecordWatches implements AutoCloseable {
    private final ZooKeeperSession session;
    private final ListenerThread listeners;
    private final List<CuratorCache> caches = new CopyOnWriteArrayList<>();

    RecordWatches(ZooKeeperSession session, ListenerThread listeners) {
        this.session = session;
        this.listeners = listeners;
    }

    void add(String path, Runnable changed) {
        // The cache refreshes itself after a reconnect.
        CuratorCache cache = session.cache(
                path,
                CuratorCacheListener.builder()
                        .forAll((type, before, after) -> listeners.execute(changed))
                        .forInitialized(() -> listeners.execute(changed))
                        .build(),
                CuratorCache.Options.SINGLE_NODE_CACHE,
                CuratorCache.Options.DO_NOT_CLEAR_ON_CLOSE);
        caches.add(cache);
        cache.start();
    }

    @Override
    public void close() {
        caches.forEach(CuratorCache::close);
    }
}
