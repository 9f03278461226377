package dev.lite.tier.session;

import dev.lite.api.Extent;
import dev.lite.api.HeldLock;
import dev.lite.api.LimitExceededException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrBoundsException;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSlice;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtBarrier;
import dev.lite.api.LtLock;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Priority;
import dev.lite.os.RawMemory;
import dev.lite.tier.Access;
import dev.lite.tier.Operation;
import dev.lite.tier.TierHandle;
import dev.lite.tier.TierRpc;
import dev.lite.tier.TierSession;
import dev.lite.tier.TierSync;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A fake tier in plain memory. Operations on an LMR whose name begins with {@value #SLOW} wait until {@link #resume}, as do malloc
 * and map of such a name. Reads and writes of an LMR whose name begins with {@value #POSTED} are posted, and end when the test runs
 * them.
 */
final class FakeBackend implements SessionBackend, AutoCloseable {
    static final String NODE = "fake";
    static final String SLOW = "slow";
    static final String POSTED = "posted";
    /** Operations of such LMRs wait for permits: until {@link #resume}. */
    static final String LIMITED = "limited";

    static final int EXTENTS = 3;
    static final int TRANSFERS_MAX = 16;
    private static final long BYTES_MAX = 1L << 30;

    final AtomicInteger sessionsOpened = new AtomicInteger();
    final AtomicInteger sessionsClosed = new AtomicInteger();
    /** Number of calls that wait for {@link #resume} or have waited for it. */
    final AtomicInteger waited = new AtomicInteger();
    /** Those that wait now. */
    final AtomicInteger waiting = new AtomicInteger();

    final AtomicInteger handlesUnmapped = new AtomicInteger();
    final AtomicInteger lmrsFreed = new AtomicInteger();
    final AtomicInteger locksReleased = new AtomicInteger();
    /** Whether each handle has an operation that does not end. */
    volatile boolean operationsHang;
    /** Whether operations of {@link #LIMITED} LMRs meet an error. */
    volatile boolean limitedFails;
    /** Which error. */
    volatile Error limitedFailure = new StackOverflowError("on purpose");
    /** How posted transfers end. */
    volatile @Nullable RuntimeException postedFailure;

    /** Transfers that were posted and have not ended. */
    final Queue<Runnable> posted = new ConcurrentLinkedQueue<>();

    final List<String> principals = new ArrayList<>();
    /** Permission bits that were revoked from all handles. */
    volatile int revoked;

    /** The last timeout of each operation, in nanoseconds, by the operation's name. */
    final Map<String, Long> timeouts = new ConcurrentHashMap<>();

    /** Whether {@link #timeouts} are recorded, which allocates. */
    volatile boolean notesTimeouts;

    private final Arena arena = Arena.ofShared();
    private final Map<String, FakeLmr> named = new ConcurrentHashMap<>();
    private final AtomicLong lastId = new AtomicLong();
    private volatile CountDownLatch slow = new CountDownLatch(1);
    volatile List<NodeInfo> nodes = List.of(new NodeInfo(NODE, 1, 1, BYTES_MAX, "local"));
    volatile int extents = EXTENTS;

    @Override
    public String nodeName() {
        return NODE;
    }

    @Override
    public int transfersMax() {
        return TRANSFERS_MAX;
    }

    @Override
    public TierSession open(String principal, String application) {
        sessionsOpened.incrementAndGet();
        synchronized (principals) {
            principals.add(principal);
        }
        return new FakeSession(principal);
    }

    private void noteTimeout(String operation, long timeoutNs) {
        if (notesTimeouts) {
            timeouts.put(operation, timeoutNs);
        }
    }

    void resume() {
        slow.countDown();
    }

    void slowAgain() {
        slow = new CountDownLatch(1);
    }

    boolean has(String name) {
        return named.containsKey(name);
    }

    private void waitIfSlow(@Nullable String name) {
        if (limitedFails && name != null && name.startsWith(LIMITED)) {
            throw limitedFailure;
        }
        CountDownLatch latch = slow;
        boolean waits = name != null && (name.startsWith(SLOW) || name.startsWith(LIMITED));
        if (waits && latch.getCount() > 0) {
            waited.incrementAndGet();
            waiting.incrementAndGet();
            try {
                if (!latch.await(30, TimeUnit.SECONDS)) {
                    throw new IllegalStateException("the test did not resume " + name);
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            } finally {
                waiting.decrementAndGet();
            }
        }
    }

    @Override
    public void close() {
        resume();
        arena.close();
    }

    private static final class FakeLmr {
        final long id;
        final @Nullable String name;
        final MemorySegment bytes;
        volatile boolean freed;

        FakeLmr(long id, @Nullable String name, MemorySegment bytes) {
            this.id = id;
            this.name = name;
            this.bytes = bytes;
        }
    }

    private final class FakeSession implements TierSession {
        private final String principal;
        private final Set<FakeHandle> handles = ConcurrentHashMap.newKeySet();
        private final AtomicInteger closes = new AtomicInteger();

        FakeSession(String principal) {
            this.principal = principal;
        }

        @Override
        public TierSync sync() {
            return new FakeSync();
        }

        @Override
        public String principal() {
            return principal;
        }

        @Override
        public int handles() {
            return handles.size();
        }

        @Override
        public TierRpc rpc() {
            return (TierRpc) Proxy.newProxyInstance(
                    TierRpc.class.getClassLoader(), new Class<?>[] {TierRpc.class}, (proxy, method, arguments) -> {
                        throw new UnsupportedOperationException("not needed here");
                    });
        }

        @Override
        public String nodeName() {
            return NODE;
        }

        @Override
        public List<NodeInfo> nodes() {
            return nodes;
        }

        @Override
        public TierHandle malloc(LmrSpec spec, Duration deadline) {
            waitIfSlow(spec.name());
            if (spec.size() > BYTES_MAX) {
                throw new LimitExceededException(
                        "malloc of %d bytes; the limit is %d".formatted(spec.size(), BYTES_MAX));
            }
            FakeLmr lmr = new FakeLmr(lastId.incrementAndGet(), spec.name(), arena.allocate(spec.size(), 64));
            if (spec.name() != null && named.putIfAbsent(spec.name(), lmr) != null) {
                throw new LmrExistsException("LMR \"%s\" exists".formatted(spec.name()));
            }
            return handle(lmr, EnumSet.allOf(Permission.class));
        }

        @Override
        public TierHandle createOrMap(LmrSpec spec, Set<Permission> permissions, Duration deadline) {
            throw new UnsupportedOperationException();
        }

        @Override
        public TierHandle map(String name, Set<Permission> permissions, Duration deadline) {
            waitIfSlow(name);
            FakeLmr lmr = named.get(name);
            if (lmr == null) {
                throw new LmrNotFoundException("no LMR \"%s\"".formatted(name));
            }
            return handle(lmr, permissions);
        }

        @Override
        public TierHandle map(long id, Set<Permission> permissions, Duration deadline) {
            throw new UnsupportedOperationException();
        }

        @Override
        public TierHandle prepare(LmrSpec spec, Duration deadline) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void publish(TierHandle handle, Duration deadline) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void copy(
                TierHandle source,
                long sourceOffset,
                TierHandle target,
                long targetOffset,
                long length,
                boolean overlapAllowed,
                Duration deadline) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void fence(Duration deadline) {
            throw new UnsupportedOperationException();
        }

        private FakeHandle handle(FakeLmr lmr, Set<Permission> permissions) {
            FakeHandle handle = new FakeHandle(lmr, permissions);
            handles.add(handle);
            return handle;
        }

        @Override
        public void close() {
            if (closes.incrementAndGet() > 1) {
                throw new IllegalStateException("closed twice");
            }
            handles.forEach(FakeHandle::unmap);
            sessionsClosed.incrementAndGet();
        }
    }

    private final class FakeHandle implements TierHandle {
        private final FakeLmr lmr;
        private final int permissions;
        private volatile boolean unmapped;

        FakeHandle(FakeLmr lmr, Set<Permission> permissions) {
            this.lmr = lmr;
            this.permissions = Permission.toBits(permissions);
        }

        private void check(Permission needed, long offset, long length) {
            if (lmr.freed || unmapped) {
                throw new LmrFreedException("LMR #%d is freed".formatted(lmr.id));
            }
            if ((permissions & ~revoked & needed.bit()) == 0) {
                throw new LmrPermissionException("LMR #%d: %s needed".formatted(lmr.id, needed));
            }
            if ((offset | length) < 0 || offset > size() - length) {
                throw new LmrBoundsException(
                        "LMR #%d: %d bytes at %d; it has %d".formatted(lmr.id, length, offset, size()));
            }
            waitIfSlow(lmr.name);
        }

        private long word(long offset) {
            check(Permission.ATOMIC, offset, Long.BYTES);
            if (offset % Long.BYTES != 0) {
                throw new LmrBoundsException("LMR #%d: offset %d is not aligned".formatted(lmr.id, offset));
            }
            return lmr.bytes.address() + offset;
        }

        @Override
        public boolean mustWait() {
            return lmr.name != null && lmr.name.startsWith(LIMITED);
        }

        @Override
        public TierHandle withPriority(Priority priority) {
            return this;
        }

        @Override
        public boolean needsFabric() {
            return lmr.name != null && lmr.name.startsWith(POSTED);
        }

        @Override
        public boolean isHeldUp(long offset, long length) {
            return false;
        }

        @Override
        public boolean tryStart(
                Access access, long timeoutNs, boolean soon, Consumer<@Nullable RuntimeException> ended) {
            if (access.operation().isAtomic()) {
                return false;
            }
            boolean write = access.operation() == Operation.WRITE;
            MemorySegment local = access.local();
            noteTimeout(write ? "write" : "read", timeoutNs);
            check(write ? Permission.WRITE : Permission.READ, access.offset(), access.length());
            posted.add(() -> {
                if (write) {
                    MemorySegment.copy(local, 0, lmr.bytes, access.offset(), access.length());
                } else {
                    MemorySegment.copy(lmr.bytes, access.offset(), local, 0, access.length());
                }
                ended.accept(postedFailure);
            });
            return true;
        }

        @Override
        public void read(long offset, long address, long length, long timeoutNs) {
            noteTimeout("read", timeoutNs);
            check(Permission.READ, offset, length);
            RawMemory.copy(lmr.bytes.address() + offset, address, length);
        }

        @Override
        public void write(long offset, long address, long length, long timeoutNs) {
            noteTimeout("write", timeoutNs);
            check(Permission.WRITE, offset, length);
            RawMemory.copy(address, lmr.bytes.address() + offset, length);
        }

        @Override
        public void read(long offset, MemorySegment destination) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void write(long offset, MemorySegment source) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long fetchAdd(long offset, long delta) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long fetchAdd(long offset, long delta, long timeoutNs) {
            noteTimeout("fetchAdd", timeoutNs);
            return RawMemory.getAndAddLong(word(offset), delta);
        }

        @Override
        public long testSet(long offset, long expected, long value) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long testSet(long offset, long expected, long value, long timeoutNs) {
            noteTimeout("testSet", timeoutNs);
            return RawMemory.compareAndExchangeLong(word(offset), expected, value);
        }

        @Override
        public long id() {
            return lmr.id;
        }

        @Override
        public Optional<String> name() {
            return Optional.ofNullable(lmr.name);
        }

        @Override
        public long size() {
            return lmr.bytes.byteSize();
        }

        @Override
        public Set<Permission> permissions() {
            return Permission.fromBits(permissions & ~revoked);
        }

        @Override
        public List<Extent> extents() {
            List<Extent> all = new ArrayList<>();
            for (int i = 0; i < extents; i++) {
                all.add(new Extent("node-" + i, i * 100L, 100));
            }
            return all;
        }

        @Override
        public void read(List<LmrSlice> slices) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void write(List<LmrSlice> slices) {
            throw new UnsupportedOperationException();
        }

        @Override
        public CompletableFuture<@Nullable Void> readAsync(List<LmrSlice> slices) {
            throw new UnsupportedOperationException();
        }

        @Override
        public CompletableFuture<@Nullable Void> writeAsync(List<LmrSlice> slices) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void memset(long offset, long length, byte value) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void memset(long offset, long length, byte value, long timeoutNs) {
            noteTimeout(length > 64 * 1024 ? "long memset" : "memset", timeoutNs);
            check(Permission.WRITE, offset, length);
        }

        @Override
        public void grant(String principal, Set<Permission> permissions) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void grant(String principal, Set<Permission> permissions, Duration deadline) {
            noteTimeout("grant", deadline.toNanos());
        }

        @Override
        public void moveTo(String node) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void moveTo(String node, Duration deadline) {
            noteTimeout("moveTo", deadline.toNanos());
        }

        @Override
        public void unmap(Duration deadline) {
            noteTimeout("unmap", deadline.toNanos());
            if (operationsHang) {
                throw new LiteTimeoutException("an operation is still in flight");
            }
            unmap();
        }

        @Override
        public void free(Duration deadline) {
            noteTimeout("free", deadline.toNanos());
            free();
        }

        @Override
        public void unmap() {
            if (!unmapped) {
                unmapped = true;
                handlesUnmapped.incrementAndGet();
            }
        }

        @Override
        public void free() {
            check(Permission.MASTER, 0, 0);
            lmr.freed = true;
            if (lmr.name != null) {
                named.remove(lmr.name, lmr);
            }
            lmrsFreed.incrementAndGet();
        }
    }

    /** A lock that is always free. */
    private final class FakeSync implements TierSync {
        @Override
        public List<String> held() {
            return List.of();
        }

        @Override
        public LtLock lock(String name) {
            return new FakeLock(name);
        }

        @Override
        public LtLock lock(String name, Duration deadline) {
            return new FakeLock(name);
        }

        @Override
        public LtBarrier barrier(String name, int parties) {
            throw new UnsupportedOperationException();
        }

        @Override
        public LtBarrier barrier(String name, int parties, Duration deadline) {
            throw new UnsupportedOperationException();
        }

        /** Fails, because the lock's home is unavailable. */
        @Override
        public boolean releaseAtOnce(HeldLock held) {
            throw new LmrUnavailableException("the home of lock \"%s\" is away".formatted(held.name()));
        }

        @Override
        public int locksLost() {
            return 0;
        }

        @Override
        public void whenLocksLost(@Nullable Runnable action) {}

        @Override
        public void endWaits() {}
    }

    private final class FakeLock implements LtLock, HeldLock {
        private final String name;

        FakeLock(String name) {
            this.name = name;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public HeldLock acquire(Duration deadline) {
            return this;
        }

        @Override
        public Optional<HeldLock> tryAcquire() {
            return Optional.of(this);
        }

        @Override
        public long fencingToken() {
            return 7;
        }

        @Override
        public boolean isHeld() {
            return true;
        }

        @Override
        public void close() {
            locksReleased.incrementAndGet();
        }
    }
}
