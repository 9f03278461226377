package dev.lite.cluster;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.os.waiting.Deadline;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
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
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ConnectStringParser;
import org.apache.zookeeper.client.StaticHostProvider;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.ZKConfig;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connection to ZooKeeper, and its requests as futures.
 *
 * <p>Curator maintains the connection and replaces expired sessions. Requests go directly to Curator's ZooKeeper client:
 * Curator retries its own requests by a retry policy, while these end with the caller's deadline. Each request is sent
 * once, and a lost connection fails it immediately. Requests of one thread are executed and answered in order.
 *
 * <p>Any thread.
 */
final class ZooKeeperSession implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(ZooKeeperSession.class);
    private static final int CLOSE_WAIT_MS = 2000;

    /**
     * The maximum size of an answer; a larger one ends the connection. ZooKeeper's client reads 1 MiB by default, which 175,000
     * names of the maximum length exceed: they are listed in {@value RecordName#BUCKETS} answers. With this limit 11 million such
     * names can be listed, and more names than a heap has room for if they are short.
     */
    static final int ANSWER_BYTES_MAX = 64 << 20;

    private static final int RETRY_MS = 500;
    private static final byte[] EMPTY = {};

    /**
     * A znode's content and its metadata.
     *
     * @param trusted the content; empty if somebody without the cluster's secret wrote it
     * @param current whether it is signed with the secret for signing
     */
    record Data(String path, Optional<byte[]> trusted, Stat stat, boolean current) {
        /**
         * The content.
         *
         * @throws ClusterUnavailableException if somebody without the cluster's secret wrote it
         */
        byte[] bytes() {
            return trusted.orElseThrow(() -> new ClusterUnavailableException(
                    "%s in ZooKeeper is refused: it is not signed with the cluster's secret".formatted(path),
                    new UnreadableRecordException(path)));
        }
    }

    private enum State {
        /** Not connected yet: callers wait up to their deadline. */
        CONNECTING,
        UP,
        /** Was connected, but is not now: calls fail immediately. */
        DISCONNECTED,
        CLOSED
    }

    private final String connectString;
    private final @Nullable String user;
    private final RecordSeal seal;
    private final @Nullable ZooKeeperTls tls;
    private final List<ACL> acl;
    private final CuratorFramework client;
    private @Nullable ResumingZooKeeper handle; // guarded by this
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private volatile State state = State.CONNECTING;

    ZooKeeperSession(CuratorConfig config, ZooKeeperPaths paths) {
        connectString = config.connectString();
        seal = new RecordSeal(paths, config.signing());
        CuratorConfig.Tls certificates = config.tls();
        tls = certificates == null ? null : ZooKeeperTls.of(certificates);
        CuratorConfig.Credentials credentials = config.credentials();
        user = credentials == null ? null : credentials.user();
        acl = credentials == null ? ZooDefs.Ids.OPEN_ACL_UNSAFE : ZooDefs.Ids.CREATOR_ALL_ACL;
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder()
                .connectString(connectString)
                .sessionTimeoutMs(Integer.MAX_VALUE) // see ResumingZooKeeper
                .connectionTimeoutMs((int) config.connectionTimeout().toMillis())
                // Only for the caches and the latch. After a reconnect, a cache reads a znode's children only if their
                // version has changed. So a read that it gave up would be missing for ever.
                .retryPolicy(new RetryForever(RETRY_MS))
                // Use the configured servers, not the addresses that the servers publish.
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
     * Resumes the previous session until ZooKeeper rejects it. ZooKeeper's client and Curator only guess that a session has
     * expired: after a silence somewhat longer than the timeout they start a new one. After a restart of ZooKeeper every
     * process would then register again for no reason, because ZooKeeper keeps sessions across restarts and grants them a
     * full timeout. So Curator is configured without a session timeout, and each new handle requests the session of the
     * last one. A handle that ended sooner than the client guesses, without ever connecting, was rejected.
     */
    @SuppressWarnings("try") // it is closed by Curator; its close() is declared to be interrupted
    private static final class ResumingZooKeeper extends ZooKeeper {
        private final Connected connected;
        private final int requestedMs;
        private final long madeNs = System.nanoTime();

        /** Records whether the session was ever connected. */
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

        private ResumingZooKeeper(String servers, int timeoutMs, Connected connected, ZKClientConfig config)
                throws IOException {
            super(servers, timeoutMs, connected, config);
            this.requestedMs = timeoutMs;
            this.connected = connected;
        }

        private ResumingZooKeeper(
                String servers, int timeoutMs, Connected connected, ResumingZooKeeper last, ZKClientConfig config)
                throws IOException {
            super(
                    servers,
                    timeoutMs,
                    connected,
                    last.getSessionId(),
                    last.getSessionPasswd(),
                    false,
                    new StaticHostProvider(new ConnectStringParser(servers).getServerAddresses()),
                    config);
            this.requestedMs = timeoutMs;
            this.connected = connected;
        }

        static ResumingZooKeeper after(
                @Nullable ResumingZooKeeper last, String servers, int timeoutMs, Watcher watcher, ZKClientConfig config)
                throws IOException {
            Connected connected = new Connected(watcher);
            return last != null && !last.wasRefused(timeoutMs) && last.getSessionId() != 0
                    ? new ResumingZooKeeper(servers, timeoutMs, connected, last, config)
                    : new ResumingZooKeeper(servers, timeoutMs, connected, config);
        }

        private boolean wasRefused(int timeoutMs) {
            return !connected.once && System.nanoTime() - madeNs < TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        }

        /** Only Curator calls this. */
        @Override
        public int getSessionTimeout() {
            return Integer.MAX_VALUE;
        }

        /** The timeout that the server granted; until it is connected, and after its end, the requested one. */
        int timeoutMs() {
            int grantedMs = super.getSessionTimeout();
            return grantedMs > 0 ? grantedMs : requestedMs;
        }
    }

    private synchronized ZooKeeper nextHandle(String servers, int timeoutMs, Watcher watcher) throws IOException {
        ZKClientConfig config = tls == null ? new ZKClientConfig() : tls.config();
        if (config.getProperty(ZKConfig.JUTE_MAXBUFFER) == null) { // not set for this process
            config.setProperty(ZKConfig.JUTE_MAXBUFFER, Integer.toString(ANSWER_BYTES_MAX));
        }
        ResumingZooKeeper made = ResumingZooKeeper.after(handle, servers, timeoutMs, watcher, config);
        handle = made;
        return made;
    }

    /** The ACL for znodes that Curator's recipes create. */
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
     * Starts to connect and returns immediately. Called once.
     *
     * @param availability receives {@code true} and {@code false} alternately, starting with the first connection, on a
     *     thread of Curator
     */
    void start(Consumer<Boolean> availability) {
        client.getConnectionStateListenable().addListener((source, newState) -> stateChanged(newState, availability));
        client.start();
    }

    private void stateChanged(ConnectionState newState, Consumer<Boolean> availability) {
        // A read-only server could return outdated data after a partition.
        boolean up = newState == ConnectionState.CONNECTED || newState == ConnectionState.RECONNECTED;
        lock.lock();
        try {
            State next = up ? State.UP : State.DISCONNECTED;
            if (state == State.CLOSED || state == next) {
                return;
            }
            state = next;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        log.info("ZooKeeper at {} is {}", connectString, up ? "connected" : "unreachable (" + newState + ")");
        availability.accept(up);
    }

    boolean isUp() {
        return state == State.UP;
    }

    CuratorFramework client() {
        return client;
    }

    /**
     * A cache of a path and its subtree, updated while connected. The caller starts and closes it.
     *
     * @param listener also learns of a znode that was deleted and created again while ZooKeeper could not be reached
     */
    CuratorCache cache(String path, CuratorCacheListener listener, CuratorCache.Options... options) {
        CuratorCache cache = CuratorCache.builder(client, path)
                .withOptions(options)
                .withStorage(new NoticingStorage(
                        (before, after) -> listener.event(CuratorCacheListener.Type.NODE_CHANGED, before, after)))
                // One line is enough: a lost connection was logged already, and the next request reports a rejection.
                .withExceptionHandler(e ->
                        log.warn("ZooKeeper at {}: {} cannot be watched now: {}", connectString, path, e.getMessage()))
                .build();
        cache.listenable().addListener(listener);
        return cache;
    }

    /** The id of the current session. */
    long sessionId() {
        return zooKeeper().getSessionId();
    }

    /** The session timeout in milliseconds: as the server granted it, or as requested while there is no connection. */
    long sessionTimeoutMs() {
        return zooKeeper() instanceof ResumingZooKeeper granted
                ? granted.timeoutMs()
                : zooKeeper().getSessionTimeout();
    }

    /** Whether a request failed because the connection or the session was lost, so that the next one may succeed. */
    boolean isLoss(ClusterUnavailableException failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof KeeperException) {
                return true;
            }
        }
        return state == State.DISCONNECTED;
    }

    /** Waits until connected; {@link State} says when it waits and when it throws. */
    void requireUp(Deadline deadline) {
        if (state == State.UP) {
            return;
        }
        lock.lock();
        try {
            while (state == State.CONNECTING) {
                long remainingNs = deadline.remainingNs();
                if (remainingNs == 0) {
                    throw new ClusterUnavailableException(
                            "ZooKeeper at %s cannot be reached; waited %s".formatted(connectString, deadline));
                }
                long leftNs = changed.awaitNanos(remainingNs);
                log.trace("woken with {} ns left", leftNs);
            }
            switch (state) {
                case DISCONNECTED ->
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
     * @param what a description of the request, for messages
     * @throws ClusterUnavailableException when the connection was lost, or the deadline passed
     */
    <T> T await(CompletableFuture<T> answer, Deadline deadline, String what) {
        try {
            return answer.get(deadline.remainingNs(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new ClusterUnavailableException(
                    "ZooKeeper at %s did not answer within %s (%s)".formatted(connectString, deadline, what), e);
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

    /** Requests sent after this call see every change that was completed in the cluster before it. */
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
                                answer, rc, path, rc == 0 ? data(path, bytes == null ? EMPTY : bytes, stat) : null),
                        null);
        return answer;
    }

    private Data data(String path, byte[] stored, Stat stat) {
        Optional<byte[]> content = seal.open(path, stored, stat);
        return new Data(path, content, stat, content.isPresent() && seal.isCurrent(path, stored, stat));
    }

    /** The content of a cached znode; empty if somebody without the cluster's secret wrote it. */
    Optional<byte[]> trusted(ChildData cached) {
        return seal.open(cached.getPath(), content(cached), cached.getStat());
    }

    /** The content of a cached znode, without a check of who wrote it. */
    static byte[] content(ChildData cached) {
        return Objects.requireNonNullElse(cached.getData(), EMPTY); // null: it was created without data
    }

    /** Whether this process has a secret. */
    boolean signs() {
        return seal.signs();
    }

    /** Whether this process has a secret and refuses what is not signed with it. */
    boolean refusesUnsigned() {
        return seal.refusesUnsigned();
    }

    /** How often content was refused because somebody without the cluster's secret wrote it. */
    long refusedRecords() {
        return seal.refused();
    }

    /** @param watcher notified once, of the next change or of a lost connection */
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

    /** A znode's children and its metadata, read at the same moment. */
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

    /** Creates a znode without content, which is not signed. */
    CompletableFuture<Answer<Stat>> createParent(String path) {
        return create(path, EMPTY, acl);
    }

    CompletableFuture<Answer<Stat>> create(String path, byte[] bytes) {
        return create(path, seal.seal(path, 0, 0, bytes), acl);
    }

    /**
     * Creates a znode that clusters of different users share: it belongs to its creator, and everyone may read it and
     * create children.
     */
    CompletableFuture<Answer<Stat>> createShared(String path) {
        List<ACL> shared = new ArrayList<>(acl);
        shared.add(new ACL(ZooDefs.Perms.READ | ZooDefs.Perms.CREATE, ZooDefs.Ids.ANYONE_ID_UNSAFE));
        return create(path, EMPTY, shared);
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
     * Executes all operations or none. The answer has a value also on failure: one result for each operation.
     *
     * @param path for messages
     */
    CompletableFuture<Answer<List<OpResult>>> multi(String path, List<Op> operations) {
        CompletableFuture<Answer<List<OpResult>>> answer = new CompletableFuture<>();
        zooKeeper().multi(operations, (rc, p, ctx, results) -> complete(answer, rc, path, results), null);
        return answer;
    }

    Op createOp(String path, byte[] bytes, CreateMode mode) {
        return Op.create(path, seal.seal(path, 0, mode.isEphemeral() ? sessionId() : 0, bytes), acl, mode);
    }

    /** Replaces the content of a znode that still has this version. */
    Op setDataOp(String path, byte[] bytes, Stat seen) {
        return setDataOp(path, bytes, seen.getVersion(), seen.getEphemeralOwner());
    }

    /** @param owner the session that owns the znode; 0 if none does */
    Op setDataOp(String path, byte[] bytes, int version, long owner) {
        return Op.setData(path, seal.seal(path, version + 1, owner, bytes), version);
    }

    CompletableFuture<Answer<List<ACL>>> getAcl(String path) {
        CompletableFuture<Answer<List<ACL>>> answer = new CompletableFuture<>();
        zooKeeper().getACL(path, new Stat(), (rc, p, ctx, found, stat) -> complete(answer, rc, path, found), null);
        return answer;
    }

    /** The ZooKeeper user; null without credentials. */
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
                        "the connection to ZooKeeper at %s is lost: %s".formatted(connectString, code),
                        KeeperException.create(code, path)));
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
        } catch (Exception e) { // declared by Curator; in fact only lost connections
            throw new ClusterUnavailableException(
                    "the connection to ZooKeeper at %s is lost".formatted(connectString), e);
        }
    }

    /**
     * Ends the session. Its registration disappears immediately if ZooKeeper is reachable, else after the session timeout.
     * Waits at most {@value #CLOSE_WAIT_MS} ms: for a server that does not answer, ZooKeeper's client would wait a whole
     * session timeout.
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
                log.info("ZooKeeper at {} did not confirm the end of the session", connectString);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (tls != null) {
            tls.close();
        }
    }
}
