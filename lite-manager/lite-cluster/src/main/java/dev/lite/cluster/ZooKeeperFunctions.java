package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.os.waiting.Deadline;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;

/**
 * The functions of the nodes: one ephemeral znode for each node, so that a node with many functions needs one request. Cached
 * and watched from the first search on; a process that never searches has no watch. Any thread.
 */
final class ZooKeeperFunctions implements AutoCloseable {
    private final ZooKeeperSession session;
    private final ZooKeeperPaths paths;
    private final CuratorCache cache;
    private final AtomicBoolean started = new AtomicBoolean();
    private final CompletableFuture<Boolean> filled = new CompletableFuture<>();
    /** By node. */
    private final Map<String, Set<String>> functions = new ConcurrentSkipListMap<>();

    ZooKeeperFunctions(ZooKeeperSession session, ZooKeeperPaths paths) {
        this.session = session;
        this.paths = paths;
        cache = session.cache(
                paths.functions,
                CuratorCacheListener.builder()
                        .forCreates(this::changed)
                        .forChanges((before, after) -> changed(after))
                        .forDeletes(before -> {
                            if (isNode(before)) {
                                functions.remove(nodeOf(before));
                            }
                        })
                        .forInitialized(() -> filled.complete(true))
                        .build());
    }

    private boolean isNode(ChildData child) {
        return child.getPath().startsWith(paths.functions + "/");
    }

    private String nodeOf(ChildData child) {
        return child.getPath().substring(paths.functions.length() + 1);
    }

    private void changed(ChildData child) {
        if (isNode(child)) {
            session.trusted(child)
                    .flatMap(bytes -> FunctionNames.parse(child.getPath(), bytes))
                    .ifPresentOrElse(
                            names -> functions.put(nodeOf(child), names.functions()),
                            () -> functions.remove(nodeOf(child)));
        }
    }

    /** Whether {@link #serving} does not block. */
    boolean isFilled() {
        return filled.isDone();
    }

    List<String> serving(String function, Deadline deadline) {
        if (!filled.isDone()) {
            if (started.compareAndSet(false, true)) {
                cache.start();
            }
            boolean unused = session.await(filled, deadline, "list the functions");
        }
        List<String> nodes = new ArrayList<>();
        functions.forEach((node, its) -> {
            if (its.contains(function)) {
                nodes.add(node);
            }
        });
        return nodes;
    }

    /**
     * Writes the functions of a node; they live as long as this session.
     *
     * @return false when a later incarnation of the node has written its own
     */
    boolean publish(NodeRecord as, Collection<String> served, Deadline deadline) {
        String path = paths.functions(as.name());
        String what = "publish the functions of the node " + as.name();
        byte[] bytes = new FunctionNames(as.incarnation(), Set.copyOf(served)).toBytes();
        while (true) {
            Answer<ZooKeeperSession.Data> there = session.await(session.getData(path), deadline, what);
            List<Op> operations = new ArrayList<>();
            if (there.is(Code.NONODE)) {
                if (served.isEmpty()) {
                    return true;
                }
                operations.add(session.createOp(path, bytes, CreateMode.EPHEMERAL));
            } else {
                ZooKeeperSession.Data data = there.get();
                if (data.trusted()
                        .flatMap(before -> FunctionNames.parse(path, before))
                        .filter(names -> names.incarnation() > as.incarnation())
                        .isPresent()) {
                    return false;
                }
                if (data.stat().getEphemeralOwner() == session.sessionId()) {
                    operations.add(session.setDataOp(path, bytes, data.stat()));
                } else { // it would disappear with its own session
                    operations.add(Op.delete(path, data.stat().getVersion()));
                    operations.add(session.createOp(path, bytes, CreateMode.EPHEMERAL));
                }
            }
            Answer<List<OpResult>> written = session.await(session.multi(path, operations), deadline, what);
            if (written.isOk()) {
                return true;
            }
            if (!written.is(Code.BADVERSION) && !written.is(Code.NODEEXISTS) && !written.is(Code.NONODE)) {
                throw written.unexpected();
            }
        }
    }

    /** Ends the watch, and the waits for its first answer. */
    @Override
    public void close() {
        cache.close();
        filled.completeExceptionally(new ClusterUnavailableException("the directory is closed"));
    }
}
