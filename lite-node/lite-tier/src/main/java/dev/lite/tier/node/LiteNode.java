package dev.lite.tier.node;

import dev.lite.api.LimitExceededException;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.NodeInfo;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Priority;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.NodeAdvert;
import dev.lite.cluster.NodeRecord;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import dev.lite.os.ThreadPriority;
import dev.lite.os.waiting.Deadline;
import dev.lite.os.waiting.Durations;
import dev.lite.os.waiting.Polling;
import dev.lite.os.waiting.RepeatingThread;
import dev.lite.tier.FairShares;
import dev.lite.tier.NameRules;
import dev.lite.tier.TierSession;
import dev.lite.tier.channel.NodeChannels;
import dev.lite.tier.control.ControlChannel;
import dev.lite.tier.lmr.LmrServices;
import dev.lite.tier.lmr.SyncWords;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.ArenaConfig;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.onesided.PostedMemory;
import dev.lite.tier.operator.CreatorQueries;
import dev.lite.tier.operator.OperatorActions;
import dev.lite.tier.operator.OrderExecutor;
import dev.lite.tier.operator.Orphans;
import dev.lite.tier.operator.Relocation;
import dev.lite.tier.peer.Fencing;
import dev.lite.tier.peer.Hello;
import dev.lite.tier.peer.NodeKey;
import dev.lite.tier.peer.Peer;
import dev.lite.tier.peer.PeerIdentity;
import dev.lite.tier.peer.PeerLinks;
import dev.lite.tier.qos.QosService;
import dev.lite.tier.qos.SessionQos;
import dev.lite.tier.rpc.RpcEngine;
import dev.lite.tier.session.SessionBackend;
import dev.lite.tier.sync.SyncService;
import dev.lite.tier.sync.WordMoves;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A node: the tier of one host, in this process. It owns the arena, the connections to the other nodes and the sessions
 * of the applications. The directory and the fabrics' memory must stay open as long as the node.
 *
 * <p>Any thread. {@link #close} ends sessions first, then connections, and last unmaps the arena.
 */
public final class LiteNode implements SessionBackend, AutoCloseable {
    /** The default time after which memory that belongs to no LMR is freed. */
    public static final Duration ORPHAN_GRACE_DEFAULT = Duration.ofMinutes(10);

    private static final long CUT_PAUSE_NS = 1_000_000;

    /** What applications wait for comes first. A malloc that finds no clean memory cleans itself. */
    private static final int CLEANER_NICE = 10;

    private static final Logger log = LoggerFactory.getLogger(LiteNode.class);

    private final LiteNodeConfig config;
    private final ClusterDirectory directory;
    private final NodeArena arena;
    private final ArenaAllocator allocator;
    private final NodeRecord self;
    private final Fencing fencing;
    private final PeerLinks links;
    private final PostedMemory posted;
    private final QosService qos;
    private final QosFollower qosFollower;
    private final ControlChannel channel;
    private final LmrServices lmrs;
    private final PublishedFunctions functions;
    private final RpcEngine rpc;
    private final NodeChannels channels;
    private final Orphans orphans;
    private final OrderExecutor orders;
    private final SyncWords words;
    private final SyncService sync;
    private final NodeFigures figures;
    private final ExecutorService executor;
    private final Thread cleaner;
    private boolean cleanerIsLowered; // confined to the cleaner
    /** The handles of attached applications, by principal. */
    private final FairShares handles;

    private final Set<PrincipalSession> sessions = ConcurrentHashMap.newKeySet();

    /** A stop waits so long for tasks that have been interrupted, and for other threads that use the arena. */
    private volatile Duration endMax = Duration.ofSeconds(10);

    private volatile boolean closed;

    private LiteNode(
            LiteNodeConfig config, ClusterDirectory directory, NodeArena arena, List<FabricProvider> providers) {
        this.config = config;
        this.handles = new FairShares(config.limits().handlesOfAll());
        this.directory = directory;
        this.arena = arena;
        this.allocator = new ArenaAllocator(arena, config.name());
        int id = claimId(Deadline.in(config.deadline()));
        String host = HostName.read();
        Hello hello = new Hello(
                config.cluster(),
                id,
                config.name(),
                new SecureRandom().nextLong(),
                arena.id(),
                arena.controlOffset(),
                arena.peersMax());
        Path keyFile = arena.keyFile();
        NodeKey key = keyFile == null ? NodeKey.generate() : NodeKey.open(keyFile);
        this.links = new PeerLinks(
                hello,
                host,
                new PeerIdentity(key),
                providers,
                new FabricConfig(config.name(), hello.encode(), config.runDirectory(), Map.of()),
                config.fabricOptions(),
                new FabricMemory(arena.segment(), arena.descriptor()),
                config.pollSpins());
        this.executor = Executors.newVirtualThreadPerTaskExecutor();
        try {
            NodeAdvert advert = new NodeAdvert(
                    config.name(),
                    id,
                    host,
                    arena.size(),
                    links.addresses(),
                    hello.instance(),
                    key.text(),
                    config.arenaKept() == ArenaConfig.Kept.NEVER);
            // After the fabrics are open: they may take long to pin a large arena.
            Deadline deadline = Deadline.in(config.deadline());
            this.self = directory.register(advert, deadline.remaining());
            this.fencing = new Fencing(self, directory, links);
            fencing.read(deadline);
            this.posted = new PostedMemory(links, arena, allocator);
            this.qos = new QosService(new LaneTransfers(posted, links), this::gateHandles);
            this.qosFollower = new QosFollower(directory, qos, config.deadline());
            this.channel = new ControlChannel(id, arena, links, executor);
            WordMoves wordMoves = new WordMoves();
            this.lmrs = new LmrServices(
                    self,
                    config.cluster(),
                    config.limits().lmrBytesMax(),
                    config.limits().bytesPerPrincipal(),
                    config.deadline(),
                    arena,
                    allocator,
                    directory,
                    links,
                    fencing,
                    posted,
                    channel,
                    wordMoves::memoryGiven,
                    executor);
            this.functions = new PublishedFunctions(directory, fencing::registration, executor);
            this.rpc = new RpcEngine(
                    id,
                    config.name(),
                    links,
                    arena,
                    allocator,
                    posted::read,
                    this::nodeId,
                    executor,
                    config.pollSpins(),
                    channel,
                    functions);
            this.channels = new NodeChannels(
                    id, config.name(), config.channelsMax(), links, channel, this::nodeId, rpc::channelHost, executor);
            this.words = new SyncWords(id, arena, allocator, lmrs, directory, wordMoves, config.deadline());
            this.sync = new SyncService(
                    id,
                    arena.id(),
                    words,
                    wordMoves,
                    channel,
                    new NodeClusterView(id, links, fencing),
                    executor,
                    config.pollSpins());
            this.figures = new NodeFigures(arena, allocator, lmrs, sessions::size, rpc, posted, links, sync);
            CreatorQueries creatorQueries =
                    new CreatorQueries(id, links, lmrs.mappers(), lmrs.records(), lmrs.unfinishedMoves(), channel);
            this.orphans = new Orphans(
                    id,
                    allocator,
                    lmrs.bytes(),
                    lmrs.named(),
                    lmrs.records(),
                    creatorQueries,
                    lmrs.extents(),
                    lmrs.reclaimer(),
                    found -> SyncWords.named(found.name(), found.lmr()).ifPresent(sync::found),
                    ORPHAN_GRACE_DEFAULT);
            Relocation relocation = new Relocation(
                    self, directory, links, lmrs.extents(), lmrs.allocation(), lmrs.reclaimer(), lmrs.drainMarks());
            OperatorActions acts =
                    new OperatorActions(self, allocator, lmrs, relocation, sync, orphans, executor, config.deadline());
            this.orders = new OrderExecutor(fencing::registration, directory, lmrs.drainMarks(), acts, executor);
        } catch (RuntimeException | Error e) {
            executor.shutdownNow();
            links.start(); // only the polling thread can close a fabric
            links.close();
            throw e;
        }
        this.cleaner = RepeatingThread.unstarted("lite-cleaner", this::clean, log::error);
    }

    /**
     * Starts a node and joins the cluster.
     *
     * @param directory the caller keeps ownership; the node uses it until the node is closed
     * @param providers the fabrics to use, in order of preference
     * @throws dev.lite.tier.memory.ArenaException if the node cannot create or adopt its arena
     * @throws LiteException if the node cannot join the cluster within the configured deadline
     * @throws dev.lite.fabric.FabricException if a fabric cannot be opened
     * @throws IllegalArgumentException if the node cannot follow the configured policy for quality of service
     */
    public static LiteNode start(LiteNodeConfig config, ClusterDirectory directory, List<FabricProvider> providers) {
        for (FabricProvider provider : providers) {
            provider.unavailable().ifPresent(reason -> {
                throw new dev.lite.fabric.FabricException(
                        "the fabric %s is not available here: %s".formatted(provider.name(), reason), null);
            });
        }
        try {
            Files.createDirectories(config.runDirectory());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create the run directory " + config.runDirectory(), e);
        }
        NodeArena arena = NodeArena.open(config.arena());
        LiteNode node;
        try {
            node = new LiteNode(config, directory, arena, providers);
        } catch (RuntimeException | Error e) {
            arena.close();
            throw e;
        }
        boolean runs = false;
        try {
            node.run();
            runs = true;
            return node;
        } finally {
            if (!runs) {
                node.close();
            }
        }
    }

    private void run() {
        links.start();
        lmrs.start();
        sync.start();
        cleaner.start();
        fencing.start(new Rejoining());
        functions.start(rpc::servedFunctions);
        orders.start();
        orphans.start();
        QosPolicy unused = qos.set(config.qos());
        qosFollower.start();
        log.info(
                "node started name={} id={} incarnation={} cluster={} arena={} bytes={} adopted={} lmr-extents={} fabrics={}",
                self.name(),
                self.id(),
                self.incarnation(),
                config.cluster(),
                config.arena().directory(),
                arena.size(),
                arena.isAdopted(),
                allocator.allocatedExtents(),
                links.addresses());
    }

    private int claimId(Deadline deadline) {
        int id = directory.claimId(config.name(), arena.nodeId(), deadline.remaining());
        if (id >= arena.peersMax()) {
            throw new LimitExceededException(
                    "node %s has the id %d in cluster \"%s\"; its arena serves ids below %d (lite.node.limits.nodes). A name keeps its id for ever: give this node the name of one that does not return, or raise the limit at every node"
                            .formatted(config.name(), id, config.cluster(), arena.peersMax()));
        }
        arena.setNodeId(id);
        return id;
    }

    /** Also knows connected nodes: after an outage of ZooKeeper, a node's registration may be missing for a moment. */
    private int nodeId(String name) {
        return directory.nodes().stream()
                .filter(node -> node.name().equals(name))
                .findFirst()
                .map(NodeRecord::id)
                .or(() -> links.peers().stream()
                        .filter(peer -> peer.hello().node().equals(name))
                        .findFirst()
                        .map(Peer::id))
                .orElseThrow(() -> new NodeUnreachableException("no node \"%s\" is in the cluster".formatted(name)));
    }

    /** Zeroes freed memory; false if the node is closed, which also interrupts. */
    private boolean clean() throws InterruptedException {
        if (!cleanerIsLowered && !Thread.currentThread().isVirtual()) { // in the simulation it is virtual
            cleanerIsLowered = true;
            ThreadPriority.lower(CLEANER_NICE);
        }
        if (allocator.clean() == 0) {
            allocator.awaitFreed();
        }
        return !closed;
    }

    /** Half of the bounce buffers: the other half is for the other sessions and threads. */
    @Override
    public int transfersMax() {
        return posted.buffers() / 2;
    }

    @Override
    public TierSession open(String principal, String application) {
        return open(principal, application, priority(principal), handles.share(principal));
    }

    /** @param places limits the handles of its principal; null: it is trusted */
    private PrincipalSession open(
            String principal, String application, Priority priority, FairShares.@Nullable Share places) {
        SessionQos its = qos.open(principal, priority);
        NameRules names = config.names().getOrDefault(principal, NameRules.ALL);
        PrincipalSession session = new PrincipalSession(
                this,
                lmrs,
                rpc.session(principal, its, names),
                sync,
                principal,
                its,
                names,
                config.limits().handlesPerSession(),
                places,
                config.deadline());
        sessions.add(session);
        log.debug("session opened principal={} application={} priority={}", principal, application, priority);
        if (closed) {
            session.close();
        }
        return session;
    }

    /**
     * Opens a session for code in this JVM; the node trusts its principal (the paper's kernel-level caller).
     *
     * @throws IllegalArgumentException if the principal's name is not one that {@link LmrHandle#grant} takes
     */
    public Lite attach(String principal) {
        return attach(principal, priority(Objects.requireNonNull(principal, "principal")));
    }

    /** {@link #attach(String)} with another priority than the configuration gives the principal. */
    public Lite attach(String principal, Priority priority) {
        Set<?> unused = LmrHandle.checkGrant(principal, Set.of());
        return new EmbeddedLite(open(principal, "embedded", priority, null), config.deadline(), figures::allTransfers);
    }

    /** The policy for quality of service of this node. */
    public QosService qos() {
        return qos;
    }

    /** The number of the cluster's policy that this node follows; 0: the cluster never had one. */
    public long qosRevision() {
        return qosFollower.revision();
    }

    /** Why this node does not follow the cluster's policy; empty if it does. */
    public String qosTrouble() {
        return qosFollower.trouble();
    }

    /** Why no lanes can be reserved for a priority, with the value and the limit; empty if they can. */
    public String laneTrouble() {
        return links.whyNoLanes().orElse("");
    }

    /** A policy for links must see all that uses them. */
    private boolean passesNodes(String principal, boolean betweenHosts) {
        QosPolicy.Mode mode = qos.policy().mode();
        return qos.hasQuota(principal)
                || (mode == QosPolicy.Mode.SW_PRI && priority(principal) == Priority.LOW)
                || (mode != QosPolicy.Mode.OFF && betweenHosts);
    }

    private Priority priority(String principal) {
        return config.priorities().getOrDefault(principal, Priority.HIGH);
    }

    private void gateHandles() {
        channels.passNodes(this::passesNodes);
        lmrs.mappings()
                .find(mapping -> mapping.owner() instanceof PrincipalSession)
                .forEach(Mapping::gate);
    }

    @Override
    public NodeChannels channels() {
        return channels;
    }

    void sessionClosed(PrincipalSession session) {
        sessions.remove(session);
    }

    @Override
    public String nodeName() {
        return config.name();
    }

    /** The current registration of this node. */
    public NodeRecord self() {
        return fencing.registration();
    }

    /** The live nodes in the order of their ids, each with the fabric that connects it. */
    public List<NodeInfo> nodes() {
        return directory.nodes().stream()
                .sorted(Comparator.comparingInt(NodeRecord::id))
                .map(node -> new NodeInfo(
                        node.name(), node.id(), node.incarnation(), node.arenaBytes(), fabricTo(node.id())))
                .toList();
    }

    private String fabricTo(int node) {
        if (node == self.id()) {
            return "local";
        }
        Peer peer = links.peer(node);
        return peer == null ? "none" : peer.fabric();
    }

    /** The reason for a missing connection to a node, in words; empty if it is connected or the reason is unknown. */
    public String trouble(int node) {
        String trouble = links.trouble(node);
        return trouble == null ? "" : trouble;
    }

    /** The number of connections to a node that share its traffic; 0 if it is not connected. */
    public int lanes(int node) {
        Peer peer = links.peer(node);
        return peer == null ? 0 : peer.endpoint().laneCount();
    }

    /** This node in numbers. */
    public NodeFigures figures() {
        return figures;
    }

    /** The default deadline of an operation. */
    public Duration deadline() {
        return config.deadline();
    }

    /**
     * Moves all movable memory to other nodes and takes no new memory, before this node is closed. The node continues
     * to work until then. Anonymous LMRs that this node created stay: they end with this process. It gives up if all other nodes
     * leave, too.
     *
     * @param timeout the maximum duration
     * @return empty if nothing is left here; otherwise the reason in words. The arena keeps what stays.
     */
    public Optional<String> drain(Duration timeout) {
        return Optional.ofNullable(orders.drainToLeave(timeout));
    }

    /**
     * Sets the time after which memory that belongs to no LMR is freed; the default is {@link #ORPHAN_GRACE_DEFAULT}.
     * It must be longer than any allocation or move may take.
     */
    public void setOrphanGrace(Duration grace) {
        orphans.setGrace(grace);
    }

    /**
     * Sets how long the word of a lock or barrier stays in this node's arena when nobody uses it any more; the default is a
     * minute.
     */
    public void setNameIdle(Duration idle) {
        sync.setIdle(idle);
    }

    /**
     * Sets how long operations wait for the memory of a node that left the cluster, within their deadlines; later they fail at once.
     * The default is 30 s, longer than a restart takes.
     */
    public void setReturnGrace(Duration grace) {
        links.setReturnGrace(grace);
    }

    /** Sets how long a stop waits for what still uses the arena, for tests. */
    void setEndMax(Duration longest) {
        endMax = longest;
    }

    /** Sets an action for when an operator has drained this node and wants it to leave. It runs on its own thread. */
    public void onLeave(Runnable action) {
        orders.onLeave(action);
    }

    /** Whether this node takes no new memory because an operator drains or drained it. */
    public boolean isDraining() {
        return lmrs.drainMarks().isClosed();
    }

    /**
     * Whether the node takes part in the cluster: its registration was not lost, or was made again and the node's links have
     * resumed. Operations on other nodes' memory fail or wait meanwhile.
     */
    public boolean isMember() {
        return !fencing.isLost();
    }

    /** Whether the node stops or has stopped. */
    boolean isClosed() {
        return closed;
    }

    /** Ends the sessions, closes the fabrics, unmaps the arena. A second call does nothing. */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        links.endWaits(); // else each session would wait for its operations that wait for an absent node
        orders.close();
        orphans.close();
        channels.close();
        sessions.forEach(PrincipalSession::close);
        qosFollower.close();
        qos.close();
        fencing.close();
        lmrs.close(Deadline.in(config.deadline()));
        sync.close();
        cleaner.interrupt();
        boolean operationsEnd = operationsEnd();
        if (operationsEnd) {
            links.close();
        } else {
            links.closeButKeepFabrics();
        }
        executor.shutdownNow();
        joinCleaner();
        orphans.awaitEnd();
        words.close();
        // Calls of applications may still be in flight; they end before the arena is unmapped.
        boolean callsEnd = rpc.close(Deadline.in(endMax));
        allocator.close();
        channel.close();
        boolean tasksEnd = tasksEnd();
        boolean transfersEnd = posted.close(Deadline.in(endMax));
        if (operationsEnd && callsEnd && tasksEnd && transfersEnd) {
            arena.close();
        } else { // a thread that reads or writes unmapped memory would end the process
            log.error(
                    "node {} stops, but after {} {} still used its memory; its arena stays mapped until the process ends",
                    self.name(),
                    Durations.text(endMax),
                    !operationsEnd ? "an operation" : !callsEnd ? "a call" : !tasksEnd ? "a task" : "a transfer");
        }
        log.info("node stopped name={} arena-kept={}", self.name(), config.arenaKept());
    }

    /**
     * Waits for the operations for which their ended sessions did not wait any longer, and for copies. They may use mapped memory,
     * also that of peers. Without connections they end soon, and no copy begins.
     */
    private boolean operationsEnd() {
        links.suspend();
        Deadline until = Deadline.in(endMax);
        List<Mapping> used = lmrs.mappings().find(mapping -> mapping.owner() instanceof PrincipalSession);
        boolean end = used.isEmpty() || Mapping.awaitEndHere(used, until);
        Polling.until(links::isSuspended, until, CUT_PAUSE_NS); // then no copy begins
        try {
            lmrs.quiesceAll(until);
            return end;
        } catch (LiteException e) {
            log.debug("a copy is still under way: {}", e.getMessage());
            return false;
        }
    }

    /** Waits for the tasks of the executor, which may use the arena. */
    private boolean tasksEnd() {
        long endNs = System.nanoTime() + endMax.toNanos();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return executor.awaitTermination(endNs - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void joinCleaner() {
        boolean interrupted = false;
        while (cleaner.isAlive()) {
            try {
                cleaner.join(); // it runs at most one more step
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Handles a lost registration: mappings pause; this node keeps its locks unless it was fenced. */
    private final class Rejoining implements Fencing.Rejoin {
        @Override
        public void giveUp(Deadline deadline) {
            lmrs.changes().pauseAll(deadline);
            lmrs.quiesceAll(deadline);
        }

        @Override
        public void wasFenced(long incarnation, Deadline deadline) {
            lmrs.loseGivenUp(incarnation, deadline);
            log.warn("this node was fenced: it lost the locks that it held");
            sync.loseLocks();
        }

        @Override
        public void resume() {
            lmrs.changes().resumeAll(executor);
            // A fence meanwhile found this node unlisted, and so without a duty; perhaps it is the first one again.
            lmrs.takeOver();
        }

        @Override
        public void quiesce(int node, Deadline deadline) {
            lmrs.quiesce(node, deadline);
        }

        @Override
        public void fenced() {
            lmrs.takeOver();
        }
    }
}
