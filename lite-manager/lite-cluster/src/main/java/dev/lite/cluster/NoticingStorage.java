package dev.lite.cluster;

import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCacheStorage;

/**
 * Notices a znode that was deleted and created again while ZooKeeper could not be reached. A Curator cache stores its new content. But it
 * tells its listeners only of another version, and the versions of a new znode begin at 0 again. Any thread.
 */
final class NoticingStorage implements CuratorCacheStorage {
    private final CuratorCacheStorage storage = CuratorCacheStorage.standard();
    private final BiConsumer<ChildData, ChildData> missed;

    /** @param missed takes the former znode and the new one with the same version, after it was stored; must not block */
    NoticingStorage(BiConsumer<ChildData, ChildData> missed) {
        this.missed = missed;
    }

    @Override
    public Optional<ChildData> put(ChildData after) {
        Optional<ChildData> stored = storage.put(after);
        if (stored.isPresent()) {
            ChildData before = stored.get();
            if (before.getStat().getCzxid() != after.getStat().getCzxid()
                    && before.getStat().getVersion() == after.getStat().getVersion()) {
                missed.accept(before, after);
            }
        }
        return stored;
    }

    @Override
    public Optional<ChildData> remove(String path) {
        return storage.remove(path);
    }

    @Override
    public void clear() {
        storage.clear();
    }

    @Override
    public Optional<ChildData> get(String path) {
        return storage.get(path);
    }

    @Override
    public int size() {
        return storage.size();
    }

    @Override
    public Stream<ChildData> stream() {
        return storage.stream();
    }
}
