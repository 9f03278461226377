package dev.lite.cluster;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.zookeeper.data.Stat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The election by Curator's latch. */
final class CuratorLeadership implements Leadership {
    private static final Logger log = LoggerFactory.getLogger(CuratorLeadership.class);

    private final ZooKeeperSession session;
    private final LeaderLatch latch;
    private final AtomicBoolean closed = new AtomicBoolean();

    CuratorLeadership(ZooKeeperSession session, ZooKeeperPaths paths, String participant) {
        this.session = session;
        latch = new LeaderLatch(session.client(), paths.leader, participant);
        try {
            latch.start();
        } catch (Exception e) { // declared by Curator; it only hands a task to the client
            throw new IllegalStateException("the election at %s cannot be joined".formatted(paths.leader), e);
        }
    }

    @Override
    public boolean isLeader() {
        return latch.hasLeadership();
    }

    /** The latch's own word, and its znode still there and of this session: a latch hears of a lost session late. */
    @Override
    public boolean isLeaderNow(Duration deadline) {
        Deadline until = Deadline.after(deadline);
        session.requireUp(until);
        String path = latch.getOurPath();
        if (path == null || !latch.hasLeadership()) {
            return false;
        }
        CompletableFuture<?> synced = session.sync(path);
        CompletableFuture<Answer<Stat>> looking = session.exists(path, null);
        session.await(synced, until, "verify the leadership");
        Answer<Stat> mine = session.await(looking, until, "verify the leadership");
        return mine.isOk() && mine.get().getEphemeralOwner() == session.sessionId() && latch.hasLeadership();
    }

    @Override
    public void addListener(Consumer<Boolean> listener) {
        latch.addListener(new LeaderLatchListener() {
            @Override
            public void isLeader() {
                listener.accept(true);
            }

            @Override
            public void notLeader() {
                listener.accept(false);
            }
        });
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            try {
                latch.close();
            } catch (IOException e) {
                log.warn("The election was left uncleanly; the session's end does the rest: {}", e.getMessage());
            }
        }
    }
}
