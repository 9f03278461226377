package dev.lite.cluster;

import java.util.Optional;
import java.util.stream.Stream;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCacheStorage;

/**
 * Notices a znode that was deleted and created again while ZooKeeper could not be reached. A Curator cache compares the versions of its
 * content, which begin at 0 again, and so does not tell its listeners; only its storage has the new content. Any thread.
 */
final class NoticingStorage implements CuratorCacheStorage {
    private final CuratorCacheStorage storage = CuratorCacheStorage.standard();
    private final Runnable created;

    /** @param created runs after the new content is stored; must not block */
    NoticingStorage(Runnable created) {
        this.created = created;
    }

    @Override
    public Optional<ChildData> put(ChildData data) {
        Optional<ChildData> before = storage.put(data);
        if (before.isPresent()
                && before.get().getStat().getCzxid() != data.getStat().getCzxid()) {
            created.run();
        }
        return before;
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
