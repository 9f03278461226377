package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.os.waiting.Deadline;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.BoundedExponentialBackoffRetry;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection to ZooKeeper, and its requests as futures.
 *
 * <p>Curator keeps the connection and replaces expired sessions. The requests go to the ZooKeeper client that Curator
 * holds, because Curator's own are repeated for as long as a retry policy says, while ours end with the caller's
 * deadline: each request here is sent once, and a lost connection fails it at once. Requests that are sent one after the
 * other by one thread are carried out and answered in that order.
 *
 * <p>Any thread.
 */
final class ZooKeeperSession implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ZooKeeperSession.class);
    private static final int CLOSE_WAIT_MS = 2000;

    /** A record's bytes or a node's, and what ZooKeeper knows of them. */
    record Data(byte[] bytes, Stat stat) {}

    private enum State {
        /** Not connected yet: callers wait up to their deadline. */
        CONNECTING,
        UP,
        /** Was connected, is not: callers are told at once. */
        AWAY,
        CLOSED
    }

    private final String connectString;
    private final @Nullable String user;
    private final List<ACL> acl;
    private final CuratorFramework client;
    private @Nullable ResumingZooKeeper handle; // guarded by this
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private volatile State state = State.CONNECTING;

    ZooKeeperSession(CuratorConfig config) {
        connectString = config.connectString();
        CuratorConfig.Credentials credentials = config.credentials();
        user = credentials == null ? null : credentials.user();
        acl = credentials == null ? ZooDefs.Ids.OPEN_ACL_UNSAFE : ZooDefs.Ids.CREATOR_ALL_ACL;
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder()
                .connectString(connectString)
                .sessionTimeoutMs(Integer.MAX_VALUE) // see ResumingZooKeeper
                .connectionTimeoutMs((int) config.connectionTimeout().toMillis())
                // For the cache and the latch only: both start over when the connection comes back.
                .retryPolicy(new BoundedExponentialBackoffRetry(50, 1000, 10))
                // The servers that were configured, not the addresses that they have for each other.
                .ensembleTracker(false)
                .zookeeperFactory((servers, timeoutMs, watcher, readOnly) ->
                        nextHandle(servers, (int) config.sessionTimeout().toMillis(), watcher))
                .dontUseContainerParents()
                .aclProvider(new OneAcl(acl));
        if (credentials != null) {
            builder.authorization(
                    "digest",
                    "%s:%s"
                            .formatted(credentials.user(), credentials.password())
                            .getBytes(StandardCharsets.UTF_8));
        }
        client = builder.build();
    }

    /**
     * Only ZooKeeper says that a session is over. Its client and Curator guess: after a silence somewhat longer than the time-out
     * they begin a new session. Then everybody would come back to a ZooKeeper that was away with a new registration, for nothing:
     * ZooKeeper keeps the sessions over its restarts, and grants them their whole time-out again. So Curator is told that there is
     * no such time-out, here and where it is configured, and the next handle asks for the session of the last one, until ZooKeeper
     * refuses it: a handle that ended sooner than the client guesses, and was never connected, was refused.
     */
    @SuppressWarnings("try") // it is closed by Curator; its close() is declared to be interrupted
    private static final class ResumingZooKeeper extends ZooKeeper {
        private final Connected connected;
        private final long madeNs = System.nanoTime();

        /** Whether the session is known to be one. */
        private static final class Connected implements Watcher {
            private final Watcher next;
            private volatile boolean once;

            Connected(Watcher next) {
                this.next = next;
            }

            @Override
            public void process(WatchedEvent event) {
                once |= event.getState() == Event.KeeperState.SyncConnected;
                next.process(event);
            }
        }

        private ResumingZooKeeper(String servers, int timeoutMs, Connected connected) throws IOException {
            super(servers, timeoutMs, connected);
            this.connected = connected;
        }

        private ResumingZooKeeper(String servers, int timeoutMs, Connected connected, ResumingZooKeeper last)
                throws IOException {
            super(servers, timeoutMs, connected, last.getSessionId(), last.getSessionPasswd());
            this.connected = connected;
        }

        static ResumingZooKeeper after(@Nullable ResumingZooKeeper last, String servers, int timeoutMs, Watcher watcher)
                throws IOException {
            Connected connected = new Connected(watcher);
            return last != null && !last.wasRefused(timeoutMs) && last.getSessionId() != 0
                    ? new ResumingZooKeeper(servers, timeoutMs, connected, last)
                    : new ResumingZooKeeper(servers, timeoutMs, connected);
        }

        private boolean wasRefused(int timeoutMs) {
            return !connected.once && System.nanoTime() - madeNs < TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        }

        /** For Curator, which is the only one to ask. */
        @Override
        public int getSessionTimeout() {
            return Integer.MAX_VALUE;
        }

        /** What the server granted. */
        int grantedMs() {
            return super.getSessionTimeout();
        }
    }

    private synchronized ZooKeeper nextHandle(String servers, int timeoutMs, Watcher watcher) throws IOException {
        ResumingZooKeeper made = ResumingZooKeeper.after(handle, servers, timeoutMs, watcher);
        handle = made;
        return made;
    }

    /** For what Curator's own recipes make. */
    private record OneAcl(List<ACL> acl) implements ACLProvider {
        @Override
        public List<ACL> getDefaultAcl() {
            return acl;
        }

        @Override
        public List<ACL> getAclForPath(String path) {
            return acl;
        }
    }

    /**
     * Starts to connect; does not wait for it. Called once.
     *
     * @param availability told {@code true} and {@code false} in turn, beginning with the first connection, on a thread of
     *     Curator
     */
    void start(Consumer<Boolean> availability) {
        client.getConnectionStateListenable().addListener((source, newState) -> stateChanged(newState, availability));
        client.start();
    }

    private void stateChanged(ConnectionState newState, Consumer<Boolean> availability) {
        // A read-only server would answer reads from before a partition.
        boolean up = newState == ConnectionState.CONNECTED || newState == ConnectionState.RECONNECTED;
        lock.lock();
        try {
            State next = up ? State.UP : State.AWAY;
            if (state == State.CLOSED || state == next) {
                return;
            }
            state = next;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        log.info("ZooKeeper at {} is {}", connectString, up ? "connected" : "away (" + newState + ")");
        availability.accept(up);
    }

    boolean isUp() {
        return state == State.UP;
    }

    CuratorFramework client() {
        return client;
    }

    /** What is at or below a path, kept up to date while the connection lasts; not started yet, and the caller's. */
    CuratorCache cache(String path, CuratorCache.Options... options) {
        return CuratorCache.builder(client, path)
                .withOptions(options)
                // One line: a connection that is lost was told already, and a refusal is told by whoever asks next.
                .withExceptionHandler(e ->
                        log.warn("ZooKeeper at {}: {} cannot be watched now: {}", connectString, path, e.getMessage()))
                .build();
    }

    /** The number of the session that requests go to now. */
    long sessionId() {
        return zooKeeper().getSessionId();
    }

    /** What the server granted, in milliseconds. */
    long sessionTimeoutMs() {
        return zooKeeper() instanceof ResumingZooKeeper granted
                ? granted.grantedMs()
                : zooKeeper().getSessionTimeout();
    }

    /** Returns when connected; see {@link State} for when it waits and when it throws. */
    void requireUp(Deadline deadline) {
        if (state == State.UP) {
            return;
        }
        lock.lock();
        try {
            while (state == State.CONNECTING) {
                long remainingNs = deadline.remainingNs();
                if (remainingNs == 0) {
                    throw new ClusterUnavailableException("ZooKeeper at %s cannot be reached; waited %d ms"
                            .formatted(connectString, deadline.duration().toMillis()));
                }
                long leftNs = changed.awaitNanos(remainingNs);
                log.trace("woken with {} ns left", leftNs);
            }
            switch (state) {
                case AWAY ->
                    throw new ClusterUnavailableException(
                            "the connection to ZooKeeper at %s is lost".formatted(connectString));
                case CLOSED -> throw new ClusterUnavailableException("the directory is closed");
                default -> {}
            }
        } catch (InterruptedException e) {
            throw interrupted("connecting", e);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for an answer.
     *
     * @param what in words, for messages
     * @throws ClusterUnavailableException when the connection was lost, or the deadline passed
     */
    <T> T await(CompletableFuture<T> answer, Deadline deadline, String what) {
        try {
            return answer.get(deadline.remainingNs(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new ClusterUnavailableException(
                    "ZooKeeper at %s did not answer within %d ms (%s)"
                            .formatted(connectString, deadline.duration().toMillis(), what),
                    e);
        } catch (InterruptedException e) {
            throw interrupted(what, e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof ClusterUnavailableException unavailable) {
                throw new ClusterUnavailableException("%s (%s)".formatted(unavailable.getMessage(), what), e);
            }
            throw new IllegalStateException("a request to ZooKeeper failed (%s)".formatted(what), e.getCause());
        }
    }

    private ClusterUnavailableException interrupted(String what, InterruptedException e) {
        Thread.currentThread().interrupt();
        return new ClusterUnavailableException(
                "interrupted while waiting for ZooKeeper at %s (%s)".formatted(connectString, what), e);
    }

    /** Everything that was finished in the cluster before this call is seen by the requests that are sent after it. */
    CompletableFuture<Answer<String>> sync(String path) {
        CompletableFuture<Answer<String>> answer = new CompletableFuture<>();
        zooKeeper().sync(path, (rc, p, ctx) -> complete(answer, rc, path, path), null);
        return answer;
    }

    CompletableFuture<Answer<Data>> getData(String path) {
        CompletableFuture<Answer<Data>> answer = new CompletableFuture<>();
        zooKeeper()
                .getData(
                        path,
                        false,
                        (rc, p, ctx, bytes, stat) -> complete(
                                answer, rc, path, rc == 0 ? new Data(bytes == null ? new byte[0] : bytes, stat) : null),
                        null);
        return answer;
    }

    /** @param watcher told once of the next change, or of a lost connection */
    CompletableFuture<Answer<Stat>> exists(String path, @Nullable Watcher watcher) {
        CompletableFuture<Answer<Stat>> answer = new CompletableFuture<>();
        zooKeeper().exists(path, watcher, (rc, p, ctx, stat) -> complete(answer, rc, path, stat), null);
        return answer;
    }

    CompletableFuture<Answer<List<String>>> children(String path) {
        CompletableFuture<Answer<List<String>>> answer = new CompletableFuture<>();
        zooKeeper().getChildren(path, false, (rc, p, ctx, children) -> complete(answer, rc, path, children), null);
        return answer;
    }

    /** A znode's children, and what ZooKeeper knows of the znode at the same moment. */
    record Children(List<String> names, Stat stat) {}

    CompletableFuture<Answer<Children>> childrenAndStat(String path) {
        CompletableFuture<Answer<Children>> answer = new CompletableFuture<>();
        zooKeeper()
                .getChildren(
                        path,
                        false,
                        (rc, p, ctx, names, stat) ->
                                complete(answer, rc, path, rc == 0 ? new Children(names, stat) : null),
                        null);
        return answer;
    }

    CompletableFuture<Answer<Stat>> create(String path, byte[] bytes) {
        return create(path, bytes, acl);
    }

    /**
     * Makes what clusters of different users share: it belongs to the user who made it, and everybody may look at it and make
     * something in it.
     */
    CompletableFuture<Answer<Stat>> createShared(String path) {
        List<ACL> shared = new ArrayList<>(acl);
        shared.add(new ACL(ZooDefs.Perms.READ | ZooDefs.Perms.CREATE, ZooDefs.Ids.ANYONE_ID_UNSAFE));
        return create(path, new byte[0], shared);
    }

    private CompletableFuture<Answer<Stat>> create(String path, byte[] bytes, List<ACL> granted) {
        CompletableFuture<Answer<Stat>> answer = new CompletableFuture<>();
        zooKeeper()
                .create(
                        path,
                        bytes,
                        granted,
                        CreateMode.PERSISTENT,
                        (rc, p, ctx, name, stat) -> complete(answer, rc, path, stat),
                        null);
        return answer;
    }

    /**
     * All or nothing. The answer's value is there also when it was refused: one result for each operation.
     *
     * @param path for messages
     */
    CompletableFuture<Answer<List<OpResult>>> multi(String path, List<Op> operations) {
        CompletableFuture<Answer<List<OpResult>>> answer = new CompletableFuture<>();
        zooKeeper().multi(operations, (rc, p, ctx, results) -> complete(answer, rc, path, results), null);
        return answer;
    }

    Op createOp(String path, byte[] bytes, CreateMode mode) {
        return Op.create(path, bytes, acl, mode);
    }

    CompletableFuture<Answer<List<ACL>>> getAcl(String path) {
        CompletableFuture<Answer<List<ACL>>> answer = new CompletableFuture<>();
        zooKeeper().getACL(path, new Stat(), (rc, p, ctx, found, stat) -> complete(answer, rc, path, found), null);
        return answer;
    }

    /** Who this is for ZooKeeper; null for nobody in particular. */
    @Nullable
    String user() {
        return user;
    }

    /** Runs on the ZooKeeper client's event thread, which nothing may block. */
    private <T> void complete(CompletableFuture<Answer<T>> answer, int rc, String path, @Nullable T value) {
        Code code = Code.get(rc);
        switch (code) {
            case CONNECTIONLOSS, SESSIONEXPIRED, SESSIONMOVED, OPERATIONTIMEOUT, REQUESTTIMEOUT, SYSTEMERROR ->
                answer.completeExceptionally(new ClusterUnavailableException(
                        "the connection to ZooKeeper at %s is lost: %s".formatted(connectString, code)));
            case NOAUTH, AUTHFAILED, INVALIDACL ->
                answer.completeExceptionally(new ClusterUnavailableException(
                        "ZooKeeper at %s refuses %s to %s (%s): it belongs to another user or was made with another password"
                                .formatted(
                                        connectString,
                                        path,
                                        user == null
                                                ? "this process, which has no user and password"
                                                : "the user \"%s\"".formatted(user),
                                        code)));
            default -> answer.complete(new Answer<>(path, code, value));
        }
    }

    private ZooKeeper zooKeeper() {
        try {
            return client.getZookeeperClient().getZooKeeper();
        } catch (Exception e) { // declared by Curator; in truth connection losses that it noticed by itself
            throw new ClusterUnavailableException(
                    "the connection to ZooKeeper at %s is lost".formatted(connectString), e);
        }
    }

    /**
     * Ends the session: its registration goes at once if ZooKeeper can be reached, else with the session time-out. Waits
     * for that at most {@value #CLOSE_WAIT_MS} ms: to a server that does not answer, ZooKeeper's client would say good-bye
     * for a whole session time-out.
     */
    @Override
    public void close() {
        lock.lock();
        try {
            state = State.CLOSED;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        Thread closer =
                Thread.ofPlatform().name("lite-zookeeper-close").daemon().start(client::close);
        try {
            if (!closer.join(Duration.ofMillis(CLOSE_WAIT_MS))) {
                log.info("ZooKeeper at {} did not answer the end of the session", connectString);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
