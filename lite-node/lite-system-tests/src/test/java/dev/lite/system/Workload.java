package dev.lite.system;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.Extent;
import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtLock;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.RpcCall;
import dev.lite.testing.Waits;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * Applications that work without pause and check every answer: blocks with checksums that are written and read, counters that
 * are added to, a lock under which a plain word is counted, and calls. One worker for each node, each attached to its own.
 * A worker whose session is lost for good attaches again.
 *
 * <p>An operation that fails with a {@link LiteException} inside the limit is allowed here, and counted; what it did is in doubt.
 * Anything else is wrong: an answer that cannot be, an effect that is lost or came twice, another exception, an answer after
 * the limit.
 */
final class Workload implements AutoCloseable {
    static final String FUNCTION = "workload/flip";

    private static final String MEMORY = "workload/memory";
    static final String LOCK = "workload/lock";
    private static final long CHUNK_BYTES = 4 << 20;
    private static final int BLOCK_BYTES = 4096;
    private static final int BLOCKS = 24;
    /** Where each chunk has its counter, and one of them the word that the lock protects. Blocks begin after the first page. */
    private static final long COUNTER = 0;

    private static final long LOCKED_WORD = 64;
    /** Has the first worker, so the lock's home is there; it has the word that the lock protects, too. */
    private static final String LOCK_NODE = "node-1";

    private static final long PAUSE_AFTER_FAILURE_NS = 10_000_000;
    /** Between two rounds: the processes that are started meanwhile need the machine, too. */
    private static final long PACE_NS = 2_000_000;
    /** For the answer to come back to a thread of a machine that is busy. */
    private static final Duration SLACK = Waits.seconds(3);

    private static final int CALLS_KEPT = 256;

    private final long seed;
    private final int nodes;
    private final IntFunction<Lite> attach;
    private final Duration deadline;
    private final boolean reattaches;
    private final List<Worker> workers = new ArrayList<>();
    private final AtomicBoolean stop = new AtomicBoolean();

    private final WorkloadBooks books;
    private final long lockedWord;
    private boolean ended;

    /**
     * Makes the memory and attaches a worker to each node; they do nothing yet.
     *
     * @param attach a new session with a node, from 1
     * @param deadline how long an operation may take; the nodes' default deadline is the same
     */
    Workload(long seed, int nodes, IntFunction<Lite> attach, Duration deadline) {
        this(seed, nodes, attach, deadline, false);
    }

    /** @param reattaches whether a lost session comes back by itself */
    Workload(long seed, int nodes, IntFunction<Lite> attach, Duration deadline, boolean reattaches) {
        this.reattaches = reattaches;
        this.seed = seed;
        this.nodes = nodes;
        this.attach = attach;
        this.deadline = deadline;
        books = new WorkloadBooks(nodes, deadline.plus(SLACK));
        try (Lite first = attach.apply(1)) {
            LmrHandle made = first.memory()
                    .malloc(
                            LmrSpec.of(nodes * CHUNK_BYTES)
                                    .withName(MEMORY)
                                    .withPlacement(Placement.spread())
                                    .withDefaultPermissions(Permission.READ, Permission.WRITE, Permission.ATOMIC),
                            Waits.seconds(30));
            // In the order in which the nodes were registered, which is another one each time.
            lockedWord = LOCKED_WORD
                    + made.extents().stream()
                            .filter(extent -> extent.node().equals(LOCK_NODE))
                            .mapToLong(Extent::offset)
                            .findFirst()
                            .orElseThrow();
        }
        for (int node = 1; node <= nodes; node++) {
            workers.add(new Worker(node));
        }
    }

    void start() {
        workers.forEach(worker -> worker.threads.forEach(Thread::start));
    }

    WorkloadBooks books() {
        return books;
    }

