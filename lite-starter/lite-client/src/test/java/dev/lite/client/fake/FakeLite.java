package dev.lite.client.fake;

import dev.lite.api.Lite;
import dev.lite.api.LiteStatistics;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.SessionLostException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A session without a node. It has only the LMRs that the test adds, and the test can end it. */
public final class FakeLite implements Lite {

    public final AttachOptions options;

    /** How many handles were made with the session's deadline. */
    public final AtomicInteger mappings = new AtomicInteger();

    /** What the next mappings throw, one each. */
    public final Queue<RuntimeException> failures = new ConcurrentLinkedQueue<>();

    /** The deadlines of the mappings; those with the session's are 0. */
    public final Queue<Duration> deadlines = new ConcurrentLinkedQueue<>();

    /** Runs at the beginning of each mapping. */
    public volatile Runnable whenMapping = () -> {};

    /** Runs at the beginning of each question for the nodes. */
    public volatile Runnable whenListing = () -> {};

    /** The copies, as "source to destination". */
    public final Queue<String> copies = new ConcurrentLinkedQueue<>();

    private final CompletableFuture<String> ended = new CompletableFuture<>();
    private final FakeRpc rpc = new FakeRpc();
    private final FakeSync sync = new FakeSync(this::isOpen, this::lose);
    private final Map<String, FakeHandle> known = new ConcurrentHashMap<>();
    private final LtMemory memory = newMemory();
    private volatile boolean open = true;

    public volatile String nodeName = "fake-1";

    /** What {@link #statistics} returns. */
    public volatile LiteStatistics statistics = LiteStatistics.NONE;

    /** The last sampler that was set. */
    public volatile LiteStatistics.@Nullable Sampler sampler;

    public FakeLite(AttachOptions options) {
        this.options = options;
    }

    /** Adds an LMR with this name and id. */
    public FakeLite knowing(String name, long id) {
        known.put(name, new FakeHandle(this, name, id));
        return this;
    }

    public FakeHandle known(String name) {
        return Objects.requireNonNull(known.get(name));
    }

    public void lose() {
        open = false;
        ended.completeAsync(() -> "lost", work -> Thread.ofVirtual().start(work));
    }

    @Override
    public Duration deadline() {
        return options.deadline();
    }

    @Override
    public LiteStatistics statistics() {
        return statistics;
    }

    @Override
    public void setSampler(LiteStatistics.@Nullable Sampler newSampler) {
        sampler = newSampler;
    }

    @Override
    public CompletionStage<String> ended() {
        return ended;
    }

    @Override
    public FakeRpc rpc() {
        return rpc;
    }

    @Override
    public LtMemory memory() {
        return memory;
    }

    private LtMemory newMemory() {
        return new LtMemory() {
            @Override
            public LmrHandle malloc(LmrSpec spec, Duration deadline) {
                throw lostOr("malloc");
            }

            @Override
            public LmrHandle malloc(LmrSpec spec) {
                throw lostOr("malloc");
            }

            @Override
            public LmrHandle createOrMap(LmrSpec spec, Set<Permission> permissions, Duration deadline) {
                return map(String.valueOf(spec.name()), permissions, deadline);
            }

            @Override
            public LmrHandle createOrMap(LmrSpec spec, Set<Permission> permissions) {
                String name = String.valueOf(spec.name());
                known.computeIfAbsent(name, absent -> new FakeHandle(FakeLite.this, name, known.size()));
                return map(name, permissions);
            }

            @Override
            public LmrHandle map(String name, Set<Permission> permissions, Duration deadline) {
                deadlines.add(deadline);
                whenMapping.run();
                RuntimeException failure = failures.poll();
                if (failure != null) {
                    throw failure;
                }
                FakeHandle found = known.get(name);
                if (found == null || !open) {
                    throw lostOr(name);
                }
                return found.handle();
            }

            @Override
            public LmrHandle map(String name, Set<Permission> permissions) {
                LmrHandle mapped = map(name, permissions, Duration.ZERO);
                mappings.incrementAndGet();
                return mapped;
            }

            @Override
            public LmrHandle map(long id, Set<Permission> permissions, Duration deadline) {
                throw lostOr("it");
            }

            @Override
            public LmrHandle map(long id, Set<Permission> permissions) {
                throw lostOr("it");
            }

            @Override
            public LmrHandle register(LmrSpec spec, MemorySegment segment) {
                throw lostOr("it");
            }

            @Override
            public void memcpy(
                    LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length) {
                if (!FakeHandle.isOf(FakeLite.this, source) || !FakeHandle.isOf(FakeLite.this, destination)) {
                    throw new IllegalArgumentException("a handle belongs to another session");
                }
                if (!open) {
                    throw lostOr("it");
                }
                copies.add("%s to %s".formatted(source, destination));
            }

            @Override
            public void memmove(
                    LmrHandle source, long sourceOffset, LmrHandle destination, long destinationOffset, long length) {
                throw lostOr("it");
            }

            @Override
            public void fence(Duration deadline) {
                throw lostOr("it");
            }
        };
    }

    @Override
    public FakeSync sync() {
        return sync;
    }

    private RuntimeException lostOr(String name) {
        return open
                ? new LmrNotFoundException("no LMR of the name " + name)
                : new SessionLostException("the session was lost");
    }

    @Override
    public String nodeName() {
        return nodeName;
    }

    @Override
    public List<NodeInfo> nodes() {
        whenListing.run();
        if (!open) {
            throw new SessionLostException("the session was lost");
        }
        return List.of(new NodeInfo("fake-1", 1, 1, 1 << 20, "local"), new NodeInfo("fake-2", 2, 1, 1 << 20, "shm"));
    }

    @Override
    public boolean isOpen() {
        return open;
    }

    @Override
    public void close() {
        open = false;
    }
}
