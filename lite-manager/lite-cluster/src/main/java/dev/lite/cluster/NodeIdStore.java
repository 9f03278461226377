package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.os.waiting.Deadline;
import java.nio.charset.StandardCharsets;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.OpResult;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The ids of the nodes. Name → id and id → name are written in one transaction, so that both always exist together. */
final class NodeIdStore {
    private static final Logger log = LoggerFactory.getLogger(NodeIdStore.class);

    private final ZooKeeperSession session;
    private final ZooKeeperPaths paths;

    NodeIdStore(ZooKeeperSession session, ZooKeeperPaths paths) {
        this.session = session;
        this.paths = paths;
    }

    /** Returns the node's id: the one already given, else the id held by its arena, else the lowest free one. */
    int claim(String name, int heldId, Deadline deadline) {
        String what = "claim an id for the node " + name;
        while (true) {
            CompletableFuture<?> synced = session.sync(paths.ids);
            CompletableFuture<Answer<ZooKeeperSession.Data>> reading = session.getData(paths.id(name));
            session.await(synced, deadline, what);
            Answer<ZooKeeperSession.Data> known = session.await(reading, deadline, what);
            if (!known.is(Code.NONODE)) {
                int id = parse(known.path(), text(known.get().bytes()));
                if (heldId != NodeAdvert.NO_ID && heldId != id) {
                    throw NodeIds.heldIdDiffers(name, heldId, id);
                }
                return id;
            }
            int id = heldId == NodeAdvert.NO_ID ? lowestFree(name, deadline, what) : heldId;
            Answer<List<OpResult>> claimed = session.await(
                    session.multi(
                            paths.byId(id),
                            List.of(
                                    session.createOp(paths.byId(id), bytes(name), CreateMode.PERSISTENT),
                                    session.createOp(
                                            paths.id(name), bytes(Integer.toString(id)), CreateMode.PERSISTENT))),
                    deadline,
                    what);
            if (claimed.isOk()) {
                return id;
            }
            if (!claimed.is(Code.NODEEXISTS)) {
                throw claimed.unexpected();
            }
            refuseIfHeldByAnother(name, heldId, deadline, what);
            // Another process was faster: read again.
        }
    }

    private int lowestFree(String name, Deadline deadline, String what) {
        BitSet taken = new BitSet(ClusterDirectory.NODE_ID_MAX + 1);
        for (String id :
                session.await(session.children(paths.byId), deadline, what).get()) {
            try {
                taken.set(parse(paths.byId, id));
            } catch (ClusterUnavailableException e) { // it must not keep new nodes away
                log.warn("ignored: {}", e.getMessage());
            }
        }
        int free = taken.nextClearBit(0);
        if (free > ClusterDirectory.NODE_ID_MAX) {
            throw NodeIds.exhausted(name);
        }
        return free;
    }

    private void refuseIfHeldByAnother(String name, int heldId, Deadline deadline, String what) {
        if (heldId == NodeAdvert.NO_ID) {
            return;
        }
        Answer<ZooKeeperSession.Data> owner = session.await(session.getData(paths.byId(heldId)), deadline, what);
        if (owner.isOk() && !text(owner.get().bytes()).equals(name)) {
            throw NodeIds.heldIdTaken(name, heldId, text(owner.get().bytes()));
        }
    }

    static int parse(String path, String id) {
        try {
            int parsed = Integer.parseInt(id);
            if (parsed >= 0 && parsed <= ClusterDirectory.NODE_ID_MAX) {
                return parsed;
            }
        } catch (NumberFormatException e) {
            throw new ClusterUnavailableException("\"%s\" at %s is not a node id".formatted(id, path), e);
        }
        throw new ClusterUnavailableException(
                "\"%s\" at %s is not a node id of 0 to %d".formatted(id, path, ClusterDirectory.NODE_ID_MAX));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
