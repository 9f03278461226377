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
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * Applications that work continuously and check every answer. They write and read blocks with checksums, add to counters, increment a
 * plain word under a lock, and make calls. There is one worker per node, attached to that node. A worker whose session is permanently
 * lost attaches again.
 *
 * <p>An operation may fail with a {@link LiteException} within the time limit. The failure is counted, and the outcome of the operation
 * is unknown. Anything else is a violation: an impossible answer, a lost or repeated effect, another exception, or an answer after the
 * limit.
 */
final class Workload implements AutoCloseable {
    static final String FUNCTION = "workload/flip";

    private static final String MEMORY = "workload/memory";
    static final String LOCK = "workload/lock";
    private static final long CHUNK_BYTES = 4 << 20;
    private static final int BLOCK_BYTES = 4096;
    private static final int BLOCKS = 24;
    /** Offset of the counter in each chunk. One chunk also has the word that the lock protects. Blocks begin after the first page. */
    private static final long COUNTER = 0;

    private static final long LOCKED_WORD = 64;
    /** The node of the first worker, so it is the lock's home. It also holds the word that the lock protects. */
    private static final String LOCK_NODE = "node-1";

    private static final Duration PAUSE_AFTER_FAILURE = Duration.ofMillis(10);
    /** Pause between two rounds, because starting processes need the processor, too. */
    private static final Duration PACE = Duration.ofMillis(2);
    /** Tolerance for the answer to reach its thread on a busy machine. */
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
     * Creates the memory and attaches a worker to each node; they do nothing yet.
     *
     * @param attach opens a new session with a node; nodes are numbered from 1
     * @param deadline the deadline of an operation, equal to the nodes' default deadline
     */
    Workload(long seed, int nodes, IntFunction<Lite> attach, Duration deadline) {
        this(seed, nodes, attach, deadline, false);
    }

    /** @param reattaches whether a lost session is restored automatically */
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
            // In the order in which the nodes registered, which differs in each run.
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

    /** Runs an action while a node's worker holds the lock, after it has read the word and before it writes it. Blocks until done. */
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

    /** Waits until every worker has completed one operation of each kind that began after this call; returns how long that took. */
    Duration awaitRound(Duration limit) {
        long startNs = System.nanoTime();
        List<Long> before = progress();
        while (true) {
            List<Long> now = progress();
            // One more operation of each kind may have begun before this call.
            if (IntStream.range(0, now.size()).allMatch(i -> now.get(i) >= before.get(i) + 2)) {
                return Duration.ofNanos(System.nanoTime() - startNs);
            }
            if (System.nanoTime() - startNs > limit.toNanos()) {
                throw new AssertionError(
                        "not every worker made progress within %s: rounds and locks were %s and are %s; failures %s; wrong %s"
                                .formatted(limit, before, now, books.failures(), books.wrong()));
            }
            Waits.pass(Duration.ofMillis(5));
        }
    }

    private List<Long> progress() {
        return workers.stream()
                .flatMap(worker -> Stream.of(worker.rounds.get(), worker.locks.get()))
                .toList();
    }

    /** Waits until each worker of some nodes has held the lock twice; returns how long that took. */
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
                Waits.pass(Duration.ofMillis(2));
            }
        }
        return Duration.ofNanos(System.nanoTime() - startNs);
    }

    /** Ends the workers, then checks all data once more. */
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

    /** Retries while names are unavailable, as they may be when the workers end; everything else must work at once. */
    private LmrHandle mapWhenKnown(Lite lite) {
        long endNs = System.nanoTime() + deadline.multipliedBy(3).plus(SLACK).toNanos();
        while (true) {
            try {
                return map(lite);
            } catch (ClusterUnavailableException e) {
                if (System.nanoTime() - endNs > 0) {
                    throw e;
                }
                Waits.pass(PAUSE_AFTER_FAILURE);
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

    /** One application. Its own thread works; threads of its session answer calls of others. */
    private final class Worker {
        final int node;
        /** Separate threads for the lock and for everything else, so that waiting for one does not delay the other. */
        final List<Thread> threads;

        final AtomicLong rounds = new AtomicLong();
        final AtomicLong locks = new AtomicLong();
        /** An action to run once while the lock is held. */
        final AtomicReference<@Nullable Runnable> inside = new AtomicReference<>();

        private final Random random;
        /** The number in each block; null if a write failed and was not repeated yet. */
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
                Waits.pass(PACE);
            }
        }

        private void runLocks() {
            while (!stop.get()) {
                boolean unused = attempt("lock", this::locked);
                Waits.pass(PACE);
            }
        }

        /** Runs an operation; returns whether it succeeded. */
        private boolean attempt(String what, Runnable operations) {
            boolean succeeded = books.attempt(what, node, operations);
            if (!succeeded) {
                Waits.pass(PAUSE_AFTER_FAILURE);
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

        /** Increments a plain word under the lock. The token shows whether there were two holders at once. */
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
            // Before the read: if this node is paused before the answer, others may hold the lock and add.
            long least = locked.certain();
            AtomicLong value = new AtomicLong();
            inTime("read under the lock", () -> value.set(readWord(memory())));
            if (value.get() < least || value.get() > locked.most()) {
                books.report("the word under the lock is %d for token %d; it must be %d to %d"
                        .formatted(value.get(), token, least, locked.most()));
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
                books.report("call %d to node-%d was executed twice".formatted(number, node));
            }
            answered.keySet().removeIf(old -> old < number - CALLS_KEPT);
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = (byte) ~bytes[i];
            }
            return MemorySegment.ofArray(bytes);
        }
    }
}
