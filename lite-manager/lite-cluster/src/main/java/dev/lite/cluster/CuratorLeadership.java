package dev.lite.cluster;

import dev.lite.os.waiting.Deadline;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.zookeeper.data.Stat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Leader election with Curator's {@code LeaderLatch}. */
final class CuratorLeadership implements Leadership {
    private static final Logger log = LoggerFactory.getLogger(CuratorLeadership.class);

    /** A latch's znode name ends with a ten-digit number; the lowest one leads. */
    private static final int SEQUENCE_DIGITS = 10;

    private final ZooKeeperSession session;
    private final LeaderLatch latch;
    private final CuratorCache candidates;
    private final String root;
    private final List<Consumer<List<String>>> participantsListeners = new CopyOnWriteArrayList<>();
    private volatile List<String> participants = List.of();
    private final AtomicBoolean closed = new AtomicBoolean();

    CuratorLeadership(ZooKeeperSession session, ZooKeeperPaths paths, String participant) {
        this.session = session;
        root = paths.leader;
        latch = new LeaderLatch(session.client(), root, participant);
        candidates = session.cache(
                root,
                CuratorCacheListener.builder()
                        .forAll((type, before, after) -> refresh())
                        .forInitialized(this::refresh)
                        .build());
        try {
            latch.start();
        } catch (Exception e) { // declared by Curator, but it only submits a task
            throw new IllegalStateException("cannot join the election at %s".formatted(root), e);
        }
        candidates.start();
    }

    /** Runs on Curator's threads. */
    private synchronized void refresh() {
        List<String> now;
        try (Stream<ChildData> data = candidates.stream()) {
            now = data.filter(child -> child.getPath().length() > root.length() + SEQUENCE_DIGITS)
                    .sorted(Comparator.comparing(CuratorLeadership::sequence))
                    .map(child -> new String(ZooKeeperSession.content(child), StandardCharsets.UTF_8))
                    .toList();
        }
        if (!now.equals(participants)) {
            participants = now;
            participantsListeners.forEach(listener -> listener.accept(now));
        }
    }

    private static String sequence(ChildData candidate) {
        String name = candidate.getPath();
        return name.substring(name.length() - SEQUENCE_DIGITS);
    }

    @Override
    public boolean isLeader() {
        return latch.hasLeadership();
    }

    /**
     * Checks that the latch claims leadership and that its znode exists and belongs to this session: a latch notices a lost
     * session late.
     */
    @Override
    public boolean isLeaderNow(Duration deadline) {
        Deadline until = Deadline.in(deadline);
        session.requireUp(until);
        String path = latch.getOurPath();
        if (path == null || !latch.hasLeadership()) {
            return false;
        }
        CompletableFuture<?> synced = session.sync(path);
        CompletableFuture<Answer<Stat>> existing = session.exists(path, null);
        session.await(synced, until, "verify the leadership");
        Answer<Stat> mine = session.await(existing, until, "verify the leadership");
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
    public List<String> participants() {
        return participants;
    }

    @Override
    public void addParticipantsListener(Consumer<List<String>> listener) {
        participantsListeners.add(listener);
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            candidates.close();
            try {
                latch.close();
            } catch (IOException e) {
                log.warn("Leaving the election failed; it ends with the session: {}", e.getMessage());
            }
        }
    }
}