    /** Runs something while a node's worker holds the lock, has read the word under it and is about to write it. Waits for that. */
    void insideLock(int node, Duration limit, Runnable action) {
        Worker worker = workers.get(node - 1);
        CountDownLatch done = new CountDownLatch(1);
        worker.inside.set(() -> {
            action.run();
            done.countDown();
        });
        try {
            if (!done.await(limit.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new AssertionError("the worker at node-%d got no lock within %s; failures %s; wrong %s"
                        .formatted(node, limit, books.failures(), books.wrong()));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    /** Until every worker has done one operation of each kind that began after this call; how long that took. */
    Duration awaitRound(Duration limit) {
        long startNs = System.nanoTime();
        List<Long> before = progress();
        while (true) {
            List<Long> now = progress();
            // One more of each may have begun before.
            if (IntStream.range(0, now.size()).allMatch(i -> now.get(i) >= before.get(i) + 2)) {
                return Duration.ofNanos(System.nanoTime() - startNs);
            }
            if (System.nanoTime() - startNs > limit.toNanos()) {
                throw new AssertionError(
                        "not every worker went on within %s: rounds and locks were %s and are %s; failures %s; wrong %s"
                                .formatted(limit, before, now, books.failures(), books.wrong()));
            }
            LockSupport.parkNanos(5_000_000);
        }
    }

    private List<Long> progress() {
        return workers.stream()
                .flatMap(worker -> Stream.of(worker.rounds.get(), worker.locks.get()))
                .toList();
    }

    /** Until each worker of some nodes has had the lock twice; how long that took. */
    Duration awaitLocks(Duration limit, int... some) {
        long startNs = System.nanoTime();
        for (int node : some) {
            Worker worker = workers.get(node - 1);
            long before = worker.locks.get();
            while (worker.locks.get() < before + 2) {
                if (System.nanoTime() - startNs > limit.toNanos()) {
                    throw new AssertionError("the worker at node-%d got no lock within %s; failures %s; wrong %s"
                            .formatted(node, limit, books.failures(), books.wrong()));
                }
                LockSupport.parkNanos(2_000_000);
            }
        }
        return Duration.ofNanos(System.nanoTime() - startNs);
    }

    /** Ends the workers and looks at everything once more, at rest. */
    void finish() {
        endWorkers();
        try (Lite lite = attach.apply(1)) {
            LmrHandle memory = mapWhenKnown(lite);
            for (int chunk = 0; chunk < nodes; chunk++) {
                books.expect(
                        books.counter(chunk),
                        memory.fetchAdd(chunk * CHUNK_BYTES + COUNTER, 0),
                        "the counter of chunk " + chunk);
            }
            books.expect(books.locked(), readWord(memory), "the word under the lock");
            for (Worker worker : workers) {
                for (int block = 0; block < BLOCKS; block++) {
                    worker.verify(memory, block);
                }
            }
        }
    }

    private void endWorkers() {
        stop.set(true);
        ended = true;
        long endNs = System.nanoTime() + deadline.multipliedBy(3).plus(SLACK).toNanos();
        for (Worker worker : workers) {
            for (Thread thread : worker.threads) {
                try {
                    thread.join(Duration.ofNanos(Math.max(1, endNs - System.nanoTime())));
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new AssertionError("interrupted", e);
                }
                if (thread.isAlive()) {
                    books.report("%s hangs: %s".formatted(thread.getName(), Arrays.toString(thread.getStackTrace())));
                }
            }
        }
    }

    private static LmrHandle map(Lite lite) {
        return lite.memory().map(MEMORY, Permission.READ, Permission.WRITE, Permission.ATOMIC);
    }

    /** Names may be away when the workers end; they are given time to come back, and only they. */
    private LmrHandle mapWhenKnown(Lite lite) {
        long endNs = System.nanoTime() + deadline.multipliedBy(3).plus(SLACK).toNanos();
        while (true) {
            try {
                return map(lite);
            } catch (ClusterUnavailableException e) {
                if (System.nanoTime() - endNs > 0) {
                    throw e;
                }
                LockSupport.parkNanos(PAUSE_AFTER_FAILURE_NS);
            }
        }
    }

    private long readWord(LmrHandle memory) {
        byte[] word = new byte[Long.BYTES];
        memory.read(lockedWord, word);
        return ByteBuffer.wrap(word).getLong();
    }

    @Override
    public void close() {
        if (!ended) {
            endWorkers();
        }
        workers.forEach(Worker::detach);
    }

    /** One application. Its thread works; the calls of others are answered by threads of its session. */
    private final class Worker {
        final int node;
        /** For all but the lock, and for the lock: who waits for one thing still does the other. */
        final List<Thread> threads;

        final AtomicLong rounds = new AtomicLong();
        final AtomicLong locks = new AtomicLong();
        /** To be run once, within the lock. */
        final AtomicReference<@Nullable Runnable> inside = new AtomicReference<>();

        private final Random random;
        /** The number that a block holds, or null when a write of it failed and was not repeated yet. */
        private final @Nullable Long[] blocks = new Long[BLOCKS];

        private final Map<Long, Boolean> answered = new ConcurrentHashMap<>();
        private volatile @Nullable Lite session;
        private volatile @Nullable LmrHandle memory;
        private volatile @Nullable LtLock lock;
        private long sequence;

        Worker(int node) {
            this.node = node;
            this.random = new Random(seed + node);
            this.threads = List.of(
                    Thread.ofPlatform().name("worker-" + node).daemon().unstarted(this::run),
                    Thread.ofPlatform().name("locker-" + node).daemon().unstarted(this::runLocks));
            attachAgain();
        }

        private void run() {
            while (!stop.get()) {
                boolean whole = attempt("attach", () -> inTime("attach", this::attachIfLost));
                whole &= attempt("write", () -> inTime("write", this::write));
                whole &= attempt("read", () -> inTime("read", this::read));
                whole &= attempt("fetch-add", () -> inTime("fetch-add", this::add));
                whole &= attempt("call", () -> inTime("call", this::call));
                if (whole) {
                    rounds.incrementAndGet();
                }
                LockSupport.parkNanos(PACE_NS);
            }
        }

        private void runLocks() {
            while (!stop.get()) {
                boolean unused = attempt("lock", this::locked);
                LockSupport.parkNanos(PACE_NS);
            }
        }

        /** Whether it succeeded. */
        private boolean attempt(String what, Runnable operations) {
            boolean succeeded = books.attempt(what, node, operations);
            if (!succeeded) {
                LockSupport.parkNanos(PAUSE_AFTER_FAILURE_NS);
            }
            return succeeded;
        }

        private void inTime(String what, Runnable operation) {
            books.inTime(what, node, operation);
        }

        private void attachIfLost() {
            Lite now = session;
            if (now == null || memory == null || (!reattaches && !now.isOpen())) {
                detach();
                attachAgain();
            }
        }

        private void attachAgain() {
            Lite made = attach.apply(node);
            session = made;
            var unused = made.rpc().register(FUNCTION + node, 1, this::answer);
            lock = made.sync().lock(LOCK);
            memory = map(made);
        }

        void detach() {
            Lite now = session;
            memory = null;
            if (now != null) {
                now.close();
            }
        }

        private LmrHandle memory() {
            LmrHandle handle = memory;
            if (handle == null) {
                throw new dev.lite.api.SessionLostException("not attached");
            }
            return handle;
        }

        private long offset(int block) {
            return block % nodes * CHUNK_BYTES + (1L + (long) node * BLOCKS + block) * BLOCK_BYTES;
        }

        private void write() {
            int block = random.nextInt(BLOCKS);
            long number = ++sequence;
            blocks[block] = null;
            memory().write(offset(block), content(block, number));
            blocks[block] = number;
        }

        private void read() {
            verify(memory(), random.nextInt(BLOCKS));
        }

        void verify(LmrHandle handle, int block) {
            Long number = blocks[block];
            if (number == null) {
                return;
            }
            byte[] found = new byte[BLOCK_BYTES];
            handle.read(offset(block), found);
            if (!Arrays.equals(found, content(block, number))) {
                ByteBuffer begin = ByteBuffer.wrap(found);
                books.report("block %d of node-%d has the number %d (%s); it must be %d"
                        .formatted(block, node, begin.getLong(0), isWhole(found) ? "whole" : "torn", number));
            }
        }

        private byte[] content(int block, long number) {
            byte[] bytes = new byte[BLOCK_BYTES];
            new Random(31 * number + block).nextBytes(bytes);
            ByteBuffer content = ByteBuffer.wrap(bytes);
            content.putLong(0, number);
            content.putLong(BLOCK_BYTES - Long.BYTES, checksum(bytes));
            return bytes;
        }

        private static long checksum(byte[] bytes) {
            CRC32 crc = new CRC32();
            crc.update(bytes, 0, BLOCK_BYTES - Long.BYTES);
            return crc.getValue();
        }

        private static boolean isWhole(byte[] bytes) {
            return ByteBuffer.wrap(bytes).getLong(BLOCK_BYTES - Long.BYTES) == checksum(bytes);
        }

        private void add() {
            int chunk = random.nextInt(nodes);
            WorkloadBooks.Range range = books.counter(chunk);
            long least = range.certain();
            range.begin();
            long before = memory().fetchAdd(chunk * CHUNK_BYTES + COUNTER, 1);
            range.end();
            if (before < least) {
                books.report("the counter of chunk %d was %d after %d additions".formatted(chunk, before, least));
            }
        }

        /** Counts a plain word under the lock, with the token for whoever would take two holders at once. */
        private void locked() {
            LtLock shared = lock;
            if (shared == null) {
                throw new dev.lite.api.SessionLostException("not attached");
            }
            AtomicReference<@Nullable HeldLock> acquired = new AtomicReference<>();
            inTime("lock", () -> acquired.set(shared.acquire(deadline)));
            HeldLock held = Objects.requireNonNull(acquired.get());
            try {
                countUnder(held.fencingToken());
            } finally {
                inTime("release of the lock", held::close);
            }
        }

        private void countUnder(long token) {
            if (!books.isNewest(token)) {
                return;
            }
            WorkloadBooks.Range locked = books.locked();
            AtomicLong value = new AtomicLong();
            inTime("read under the lock", () -> value.set(readWord(memory())));
            if (!locked.allows(value.get())) {
                books.report("the word under the lock is %d for token %d; it must be %s"
                        .formatted(value.get(), token, locked));
            }
            Runnable action = inside.getAndSet(null);
            if (action != null) {
                action.run();
            }
            byte[] next =
                    ByteBuffer.allocate(Long.BYTES).putLong(value.get() + 1).array();
            locked.begin();
            inTime("write under the lock", () -> memory().write(lockedWord, next));
            locked.end();
            locks.incrementAndGet();
        }

        private void call() {
            Lite now = session;
            if (now == null) {
                throw new dev.lite.api.SessionLostException("not attached");
            }
            int other = node % nodes + 1;
            long number = ++sequence;
            byte[] request =
                    ByteBuffer.allocate(64).putLong(number).putLong(seed).array();
            byte[] reply = now.rpc().call("node-" + other, FUNCTION + other, request, deadline);
            for (int i = 0; i < request.length; i++) {
                if (reply.length != request.length || reply[i] != (byte) ~request[i]) {
                    books.report("the answer to call %d of node-%d is wrong at byte %d".formatted(number, node, i));
                    return;
                }
            }
        }

        private MemorySegment answer(RpcCall call) {
            byte[] bytes = call.request().toArray(ValueLayout.JAVA_BYTE);
            long number = ByteBuffer.wrap(bytes).getLong();
            if (answered.put(number, true) != null) {
                books.report("call %d to node-%d was carried out twice".formatted(number, node));
            }
            answered.keySet().removeIf(old -> old < number - CALLS_KEPT);
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = (byte) ~bytes[i];
            }
            return MemorySegment.ofArray(bytes);
        }
    }
}
