package dev.lite.cluster;

import dev.lite.os.waiting.Counts;
import dev.lite.os.waiting.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Signs records again that are signed with the former secret of the cluster, or not at all, so that the former one can be
 * given up. Each manager does it once, after its start, when it leads. Registrations and what belongs to them are signed
 * when their nodes restart. The ids of live nodes, too: a change of such a znode would count as a registration.
 *
 * <p>Then it makes the znode {@link ZooKeeperPaths#signed}, which keeps processes without the secret from joining. While unsigned
 * records are accepted, it deletes it.
 *
 * <p>Used by one thread.
 */
final class Resigning {
    private static final Logger log = LoggerFactory.getLogger(Resigning.class);
    /** So that epochs do not have to wait for long. */
    private static final int PAGE = 256;

    private static final String WHAT = "sign the records again";
    private static final byte[] CONTENT = {'1'};
    private static final int ANY_VERSION = -1;

    private final ZooKeeperSession session;
    private final ZooKeeperPaths paths;
    private final RecordStore records;
    private final LiveNodes live;
    private final Function<Duration, Deadline> begin;
    private String after = "";
    private boolean done;
    private int signed;

    /** @param begin starts a request: makes its deadline and waits for the connection */
    Resigning(
            ZooKeeperSession session,
            ZooKeeperPaths paths,
            RecordStore records,
            LiveNodes live,
            Function<Duration, Deadline> begin) {
        this.session = session;
        this.paths = paths;
        this.records = records;
        this.live = live;
        this.begin = begin;
        done = !session.signs();
    }

    /** Checks some records; returns 0 if none are left, else 1. Blocks up to the deadline for each request. */
    int doWork(Duration call) {
        if (done) {
            return 0;
        }
        Deadline deadline = begin.apply(call);
        if (after.isEmpty()) {
            signOthers(deadline);
        }
        List<String> names = records.names("", after, PAGE, deadline);
        signed += records.signAgain(names, deadline);
        if (names.size() < PAGE) {
            demandSecret(deadline);
            done = true;
            if (signed > 0) {
                String records = Counts.text(signed, "record", "records");
                log.info("signed {} again with the first line of the cluster's secret", records);
            }
            return 0;
        }
        after = names.getLast();
        return 1;
    }

    private void signOthers(Deadline deadline) {
        List<String> others = new ArrayList<>();
        others.add(paths.epoch);
        others.add(paths.signed);
        children(paths.ids, deadline).forEach(node -> others.add(paths.id(node)));
        children(paths.byId, deadline).forEach(id -> others.add(paths.byId + "/" + id));
        List<CompletableFuture<Answer<ZooKeeperSession.Data>>> reading =
                others.stream().map(session::getData).toList();
        List<ZooKeeperSession.Data> stale = new ArrayList<>();
        for (CompletableFuture<Answer<ZooKeeperSession.Data>> pending : reading) {
            Answer<ZooKeeperSession.Data> found = session.await(pending, deadline, WHAT);
            if (!found.is(Code.NONODE)
                    && !found.get().current()
                    && found.get().trusted().isPresent()) {
                stale.add(found.get());
            }
        }
        // Read last: who registers later raises the version of its id, which is then not signed.
        Set<String> alive = new HashSet<>();
        live.now(deadline).forEach(node -> alive.add(paths.id(node.name())));
        for (ZooKeeperSession.Data one : stale) {
            if (!alive.contains(one.path())) {
                sign(one, deadline);
            }
        }
    }

    private void sign(ZooKeeperSession.Data stale, Deadline deadline) {
        Op change = session.setDataOp(stale.path(), stale.bytes(), stale.stat());
        Answer<List<OpResult>> changed = session.await(session.multi(stale.path(), List.of(change)), deadline, WHAT);
        if (changed.isOk()) {
            signed++;
        } else if (!changed.is(Code.BADVERSION) && !changed.is(Code.NONODE)) { // else: its writer has signed it
            throw changed.unexpected();
        }
    }

    private void demandSecret(Deadline deadline) {
        Op op = session.refusesUnsigned()
                ? session.createOp(paths.signed, CONTENT, CreateMode.PERSISTENT)
                : Op.delete(paths.signed, ANY_VERSION);
        Answer<List<OpResult>> changed =
                session.await(session.multi(paths.signed, List.of(op)), deadline, "change " + paths.signed);
        if (!changed.isOk() && !changed.is(Code.NODEEXISTS) && !changed.is(Code.NONODE)) {
            throw changed.unexpected();
        }
    }

    private List<String> children(String path, Deadline deadline) {
        return session.await(session.children(path), deadline, WHAT).get();
    }
}
